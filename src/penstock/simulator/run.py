"""One simulation: lay out the arrays, run the compiled loop to the end, and return the result."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from penstock.errors import PolicyError, RunError
from penstock.network import Network
from penstock.policies import Exhaustive, Limited, Policy, QueueShare, Service, Thresholds, policy_named
from penstock.policies.policy import Saving
from penstock.qos import Chosen, Selection
from penstock.qos.settings import goals_among
from penstock.shedding.controller import SheddingRules
from penstock.simulator.compiled import places, records
from penstock.simulator.compiled.bundles import KernelOptions
from penstock.simulator.drop_boxes import Shed, SimulatedDropBoxes
from penstock.simulator.layout.arrivals import Feed
from penstock.simulator.layout.lanes import lanes_of
from penstock.simulator.layout.lists import Lists
from penstock.simulator.layout.moments import room_for_windows
from penstock.simulator.layout.network import Wiring
from penstock.simulator.layout.policy import PolicyLayout
from penstock.simulator.options import Adaptive, SimulationOptions
from penstock.simulator.policy_selection import Drift, Selected
from penstock.simulator.result import EventLog, Result
from penstock.simulator.state import State, interruptible
from penstock.simulator.steerable_run import Course


class ResultExtras(TypedDict, total=False):
    """What only some runs have: see `Result`."""

    detail: EventLog | None
    chosen: Chosen | None
    shed: Shed | None


@dataclass(frozen=True)
class SimulationRun:
    """A simulation that is ready to run: the network, the arrivals, and how they are served."""

    net: Network
    times: dict[str, npt.NDArray[np.float64]]
    policy: Policy
    seed: int
    options: SimulationOptions

    def result(self) -> Result:
        """Run one policy to the end."""
        if self.options.adaptive is not None and self.policy.saving is not None:
            raise PolicyError("adaptive statistics and a threshold do not go together in the simulator yet")
        self._check_room()
        lists = Lists()
        feed = Feed(self.net, self.times, self.options.attributes)
        wiring = Wiring(self.net, feed, lists, self.seed, self.options.blocking, self.options.attributes)
        saving = self.policy.saving
        policies = [self.policy] if saving is None else [self.policy, saving.policy]
        plans = [self.plan(wiring, policy, lists) for policy in policies]
        reached = {wiring.edge[edge] for edge in self.net.edges if edge.source in self.net.stream_by_name}
        for plan in [*plans, *plans]:
            plan.reach(reached)
        for plan in plans:
            plan.settle(reached)
        state = State(self.net, feed, self.options.bins)
        lanes = lanes_of(plans[0], reached) if self._is_plain else None
        options, numbers, progress = self.run_options(saving), lists.array, self.options.progress
        begun = perf_counter()
        while True:
            with interruptible():
                if lanes is not None:
                    reason = state.go_on_in_lanes(feed, numbers, plans[0], lanes)
                else:
                    reason = state.go_on(feed, wiring, numbers, plans[state.mode], options)
            if progress is not None:
                progress(state.ints[places.ARRIVED] / len(feed.time))
            if reason == places.FINISHED:
                break
            _refuse(state.bytes + (lanes.links.nbytes if lanes else 0), "what waits and is recorded", "going on")
        elapsed = perf_counter() - begun
        detail = state.detail() if self.options.detail else None
        return self._result(self.policy.name, state, elapsed, detail=detail)

    def selected(self, selection: Selection, drifts: Sequence[Drift]) -> Result:
        """Run by policies that are chosen during the run."""
        options = self.options
        if options.adaptive is not None or options.detail or options.attributes is not None:
            raise PolicyError(
                "a selection learns selectivities by itself: leave out `adaptive`, and the attributes and details "
                "of tuples"
            )
        names = [query.name for query in self.net.queries]
        changes = [(at, goals_among(goals, names)) for at, goals in selection.changes]
        selection = replace(selection, goals=goals_among(selection.goals, names), changes=changes)
        self._check_room()
        feed = Feed(self.net, self.times, None)
        thinning = None
        if options.shed and options.memory is not None:
            rules = options.shed if isinstance(options.shed, SheddingRules) else None
            thinning = SimulatedDropBoxes(self.net, feed, options.memory, rules, self.seed)
        begun = perf_counter()
        run = Selected(self.net, feed, selection, drifts, self.course, thinning)
        run.go(options.progress)
        state = run.real.close()
        return self._result(
            selection.selector if len(selection.names) > 1 else selection.names[0],
            state,
            perf_counter() - begun,
            notes=run.notes,
            chosen=run.director.chosen,
            shed=None if thinning is None else thinning.shed,
        )

    def _result(
        self, policy: str, state: State, elapsed: float, notes: Sequence[str] = (), **extra: Unpack[ResultExtras]
    ) -> Result:
        load = self._load()
        return Result(
            net=self.net,
            policy=policy,
            seed=self.seed,
            load=load,
            decisions=int(state.ints[places.DECISIONS]),
            tuples=sum(map(len, self.times.values())),
            elapsed=elapsed,
            notes=(*_notes(load), *notes),
            **state.figures(),
            **extra,
        )

    def course(self, feed: Feed, names: Sequence[str], *, is_what_if: bool) -> Course:
        """Return a run of these policies that can be steered; a what-if run draws other fates."""
        lists = Lists()
        seed = (self.seed * 31 + 17) % 2**31 if is_what_if else self.seed
        wiring = Wiring(self.net, feed, lists, seed, self.options.blocking, None)
        policies = {name: policy_named(name) for name in names}
        options = {name: self.run_options(policy.saving) for name, policy in policies.items()}
        return Course(feed, wiring, lists, policies, self.plan, options, self.options.bins)

    @property
    def _is_plain(self) -> bool:
        """Whether only options are used that lanes support."""
        options = self.options
        charged = options.setup_cost > 0 or options.decision_cost > 0
        asked = options.detail or options.adaptive is not None or options.attributes is not None
        return not charged and not asked and options.service == Limited(1)

    def plan(self, wiring: Wiring, policy: Policy, lists: Lists) -> PolicyLayout:
        """Return a policy as arrays."""
        return PolicyLayout(
            wiring,
            policy,
            lists,
            adaptive=self.options.adaptive is not None,
            decides=self.options.decision_cost > 0,
            setup=self.options.setup_cost > 0,
            by_scan=self.options.by_scan,
        )

    def run_options(self, saving: Saving | None) -> KernelOptions:
        """Return the options of the compiled loop, with the thresholds of a policy that saves memory."""
        options = self.options
        kind, limit, threshold = _service(options.service)
        learn = options.adaptive or Adaptive()
        limits = Thresholds() if saving is None else saving.thresholds
        memory = limits.memory if options.memory is None or saving is None else options.memory
        return KernelOptions(
            setup=options.setup_cost,
            service=kind,
            limit=limit,
            threshold=threshold,
            decision=options.decision_cost,
            fagin=options.search == "fagin",
            adaptive=options.adaptive is not None,
            alpha=float(learn.alpha),
            window=learn.window,
            memory=float(memory),
            beta=float(limits.beta),
            shortest=float(limits.shortest),
            longest=float(limits.longest),
            detail=options.detail,
        )

    def _load(self) -> float | None:
        """Return the share of the processor that the arrivals need, by their actual rates."""
        last = max(float(times[-1]) for times in self.times.values() if len(times))
        first = min(float(times[0]) for times in self.times.values() if len(times))
        if last == first:
            return None
        rates = {name: len(times) / (last - first) for name, times in self.times.items() if len(times)}
        silent = {name: 1e-12 / (last - first) for name in self.net.stream_by_name if name not in rates}
        load = self.net.measured(rates=rates | silent).load
        return None if load is None else float(load)

    # Memory -------------------------------------------------------------------------------------------------

    def _check_room(self) -> None:
        """Raise if the arrivals, and all events where they are kept, would not fit in memory."""
        tuples = sum(map(len, self.times.values()))
        columns = 0 if self.options.attributes is None else self.options.attributes.columns
        needed = tuples * (8 * 8 + 8 * columns)
        some = [times for times in self.times.values() if len(times)]
        first, last = min(float(times[0]) for times in some), max(float(times[-1]) for times in some)
        windows = room_for_windows(self.net, first, last, tuples)
        _refuse(windows, "the panes and windows of the aggregates")
        needed += windows
        if self.options.detail:
            copies = sum(
                len(times) * len(self.net.out_edges.get(stream, ())) for stream, times in self.times.items()
            )
            needed += copies * 2 * (5 + 2 + 2) * 8
        _refuse(needed, "the arrivals" + (" and every event of the run" if self.options.detail else ""))


def _refuse(needed: int, what: str, start: str = "it") -> None:
    room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if needed > room:
        raise RunError(
            f"{what} would take {needed / 2**30:.1f} GiB, and {room / 2**30:.1f} GiB are free: {start} would not "
            "fit. Take fewer tuples or queries, or leave out the detail"
        )


def _notes(load: float | None) -> tuple[str, ...]:
    if load is None or load <= 1:
        return ()
    return (
        f"The load is {load:.2f}: more arrives than one processor can do. Queues grow as long as tuples arrive, "
        "and what is measured depends on how long that is.",
    )


def _service(service: Service) -> tuple[int, float, float]:
    match service:
        case Limited(tuples=tuples):
            return records.LIMITED, float(tuples), 0.0
        case Exhaustive():
            return records.EXHAUSTIVE, 0.0, 0.0
        case QueueShare(ratio=ratio, threshold=threshold):
            return records.SHARE, float(ratio), float(threshold)
    raise PolicyError(f"the simulator serves by Limited(n), Exhaustive() or QueueShare(...), not {service!r}")
