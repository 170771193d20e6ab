"""The conventions in which the papers differ, as one value: how long a run lasts and what it is charged."""

from dataclasses import dataclass, field
from typing import Literal

from penstock.errors import PolicyError
from penstock.network import Number, checked
from penstock.policies import Exhaustive, Limited, Service


@dataclass(frozen=True)
class Rules:
    """How the fractional engine serves.

    `in_service_counts`: a tuple in service still counts as queued, at its old size until it is done.
    `fraction_costs`: a fraction of a tuple costs its fraction, or as much as a full one.
    `quantum`: the time unit; a decision falls at every multiple of it, and earlier where a run is done. None:
    a run ends with what it took.
    `divisible`: at the end of a quantum the part of a tuple that was served goes on by itself; otherwise the
    tuple stays where it is and keeps its progress.
    `service`: how much a run takes.
    """

    in_service_counts: bool = True
    fraction_costs: Literal["its fraction", "full"] = "its fraction"
    quantum: Number | None = None
    divisible: bool = False
    service: Service = field(default_factory=Limited)

    def __post_init__(self) -> None:
        if self.fraction_costs not in ("its fraction", "full"):
            raise PolicyError(f"a fraction costs 'its fraction' or 'full', not {self.fraction_costs!r}")
        if self.quantum is not None:
            quantum = checked(self.quantum, "the quantum", above=0, error=PolicyError)
            object.__setattr__(self, "quantum", quantum)
        if not isinstance(self.service, Service):
            raise PolicyError(
                f"the service must be Exhaustive(), Limited(n) or QueueShare(...), not {self.service!r}"
            )


JC03 = Rules(quantum=1, divisible=True, service=Exhaustive())
BBDM03 = Rules(quantum=1, service=Exhaustive())
P04 = Rules(in_service_counts=False, fraction_costs="full", service=Limited(1))
SCLP08 = Rules(service=Limited(1))
