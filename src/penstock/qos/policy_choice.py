"""When to read statistics, when to choose, and what came of it: the same for every engine.

An engine asks a `PolicyChoice` which policy runs (`policy`) and when it wants to look again (`due`), and gives it
a `IntervalStatistics` then. Goals, candidates and the selector can be changed between two looks.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from penstock.errors import QosError
from penstock.network import checked
from penstock.policies import Policy, policy_named
from penstock.qos.goals import DEFAULT, Goals
from penstock.qos.interval import IntervalStatistics, merged
from penstock.qos.selectors import Selector, Situation, selector_named
from penstock.qos.statistics import Statistics

CANDIDATES = ("fifo", "hr", "hnr", "bsd", "lsf", "chain", "mtiq")
HORIZON_S = 240.0
SHORTEST_S = 1e-3
"""Between two looks."""


@dataclass(frozen=True)
class Selection:
    """How the policy is chosen while a system runs: give it to `simulate` as the policy.

    - `goals`: a text as in SET qos, a mapping from statistic to weight, or `Goals`.
    - `selector`: its name; see `SELECTORS`.
    - `candidates`: policies to choose from; the first one runs first.
    - `every`, `sample`: seconds between choices, and between looks at the statistics (P04: 2 and 1).
    - `warmup`: how long the first policy runs before anything is read (P04: 5).
    - `starvation`: looks without a result, while tuples wait, after which another policy must run.
    - `horizon`: how far back shadows count.
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
        candidates = tuple(map(_named, self.candidates))
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
        return tuple(map(_named, self.candidates))


def _named(policy: str | Policy) -> str:
    """Return the name of a candidate; one that was made by hand has none under which an engine would find it."""
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


class ChoiceSample(NamedTuple):
    """What was seen at a look: when, which policy had run, its statistics, and the scores after it."""

    time: float
    seconds: float
    policy: str
    values: Mapping[str, float]
    interval: IntervalStatistics
    scores: Mapping[str, float]
    exploring: bool
    """Whether it was the warm-up or the first round, which P04 does not count."""


@dataclass(frozen=True)
class Chosen:
    """How policies were chosen in a run."""

    selector: str
    candidates: tuple[str, ...]
    goals: Goals
    looks: tuple[ChoiceSample, ...]
    starved: int

    @property
    def counted(self) -> tuple[ChoiceSample, ...]:
        """The looks after the first round, or all if there are no others."""
        return tuple(look for look in self.looks if not look.exploring) or self.looks

    @property
    def shares(self) -> dict[str, float]:
        """The share of the time in which each candidate ran, the first round not counted."""
        seconds = dict.fromkeys(self.candidates, 0.0)
        for look in self.counted:
            seconds[look.policy] = seconds.get(look.policy, 0.0) + look.seconds
        total = sum(seconds.values())
        return {name: each / total if total else 0.0 for name, each in seconds.items()}

    @property
    def most_used(self) -> str:
        """The policy that ran longest."""
        return max(self.shares, key=self.shares.__getitem__)

    @property
    def switches(self) -> int:
        """How often another policy took over, the first round not counted."""
        return sum(one.policy != other.policy for one, other in pairwise(self.counted))

    def values(self) -> dict[str, float]:
        """The plan's statistics over the whole run, the first round not counted."""
        return Statistics().computed("plan", merged([look.interval for look in self.counted]))


