"""The choice of the policy beside a run: goals, statistics, rehearsals; what can be set while it goes on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.policies import policy_named
from penstock.qos import IntervalStatistics, PolicyChoice
from penstock.qos.settings import NO_SELECTOR, PolicySettings
from penstock.qos.what_if import WhatIf
from penstock.runtime.clock import Stopwatch
from penstock.runtime.engine import Engine
from penstock.runtime.recorder import Recorder

KEPT_LOOKS = 600
SHARE = 1 / 250
"""Of the time, for looks without rehearsals: where one takes long, as with thousands of queries, they are rare."""


@dataclass(frozen=True)
class SelectionSummary:
    """How the policy is chosen, and what came of it."""

    goals: str | None = None
    """None where nothing was asked for: the policy is the one that was set."""
    selector: str | None = None
    pinned: bool = False
    """Whether a policy was set by name and stays, whatever the goals say."""
    candidates: tuple[str, ...] = ()
    policies: Mapping[str, float] = field(default_factory=dict)
    """The share of the time for which each policy ran."""
    switches: int = 0
    """How often another policy took over."""
    starved: int = 0
    """How often that was because nothing came of the one before."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """What the selector thinks of each candidate: high is good."""
    statistics: Mapping[str, float] = field(default_factory=dict)
    """What was read last."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Statistics of users that raised, with what they raised."""
    looks: int = 0
    rehearsed: int = 0
    """Looks at which there were rehearsals of all candidates."""
    overhead: float = 0.0
    """The share of the time that went into statistics, rehearsals and choices."""


