"""The options of a simulation: their defaults, and what is checked about each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, TypedDict

import numpy as np

from penstock.errors import PolicyError, QosError, nearest
from penstock.network import Number, checked
from penstock.policies import Limited, Service
from penstock.shedding.controller import SheddingRules
from penstock.simulator.attributes import Attributes
from penstock.simulator.policy_selection import Drift

Progress = Callable[[float], None]
"""Is told which share of the tuples has arrived."""


@dataclass(frozen=True)
class Adaptive:
    """Learn selectivities during the run (SCLP08 §6.3): s ← (1 − α) s + α · outputs ÷ inputs of a window."""

    alpha: float = 0.175
    window: int = 100

    def __post_init__(self) -> None:
        alpha = checked(self.alpha, "α of adaptive statistics", at_least=0, error=PolicyError)
        if alpha > 1:
            raise PolicyError(f"α of adaptive statistics must be at most 1, not {alpha}")
        if isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 1:
            raise PolicyError(
                f"the window of adaptive statistics is a count of tuples above 0, not {self.window!r}"
            )


class SimulationKeywords(TypedDict, total=False):
    """The keywords of `simulate`, for type checkers; see there, and `SimulationOptions` for the defaults."""

    setup_cost: Number
    memory: Number | None
    service: Service | None
    blocking: bool
    attributes: Attributes | None
    adaptive: Adaptive | None
    decision_cost: Number
    search: Literal["scan", "fagin"]
    bins: int
    detail: bool
    by_scan: bool
    drifts: Sequence[Drift]
    shed: bool | SheddingRules
    weights: Mapping[str, Number] | None
    progress: Progress | None


@dataclass(frozen=True)
class SimulationOptions:
    """The options of `simulate`, with defaults and checks; their meaning is explained there."""

    setup_cost: float = 0.0
    memory: float | None = None
    service: Service = field(default_factory=Limited)
    blocking: bool = False
    attributes: Attributes | None = None
    adaptive: Adaptive | None = None
    decision_cost: float = 0.0
    search: Literal["scan", "fagin"] = "scan"
    bins: int = 256
    detail: bool = False
    by_scan: bool = False
    drifts: Sequence[Drift] = ()
    shed: bool | SheddingRules = False
    weights: Mapping[str, Number] | None = None
    progress: Progress | None = None

    @classmethod
    def of(cls, keywords: SimulationKeywords) -> Self:
        """Return the options that are given as keywords, or raise TypeError if there is no such option.

        >>> SimulationOptions.of({"setup_cots": 1})
        Traceback (most recent call last):
        TypeError: simulate() got an unexpected keyword argument 'setup_cots'. Did you mean 'setup_cost'?
        """
        known = [each.name for each in fields(cls)]
        for name in keywords:
            if name not in known:
                near = nearest(name, known)
                raise TypeError(f"simulate() got an unexpected keyword argument {name!r}.{near}")
        given: dict[str, Any] = {**keywords}
        if given.get("service", ...) is None:
            del given["service"]
        return cls(**given)

    def __post_init__(self) -> None:
        checks: dict[str, Any] = {
            "setup_cost": checked(self.setup_cost, "the set-up cost", at_least=0, error=PolicyError),
            "decision_cost": checked(self.decision_cost, "the cost of a decision", at_least=0, error=PolicyError),
        }
        if self.memory is not None:
            checks["memory"] = checked(self.memory, "the memory limit", above=0, error=PolicyError)
        for name, value in checks.items():
            object.__setattr__(self, name, float(value))
        object.__setattr__(self, "bins", whole_number(self.bins, "the number of intervals", least=2))
        if self.search not in ("scan", "fagin"):
            raise PolicyError(f"the best unit is searched for by 'scan' or 'fagin', not {self.search!r}")
        if not isinstance(self.shed, bool | SheddingRules):
            raise QosError(f"shed is true, false or SheddingRules, not {self.shed!r}")
        if self.shed and self.memory is None:
            raise QosError("shedding needs a limit: say how much may wait, memory=")
        if self.shed and (self.setup_cost or self.decision_cost):
            raise QosError(
                "shedding counts only the costs of operators: leave out the costs of set-ups and decisions"
            )


def whole_number(value: object, what: str, least: int = 0) -> int:
    """Return `value` as a whole number, or raise if it is not one or is too small."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**63:
        raise PolicyError(f"{what} must be a whole number from {least} on, not {value!r}")
    return int(value)
