"""Policy control: which policy runs, by goals, statistics and what-if runs; SET policy, qos, selector."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.policies import policy_named
from penstock.qos import IntervalStatistics, PolicyChoice
from penstock.qos.settings import NO_SELECTOR, PolicySettings
from penstock.qos.what_if import WhatIf
from penstock.runtime.clock import Stopwatch
from penstock.runtime.engine import Engine

KEPT_LOOKS = 600
SHARE = 1 / 250
"""The share of the time for samples without what-if runs. With thousands of queries samples are rare."""


@dataclass(frozen=True)
class SelectionSummary:
    """How the policy is chosen, and what came of it."""

    goals: str | None = None
    """None if no goals were set: then the policy does not change."""
    selector: str | None = None
    pinned: bool = False
    """Whether a policy was set by name. It then overrides the goals."""
    candidates: tuple[str, ...] = ()
    policies: Mapping[str, float] = field(default_factory=dict)
    """The share of the time that each policy ran."""
    switches: int = 0
    """How often another policy took over."""
    starved: int = 0
    """How often that was because the policy before it made no result."""
    scores: Mapping[str, float] = field(default_factory=dict)
    """The selector's score of each candidate: high is good."""
    statistics: Mapping[str, float] = field(default_factory=dict)
    """The latest statistics."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """User-defined statistics that raised, with the error."""
    looks: int = 0
    rehearsed: int = 0
    """Samples with what-if runs of all candidates."""
    overhead: float = 0.0
    """The share of the time spent on statistics, what-if runs and choices."""


class PolicyControl:
    """Samples statistics when due, and sets the engine's policy.

    With `pinned`, the policy stays until goals or a selector are set.
    """

    def __init__(
        self,
        engine: Engine,
        settings: PolicySettings,
        what_if: WhatIf,
        tell: Callable[[str], object],
        *,
        pinned: bool = False,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._what_if = what_if
        self._tell = tell
        self._pinned = pinned
        self._choice: PolicyChoice | None = None
        self._now = self._due = self._began = self._changed = self._sampled = 0.0
        self._ran: dict[str, float] = {}
        self._switches = self._looks = self._with_what_if = 0
        self._rows = 0
        self._busy_s = 0.0
        self._watch = Stopwatch()
        self._model_failed = False

    def begin(self, now_us: int) -> None:
        """Begin with the first policy."""
        self._now = self._began = self._changed = now_us / 1e6
        self._engine.set_weights(self._settings.weights)
        if self._settings.goals is not None or self._settings.is_on:
            self._begin_choice()

    @property
    def _chooses(self) -> bool:
        return self._settings.is_on and not self._pinned

    def _begin_choice(self) -> None:
        """Begin to sample statistics, and to choose unless a policy is pinned."""
        choice = self._choice = PolicyChoice(self._settings.selection(), self._now, self._tell)
        self._engine.recorder.restart(self._now, choice.goals.queries)
        self._due = choice.due
        self._sampled, self._busy_s = self._now, self._engine.costs.busy_s
        if self._chooses:
            self._run_policy(choice.policy)
        else:
            choice.policy = self._engine.policy.name

    # Sampling -----------------------------------------------------------------------------------------------

    def sample(self, now_us: int) -> None:
        """Read the statistics and choose a policy, if that is due."""
        self._now = now_us / 1e6
        if self._choice is None or self._now < self._due:
            return
        what_if_s = self._what_if.spent_s
        with self._watch:
            self._sample(self._choice)
        own_s = self._watch.last - (self._what_if.spent_s - what_if_s)
        self._due = max(self._due, self._now + own_s / SHARE)

    def _sample(self, choice: PolicyChoice) -> None:
        load, burst = self._load()
        interval = self._interval()
        self._looks += 1
        if not self._chooses:
            choice.statistics.add(self._engine.policy.name, interval)
            self._due = self._now + choice.selection.sample
            return
        what_ifs = None
        if choice.wants_what_ifs:
            what_ifs = self._run_what_if(choice.candidates)
            self._with_what_if += what_ifs is not None
        self._run_policy(choice.see(interval, load, burst, what_ifs))
        del choice.looks[:-KEPT_LOOKS]
        self._due = choice.due

    def _run_what_if(self, candidates: Sequence[str]) -> Mapping[str, IntervalStatistics] | None:
        """Run the models. A run whose model fails continues without it."""
        if self._model_failed:
            return None
        try:
            return self._what_if.advance(self._now, candidates)
        except Exception as error:
            self._model_failed = True
            self._what_if.pause()
            self._tell(f"what-if runs end, policies are chosen without them: {type(error).__name__}: {error}")
            return None

    def _load(self) -> tuple[float, float]:
        """Return utilisation and burstiness since the last sample."""
        seconds = max(self._now - self._sampled, 1e-6)
        load = (self._engine.costs.busy_s - self._busy_s) / seconds
        rows = self._engine.recorder.interval_rows
        self._rows += rows
        usual = self._rows / max(self._now - self._began, 1e-6)
        self._sampled, self._busy_s = self._now, self._engine.costs.busy_s
        return load, rows / seconds / usual if usual else 1.0

    def _interval(self) -> IntervalStatistics:
        state = self._engine.state
        oldest = state.oldest_arrival()
        age_s = 0.0 if oldest is None else self._now - oldest / 1e6
        waiting = state.waiting_bytes(), state.waiting_rows()
        return self._engine.recorder.end_interval(self._now, *waiting, age_s, state.queues)

    def _run_policy(self, policy: str) -> None:
        before = self._engine.policy.name
        if policy_named(policy).name != before:
            self._ran[before] = self._ran.get(before, 0.0) + self._now - self._changed
            self._changed = self._now
            self._switches += self._now > self._began
            self._engine.set_policy(policy)

    # Settings -----------------------------------------------------------------------------------------------

    def set(self, name: str, value: str) -> str:
        """Carry out SET of a policy, goals, a selector or candidates while it runs; say what came of it.

        A policy that is set stays until goals or a selector are. If something is wrong, everything stays.
        """
        if name == "policy":
            return self._pin(value)
        live = [query for query, state in self._engine.queries.items() if state.live]
        self._settings = self._settings.with_setting(name, value, live)
        if name == "candidates":
            self._settings = replace(self._settings, policy=None)
        elif name == "selector" or (self._settings.goals and not self._settings.goals.implied):
            self._pinned = False
        self._engine.set_weights(self._settings.weights)
        if self._choice is not None:
            self._change_choice(self._choice)
        elif self._settings.goals is not None or self._settings.is_on:
            self._begin_choice()
        if not self._chooses:
            self._what_if.pause()
        return self._message(name)

    def _pin(self, policy: str) -> str:
        self._run_policy(policy)
        self._pinned = True
        self._what_if.pause()
        said = f"policy {self._engine.policy.name}"
        if self._choice is None:
            return said
        self._choice.policy = self._engine.policy.name
        return f"{said}, until qos or selector is set" if self._settings.is_on else said

    def _change_choice(self, choice: PolicyChoice) -> None:
        wanted = self._settings.selection()
        choice.set_goals(wanted.goals)
        if wanted.selector != choice.selection.selector:
            choice.set_selector(wanted.selector)
        if tuple(wanted.names) != choice.candidates:
            choice.set_candidates(wanted.names)
        self._engine.recorder.set_weights(choice.goals.queries)

    def _message(self, name: str) -> str:
        wanted = self._settings.selection()
        among = ", ".join(wanted.names)
        stays = f"policy {self._engine.policy.name} stays"
        if name == "candidates":
            return f"candidates {among}" + ("" if self._chooses else f"; {stays}")
        if not self._chooses and name == "qos":
            goals = self._settings.goals
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
        choice = self._choice
        if choice is None:
            return SelectionSummary(policies=shares, switches=self._switches)
        return SelectionSummary(
            goals=str(choice.goals),
            selector=choice.selection.selector if self._settings.is_on else NO_SELECTOR,
            pinned=self._pinned,
            candidates=choice.candidates,
            policies=shares,
            switches=self._switches,
            starved=choice.starved,
            scores=dict(choice.selector.scores),
            statistics=dict(choice.statistics.current),
            failed=dict(choice.statistics.failed),
            looks=self._looks,
            rehearsed=self._with_what_if,
            overhead=self._watch.seconds / passed,
        )