class PolicyControl:
    """Looks at statistics when it is time to, and lets the engine go on with what is chosen.

    With `pinned`, the engine's policy stays until goals or a selector are set.
    """

    def __init__(
        self,
        engine: Engine,
        choosing: PolicySettings,
        rehearsal: WhatIf,
        tell: Callable[[str], object],
        *,
        pinned: bool = False,
    ) -> None:
        self._engine = engine
        self._choosing = choosing
        self._rehearsal = rehearsal
        self._tell = tell
        self._pinned = pinned
        self._director: PolicyChoice | None = None
        self._now = self._due = self._began = self._changed = self._seen = 0.0
        self._ran: dict[str, float] = {}
        self._switches = self._looks = self._rehearsed = 0
        self._rows = 0
        self._busy_s = 0.0
        self._watch = Stopwatch()
        self._model_failed = False

    def begin(self, now_us: int) -> None:
        """Begin with the first policy."""
        self._now = self._began = self._changed = now_us / 1e6
        self._engine.set_weights(self._choosing.weights)
        if self._choosing.goals is not None or self._choosing.is_on:
            self._direct()

    @property
    def _chooses(self) -> bool:
        return self._choosing.is_on and not self._pinned

    def _direct(self) -> None:
        """Begin to look, and to choose unless a policy is pinned."""
        director = self._director = PolicyChoice(self._choosing.selection(), self._now, self._tell)
        self._engine.recorder = Recorder(self._now, director.goals.queries)
        self._due = director.due
        self._seen, self._busy_s = self._now, self._engine.costs.busy_s
        if self._chooses:
            self._go_on_with(director.policy)
        else:
            director.policy = self._engine.policy.name

    # Looking ------------------------------------------------------------------------------------------------

    def look(self, now_us: int) -> None:
        """Look at the statistics and choose, if it is time to."""
        self._now = now_us / 1e6
        if self._director is None or self._engine.recorder is None or self._now < self._due:
            return
        rehearsed_s = self._rehearsal.spent_s
        with self._watch:
            self._look(self._director, self._engine.recorder)
        own_s = self._watch.last - (self._rehearsal.spent_s - rehearsed_s)
        self._due = max(self._due, self._now + own_s / SHARE)

    def _look(self, director: PolicyChoice, recorder: Recorder) -> None:
        load, burst = self._load(recorder)
        reading = self._reading(recorder)
        self._looks += 1
        if not self._chooses:
            director.statistics.add(self._engine.policy.name, reading)
            self._due = self._now + director.selection.sample
            return
        shadows = None
        if director.wants_shadows:
            shadows = self._rehearse(director.candidates)
            self._rehearsed += shadows is not None
        self._go_on_with(director.see(reading, load, burst, shadows))
        del director.looks[:-KEPT_LOOKS]
        self._due = director.due

    def _rehearse(self, candidates: Sequence[str]) -> Mapping[str, IntervalStatistics] | None:
        """Rehearse; a model that goes wrong is no reason to end a run, which goes on without it."""
        if self._model_failed:
            return None
        try:
            return self._rehearsal.advance(self._now, candidates)
        except Exception as error:
            self._model_failed = True
            self._rehearsal.pause()
            self._tell(f"rehearsals end, and policies go by their repute: {type(error).__name__}: {error}")
            return None

    def _load(self, recorder: Recorder) -> tuple[float, float]:
        """Return how busy jobs kept the machine since the last look, and how bursty it was."""
        seconds = max(self._now - self._seen, 1e-6)
        load = (self._engine.costs.busy_s - self._busy_s) / seconds
        self._rows += recorder.rows
        usual = self._rows / max(self._now - self._began, 1e-6)
        self._seen, self._busy_s = self._now, self._engine.costs.busy_s
        return load, recorder.rows / seconds / usual if usual else 1.0

    def _reading(self, recorder: Recorder) -> IntervalStatistics:
        engine = self._engine
        oldest = min((queue.chunks[0].arrival for queue in engine.queues.values() if queue.chunks), default=None)
        return recorder.reading(
            self._now,
            engine.waiting_bytes(),
            engine.waiting_rows(),
            0.0 if oldest is None else self._now - oldest / 1e6,
            engine.queries,
            engine.queues,
        )

    def _go_on_with(self, policy: str) -> None:
        before = self._engine.policy.name
        if policy_named(policy).name != before:
            self._ran[before] = self._ran.get(before, 0.0) + self._now - self._changed
            self._changed = self._now
            self._switches += self._now > self._began
            self._engine.set_policy(policy)

    # What is asked for --------------------------------------------------------------------------------------

    def set(self, name: str, value: str) -> str:
        """Carry out SET of a policy, goals, a selector or candidates while it runs; say what came of it.

        A policy that is set stays until goals or a selector are. If something is wrong, everything stays.
        """
        if name == "policy":
            return self._pin(value)
        live = [query for query, state in self._engine.queries.items() if state.live]
        self._choosing = self._choosing.with_setting(name, value, live)
        if name == "candidates":
            self._choosing = replace(self._choosing, policy=None)
        elif name == "selector" or (self._choosing.goals and not self._choosing.goals.implied):
            self._pinned = False
        self._engine.set_weights(self._choosing.weights)
        if self._director is not None:
            self._redirect(self._director)
        elif self._choosing.goals is not None or self._choosing.is_on:
            self._direct()
        if not self._chooses:
            self._rehearsal.pause()
        return self._said(name)

    def _pin(self, policy: str) -> str:
        self._go_on_with(policy)
        self._pinned = True
        self._rehearsal.pause()
        said = f"policy {self._engine.policy.name}"
        if self._director is None:
            return said
        self._director.policy = self._engine.policy.name
        return f"{said}, until qos or selector is set" if self._choosing.is_on else said

    def _redirect(self, director: PolicyChoice) -> None:
        wanted = self._choosing.selection()
        director.pursue(wanted.goals)
        if wanted.selector != director.selection.selector:
            director.choose_by(wanted.selector)
        if tuple(wanted.names) != director.candidates:
            director.choose_among(wanted.names)
        if self._engine.recorder is not None:
            self._engine.recorder.weights = director.goals.queries

    def _said(self, name: str) -> str:
        wanted = self._choosing.selection()
        among = ", ".join(wanted.names)
        stays = f"policy {self._engine.policy.name} stays"
        if name == "candidates":
            return f"candidates {among}" + ("" if self._chooses else f"; {stays}")
        if not self._chooses and name == "qos":
            goals = self._choosing.goals
            return (
                f"{goals}; {stays}" if goals and goals.implied else f"goals {goals}; {stays}: selector is 'none'"
            )
        if not self._chooses:
            return f"no selector: {stays}"
        return f"goals {wanted.goals}: {wanted.selector} chooses among {among}"

    def summary(self, now_us: int) -> SelectionSummary:
        """Return how the policy was chosen so far."""
        now = max(now_us / 1e6, self._changed)
        ran = dict(self._ran)
        present = self._engine.policy.name
        ran[present] = ran.get(present, 0.0) + now - self._changed
        passed = max(now - self._began, 1e-6)
        shares = {name: seconds / passed for name, seconds in ran.items() if seconds}
        director = self._director
        if director is None:
            return SelectionSummary(policies=shares, switches=self._switches)
        return SelectionSummary(
            goals=str(director.goals),
            selector=director.selection.selector if self._choosing.is_on else NO_SELECTOR,
            pinned=self._pinned,
            candidates=director.candidates,
            policies=shares,
            switches=self._switches,
            starved=director.starved,
            scores=dict(director.selector.scores),
            statistics=dict(director.statistics.current),
            failed=dict(director.statistics.failed),
            looks=self._looks,
            rehearsed=self._rehearsed,
            overhead=self._watch.seconds / passed,
        )
