"""The settings of a script for the choice of its policy: SET qos, selector, candidates and policy."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from penstock.errors import PolicyError, QosError, nearest
from penstock.policies import Policy, policy_named
from penstock.qos.goals import DEFAULT, Goals
from penstock.qos.selection import CANDIDATES, Selection
from penstock.qos.selectors import SELECTORS

SETTINGS = ("policy", "qos", "selector", "candidates")
NO_SELECTOR = "none"
USUAL_SELECTOR = "foresight"

T = TypeVar("T")


@dataclass(frozen=True)
class PolicySettings:
    """The settings given so far; None for those that are not.

    The policy is chosen if goals or a selector are given, unless the selector is 'none'. Default goals are P04's
    (`DEFAULT`), default candidates `CANDIDATES`. A named policy is the first candidate and runs first. If only
    weights of queries are given, a named policy is not changed.

    >>> script = {"qos": "latency", "policy": "srpt", "candidates": "hr, bsd.every(20)"}
    >>> said = PolicySettings.of(script, queries=())
    >>> said.selection().candidates, said.selection().selector
    (('srpt', 'hr', 'bsd.every(20)'), 'foresight')
    """

    goals: Goals | None = None
    selector: str | None = None
    candidates: tuple[str, ...] | None = None
    policy: str | None = None

    @classmethod
    def of(cls, settings: Mapping[str, Any], queries: Iterable[str]) -> "PolicySettings":
        """Return the settings of a script; raise `QosError` with the name of one that is wrong."""
        said, names = cls(), list(queries)
        for name in SETTINGS:
            if settings.get(name) is not None:
                said = said.with_setting(name, settings[name], names)
        return said

    def with_setting(self, name: str, value: object, queries: Iterable[str]) -> "PolicySettings":
        """Return these settings with one added or replaced. Goals may have weights of these queries."""
        if name == "qos":
            return replace(self, goals=_checked(name, lambda given: goals_among(given, queries), value))
        if name == "selector":
            return replace(self, selector=_checked(name, _selector, value))
        if name == "candidates":
            return replace(self, candidates=_checked(name, candidates_in, value))
        return replace(self, policy=_checked(name, _policy, value))

    @property
    def is_on(self) -> bool:
        """Whether the policy is chosen while the script runs."""
        if self.selector is not None:
            return self.selector != NO_SELECTOR
        return self.goals is not None and not (self.goals.implied and self.policy is not None)

    @property
    def weights(self) -> Mapping[str, float]:
        """The given weights of queries."""
        return {} if self.goals is None else self.goals.queries

    def selection(self) -> Selection:
        """Return how the policy is chosen. A named policy runs for one period before the first choice."""
        candidates = self.candidates or CANDIDATES
        warmup = 0.0
        if self.policy is not None:
            candidates = (self.policy, *(name for name in candidates if name != self.policy))
            warmup = Selection.every
        selector = USUAL_SELECTOR if self.selector in (None, NO_SELECTOR) else str(self.selector)
        goals = self.goals or DEFAULT
        if self.is_on:
            goals = replace(goals, implied=False)
        return Selection(goals, selector, candidates, warmup=warmup)


def candidates_in(text: str) -> tuple[str, ...]:
    """Return the policies of a text, separated by commas outside brackets.

    >>> candidates_in("fifo, hnr.clustered(4, 'log'), chain")
    ('fifo', "hnr.clustered(4, 'log')", 'chain')
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    if any(not part.strip() for part in parts):
        raise QosError(f"a policy is missing in {text!r}: separate policies by commas")
    names = tuple(_policy(part.strip()) for part in parts)
    return tuple(Selection(candidates=names).names)


def goals_among(given: "str | Goals | Mapping[str, float]", queries: Iterable[str]) -> Goals:
    """Return goals with the names of queries spelled as in the script; raise if there is no such query."""
    goals = Goals.of(given)
    names = {name.lower(): name for name in queries}
    for name in goals.queries:
        if name.lower() not in names:
            raise QosError(f"there is no query {name!r} to weigh.{nearest(name, names.values())}")
    return goals.weighing({names[name.lower()]: weight for name, weight in goals.queries.items()})


def _selector(name: str) -> str:
    names = (*SELECTORS, NO_SELECTOR)
    if name not in names:
        hint = nearest(name, names) or f" There are {', '.join(names)}."
        raise QosError(f"there is no selector {name!r}.{hint}")
    return name


def _policy(name: "str | Policy") -> str:
    return policy_named(name).name


def _checked(name: str, check: Callable[[Any], T], value: object) -> T:
    try:
        return check(value)
    except (QosError, PolicyError) as error:
        raise QosError(f"setting {name!r}: {error}") from error
