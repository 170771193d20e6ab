"""How the policy is chosen while a system runs: goals, selector, candidates and times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import QosError
from penstock.network import checked
from penstock.policies import Policy, policy_named
from penstock.qos.goals import DEFAULT, Goals
from penstock.qos.selectors import selector_named

CANDIDATES = ("fifo", "hr", "hnr", "bsd", "lsf", "chain", "mtiq")
HORIZON_S = 240.0
SHORTEST_S = 1e-3
"""The least time between two samples, between two choices, and of the horizon."""


@dataclass(frozen=True)
class Selection:
    """How the policy is chosen while a system runs: give it to `simulate` as the policy.

    - `goals`: a text as in SET qos, a mapping from statistic to weight, or `Goals`.
    - `selector`: its name; see `SELECTORS`.
    - `candidates`: policies to choose from; the first one runs first.
    - `every`, `sample`: seconds between choices, and between samples of the statistics (P04: 2 and 1).
    - `warmup`: seconds that the first policy runs before statistics are read (P04: 5).
    - `starvation`: samples without a result, while tuples wait, after which another policy must run.
    - `horizon`: how many seconds back what-if runs count.
    - `changes`: other goals from a time on, as (seconds, goals).
    """

    goals: Goals | str | Mapping[str, float] = DEFAULT
    selector: str = "foresight"
    candidates: Sequence[str | Policy] = CANDIDATES
    every: float = 2.0
    sample: float = 1.0
    warmup: float = 0.0
    starvation: int = 30
    horizon: float = HORIZON_S
    seed: int = 0
    changes: Sequence[tuple[float, Goals | str | Mapping[str, float]]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "goals", Goals.of(self.goals))
        object.__setattr__(self, "changes", _checked_changes(self.changes))
        candidates = tuple(map(_candidate_name, self.candidates))
        if not candidates:
            raise QosError("at least one candidate policy is needed")
        if len(set(candidates)) < len(candidates):
            raise QosError(f"a policy is named twice among the candidates: {', '.join(candidates)}")
        object.__setattr__(self, "candidates", candidates)
        selector_named(self.selector)
        for name in ("every", "sample", "horizon"):
            checked(
                getattr(self, name), f"{name!r} of a selection, in seconds,", at_least=SHORTEST_S, error=QosError
            )
        checked(self.warmup, "the warm-up of a selection", at_least=0, error=QosError)
        if isinstance(self.starvation, bool) or not isinstance(self.starvation, int) or self.starvation < 1:
            raise QosError(f"starvation must be a whole number of samples above 0, not {self.starvation!r}")

    @property
    def names(self) -> tuple[str, ...]:
        """The candidates by name."""
        return tuple(map(_candidate_name, self.candidates))


def _candidate_name(policy: str | Policy) -> str:
    """Return the name by which engines find a candidate, or raise: a policy of a user's own has no such name."""
    name = policy_named(policy).name
    if isinstance(policy, Policy) and policy_named(name) != policy:
        raise QosError(
            f"policy {name!r} differs from the registered policy of that name: candidates are found by name"
        )
    return name


def _checked_changes(changes: Sequence[Any]) -> tuple[tuple[float, Goals], ...]:
    found = []
    for each in changes:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise QosError(f"a change of goals must be (seconds, goals), not {each!r}")
        at = checked(each[0], "the time of a change of goals", at_least=0, error=QosError)
        found.append((float(at), Goals.of(each[1])))
    return tuple(sorted(found, key=lambda change: change[0]))