class PolicyChoice:
    """Keeps the statistics and asks the selector."""

    def __init__(
        self,
        selection: Selection,
        start: float = 0.0,
        on_event: Callable[[str], object] = lambda text: None,
    ) -> None:
        self.selection = selection
        self.goals: Goals = selection.goals  # type: ignore[assignment]
        self.statistics = Statistics(on_error=on_event)
        self.selector: Selector = selector_named(selection.selector, selection.seed)
        self.looks: list[ChoiceSample] = []
        self.starved = 0
        """How often starvation forced another policy."""
        self._on_event = on_event
        self._changes = deque(selection.changes)
        self._since_result = 0
        self._exploring = True
        self._period: list[IntervalStatistics] = []
        self._what_ifs: dict[str, deque[IntervalStatistics]] = {}
        self._period_what_ifs: dict[str, list[IntervalStatistics]] = {}
        self.candidates = selection.names
        self.policy = self.candidates[0]
        self._next_sample = start + (selection.warmup or 0.0)
        self._next_choice = self._next_sample
        if not selection.warmup:
            self._choose(start, None, None)

    @property
    def due(self) -> float:
        """When the engine should look again."""
        return min(self._next_sample, self._changes[0][0]) if self._changes else self._next_sample

    @property
    def wants_what_ifs(self) -> bool:
        """Whether the selector makes anything of rehearsals, and there is something to choose."""
        return self.selection.selector == "foresight" and len(self.candidates) > 1

    def see(
        self,
        interval: IntervalStatistics,
        load: float | None = None,
        burst: float | None = None,
        what_ifs: Mapping[str, IntervalStatistics] | None = None,
    ) -> str:
        """Take in what happened since the last look, choose if it is time to, and return the policy to run."""
        self._period.append(interval)
        values = self.statistics.add(self.policy, interval)
        for name, what_if in (what_ifs or {}).items():
            kept = self._what_ifs.setdefault(name, deque())
            kept.append(what_if)
            self._period_what_ifs.setdefault(name, []).append(what_if)
            while kept[0].now < interval.now - self.selection.horizon:
                kept.popleft()
        all_count = all(self.goals.queries.values())  # else there may be results that count for nothing
        starves = interval.results.count == 0 and interval.waiting > 0 and all_count
        self._since_result = self._since_result + 1 if starves else 0
        looked = ChoiceSample(interval.now, interval.seconds, self.policy, values, interval, {}, self._exploring)
        while self._changes and self._changes[0][0] <= interval.now:
            self.goals = self._changes.popleft()[1]  # type: ignore[assignment]
        is_starved = self._since_result >= self.selection.starvation and len(self.candidates) > 1
        if is_starved or interval.now >= self._next_choice:
            self._choose(interval.now, load, burst, is_starved=is_starved)
        else:
            self._next_sample = min(interval.now + self.selection.sample, self._next_choice)
        self.looks.append(looked._replace(scores=dict(self.selector.scores)))
        return self.policy

    @property
    def chosen(self) -> Chosen:
        """What was chosen so far."""
        return Chosen(self.selection.selector, self.candidates, self.goals, tuple(self.looks), self.starved)

    def set_goals(self, goals: Goals | str | Mapping[str, float]) -> None:
        """Go on with other goals; what was read so far stays."""
        self.goals = Goals.of(goals)

    def set_selector(self, selector: str) -> None:
        """Go on with another selector; it begins with what the statistics hold."""
        self.selector = selector_named(selector, self.selection.seed)
        self.selection = replace(self.selection, selector=selector)

    def set_candidates(self, candidates: Sequence[str]) -> None:
        """Go on with other candidates, which are rehearsed anew: all for as long."""
        self.selection = replace(self.selection, candidates=tuple(candidates))
        self.candidates = self.selection.names
        self._what_ifs.clear()
        self._period_what_ifs.clear()

    def _choose(self, now: float, load: float | None, burst: float | None, *, is_starved: bool = False) -> None:
        others = tuple(name for name in self.candidates if name != self.policy)
        period = self.statistics.computed("plan", merged(self._period)) if self._period else {}
        situation = Situation(
            now=now,
            goals=self.goals,
            candidates=others if is_starved else self.candidates,
            statistics=self.statistics,
            policy=self.policy if self._period else None,
            period=period,
            load=load,
            burst=burst,
            what_ifs={name: merged(intervals) for name, intervals in self._what_ifs.items()},
            period_what_ifs={name: merged(intervals) for name, intervals in self._period_what_ifs.items()},
        )
        choice = self.selector.choose(situation)
        if is_starved:
            self.starved += 1
            self._since_result = 0
            self._on_event(f"{self.policy} made no result while tuples waited: switched to {choice.policy}")
        self.policy = choice.policy
        self._exploring = choice.seconds is not None
        self._period.clear()
        self._period_what_ifs.clear()
        self._next_choice = now + (self.selection.every if choice.seconds is None else choice.seconds)
        self._next_sample = min(now + self.selection.sample, self._next_choice)
