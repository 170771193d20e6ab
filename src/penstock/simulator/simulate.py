"""`simulate`: many tuples, many queries, any policy, in virtual time; compiled, and the same for the same seed."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.errors import ArrivalError, NetworkError, PolicyError, QosError, RunError, nearest
from penstock.network import Network, Number, checked
from penstock.policies import Exhaustive, Limited, Policy, Service, Thresholds, Workload, policy_named
from penstock.policies.policy import Saving
from penstock.qos import Selection
from penstock.qos.settings import goals_among
from penstock.shedding.controller import SheddingRules
from penstock.simulator.attributes import Attributes
from penstock.simulator.compiled import kernel, records
from penstock.simulator.compiled.bundles import RunOptions
from penstock.simulator.course import Course
from penstock.simulator.layout import Feed, Lists, Plan, Wiring
from penstock.simulator.result import Result
from penstock.simulator.selected import Drift, Selected, checked_drifts
from penstock.simulator.state import State, interruptible
from penstock.simulator.thinning import Thinning

BINS = 256
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Adaptive:
    """Selectivities are learnt while it runs (SCLP08 §6.3): s ← (1 − α) s + α · outputs ÷ inputs of a window."""

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


def simulate(
    net: Network,
    arrivals: Mapping[str, Sequence[float] | npt.NDArray[np.float64]],
    policy: str | Policy | Selection,
    seed: int = 0,
    *,
    setup_cost: Number = 0.0,
    memory: Number | None = None,
    service: Service | None = None,
    blocking: bool = False,
    attributes: Attributes | None = None,
    adaptive: Adaptive | None = None,
    decision_cost: Number = 0.0,
    search: Literal["scan", "fagin"] = "scan",
    bins: int = BINS,
    detail: bool = False,
    by_scan: bool = False,
    drifts: Sequence[Drift] = (),
    shed: bool | SheddingRules = False,
    weights: Mapping[str, Number] | None = None,
    progress: Progress | None = None,
) -> Result:
    """Run `policy` on `net` until every arrival is served, and return what came of it.

    `arrivals` are times in seconds for each stream, ascending from 0. A tuple's fate at an operator is a hash of
    (seed, tuple, operator): every policy meets the same tuples. A run takes one tuple, unless `service` says
    otherwise, through the operators of its unit without stopping.

    - `setup_cost`: c0, paid once a run; a policy reckons with it, unless it is ``plain()``.
    - `memory`: the limit of a threshold policy, and of shedding.
    - `blocking`: window joins take their inputs in the order of time, and wait while one is empty (BBDM03), unless
      nothing will come through it any more.
      Otherwise they take what is served, and results are the same pairs in another order; windows of rows then
      hold the rows that were served last.
    - `attributes`: what is in the tuples, for fates that follow from it.
    - `adaptive`: learn selectivities, and rank by them.
    - `decision_cost`: time of each priority computation and each comparison; `search` says how many there are
      (SCLP08 §6.2, §9.3).
    - `detail`: keep every departure, decision and change of memory.
    - `by_scan`: look at every unit for every decision, as a comparison with the structures that do not; nothing
      else changes.
    - `drifts`: other selectivities from a time on, as (seconds, {operator: selectivity}).
    - `shed`: set drop boxes at the streams when the load stays above the headroom or memory is at its limit, and
      open them again; looked at as often as a selection looks, every second. Or the `SheddingRules` for that.
    - `weights`: of queries, by name; a gain counts so many times. A selection has them in its goals (`weigh`).

    With a `Selection` for a policy, the policy is chosen while it runs, by what it comes to. Selectivities are
    then learnt, and policies rank by what was learnt; with drifts or drop boxes alone, too.

    >>> net = Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])
    >>> result = simulate(net, {"s": [0, 0, 0]}, "hnr", seed=3)
    >>> result.metrics["outputs"], result.metrics["peak_memory"], result.decisions
    (3.0, 6.0, 6)
    """
    if not isinstance(net, Network):
        raise NetworkError(f"a simulation needs a Network, not {net!r}")
    if not net.queries:
        raise NetworkError("a simulation needs a network with a query at least")
    if weights:
        net = net.weighed(weights)
    times = checked_times(net, arrivals)
    if attributes is not None:
        attributes.check(net, times)
    selection = policy if isinstance(policy, Selection) else None
    if not isinstance(shed, bool | SheddingRules):
        raise QosError(f"shed is true, false or SheddingRules, not {shed!r}")
    if shed and memory is None:
        raise QosError("shedding needs a limit: say how much may wait, memory=")
    if shed and (setup_cost or decision_cost):
        raise QosError("shedding reckons with what operators take: leave out the costs of set-ups and decisions")
    if weights and selection is not None:
        raise QosError("the weights of queries stand in the goals of a selection: weigh QUERY NUMBER")
    if (drifts or shed) and selection is None:
        selection = Selection(candidates=(policy,))  # type: ignore[arg-type]
    run = _Run(
        net=net,
        times=times,
        policy=policy_named(selection.candidates[0] if selection else policy),  # type: ignore[arg-type]
        seed=_whole(seed, "a seed"),
        setup_cost=float(checked(setup_cost, "the set-up cost", at_least=0, error=PolicyError)),
        memory=None if memory is None else float(checked(memory, "the memory limit", above=0, error=PolicyError)),
        service=service or Limited(1),
        blocking=blocking,
        attributes=attributes,
        adaptive=adaptive,
        decision_cost=float(checked(decision_cost, "the cost of a decision", at_least=0, error=PolicyError)),
        search=search,
        bins=_whole(bins, "the number of intervals", least=2),
        detail=detail,
        by_scan=by_scan,
    )
    if selection is None:
        return run.result(progress)
    return run.selected(selection, checked_drifts(net, drifts), shed, progress)


def checked_times(net: Network, arrivals: Mapping[str, Any]) -> dict[str, npt.NDArray[np.float64]]:
    """Return the arrival times as arrays, or raise: they are numbers from 0 on, and ascend."""
    if not isinstance(arrivals, Mapping):
        raise ArrivalError(f"arrivals are given as a mapping from stream to times, not {type(arrivals).__name__}")
    known = net.stream_by_name
    found = {}
    for stream, given in arrivals.items():
        if stream not in known:
            raise ArrivalError(f"there is no stream {stream!r} in the network.{nearest(stream, known)}")
        try:
            times = np.array(given, np.float64)
        except (TypeError, ValueError) as error:
            raise ArrivalError(f"the arrivals of stream {stream!r} must be a list of times in seconds") from error
        if times.ndim != 1:
            raise ArrivalError(f"the arrivals of stream {stream!r} must be one list of times in seconds")
        _check_times(stream, times)
        found[stream] = times
    if not sum(map(len, found.values())):
        raise ArrivalError("nothing arrives: the arrivals are empty, and there is nothing to simulate")
    return found


def _check_times(stream: str, times: npt.NDArray[np.float64]) -> None:
    for bad, what in (
        (~np.isfinite(times), "is not a number"),
        (times < 0, "is negative"),
        (np.diff(times, prepend=times[:1]) < 0, "comes before the one ahead of it; times must ascend"),
    ):
        if bad.any():
            at = int(np.argmax(bad))
            raise ArrivalError(f"arrival {at} of stream {stream!r}, {times[at]:g}, {what}")


def _whole(value: object, what: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 2**63:
        raise PolicyError(f"{what} must be a whole number from {least} on, not {value!r}")
    return int(value)


@dataclass
class _Run:
    net: Network
    times: dict[str, npt.NDArray[np.float64]]
    policy: Policy
    seed: int
    setup_cost: float
    memory: float | None
    service: Service
    blocking: bool
    attributes: Attributes | None
    adaptive: Adaptive | None
    decision_cost: float
    search: Literal["scan", "fagin"]
    bins: int
    detail: bool
    by_scan: bool

    def __post_init__(self) -> None:
        if self.search not in ("scan", "fagin"):
            raise PolicyError(f"the best unit is searched for by 'scan' or 'fagin', not {self.search!r}")

    def result(self, progress: Progress | None) -> Result:
        if self.adaptive is not None and self.policy.saving is not None:
            raise PolicyError("adaptive statistics and a threshold do not go together in the simulator yet")
        self._check_room()
        lists = Lists()
        feed = Feed(self.net, self.times, self.attributes)
        wiring = Wiring(self.net, feed, lists, self.seed, self.blocking, self.attributes)
        saving = self.policy.saving
        policies = [self.policy] if saving is None else [self.policy, saving.policy]
        plans = [self._plan(wiring, policy, lists) for policy in policies]
        reached = {wiring.edge[edge] for edge in self.net.edges if edge.source in self.net.stream_by_name}
        for plan in [*plans, *plans]:
            plan.reach(reached)
        for plan in plans:
            plan.settle(reached)
        state = State(self.net, feed, self.bins)
        lanes = plans[0].lanes(reached) if self._is_plain else None
        options, numbers = self._options(saving), lists.array
        begun = perf_counter()
        while True:
            with interruptible():
                if lanes is not None:
                    reason = state.go_on_in_lanes(feed, numbers, plans[0], lanes)
                else:
                    reason = state.go_on(feed, wiring, numbers, plans[state.mode], options)
            if progress is not None:
                progress(state.ints[kernel.ARRIVED] / len(feed.time))
            if reason == kernel.FINISHED:
                break
            _refuse(state.bytes + (lanes.links.nbytes if lanes else 0), "what waits and is recorded", "going on")
        elapsed = perf_counter() - begun
        load = self._load()
        return Result(
            net=self.net,
            policy=self.policy.name,
            seed=self.seed,
            load=load,
            decisions=int(state.ints[kernel.DECISIONS]),
            tuples=len(feed.time),
            elapsed=elapsed,
            notes=_notes(load),
            detail=state.detail() if self.detail else None,
            **state.figures(),
        )

    def selected(
        self,
        selection: Selection,
        drifts: Sequence[Drift],
        shed: bool | SheddingRules,
        progress: Progress | None,
    ) -> Result:
        """Run by policies that are chosen on the way."""
        if self.adaptive is not None or self.detail or self.attributes is not None:
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
        if shed and self.memory is not None:
            rules = shed if isinstance(shed, SheddingRules) else None
            thinning = Thinning(self.net, feed, self.memory, rules, self.seed)
        begun = perf_counter()
        run = Selected(self.net, feed, selection, drifts, self.course, thinning)
        run.go(progress)
        state, load = run.real.close(), self._load()
        return Result(
            net=self.net,
            policy=selection.selector if len(selection.names) > 1 else selection.names[0],
            seed=self.seed,
            load=load,
            decisions=int(state.ints[kernel.DECISIONS]),
            tuples=len(feed.time),
            elapsed=perf_counter() - begun,
            notes=(*_notes(load), *run.notes),
            chosen=run.director.chosen,
            shed=None if thinning is None else thinning.shed,
            **state.figures(),
        )

    def course(self, feed: Feed, names: Sequence[str], *, is_shadow: bool) -> Course:
        """Return a run of these policies that can be steered; a shadow draws other fates."""
        lists = Lists()
        seed = (self.seed * 31 + 17) % 2**31 if is_shadow else self.seed
        wiring = Wiring(self.net, feed, lists, seed, self.blocking, None)
        policies = {name: policy_named(name) for name in names}
        return Course(
            feed, wiring, lists, policies, self._plan, lambda policy: self._options(policy.saving), self.bins
        )

    @property
    def _is_plain(self) -> bool:
        """Whether nothing is charged, learnt or recorded that lanes do not know."""
        charged = self.setup_cost > 0 or self.decision_cost > 0
        asked = self.detail or self.adaptive is not None or self.attributes is not None
        return not charged and not asked and self.service == Limited(1)

    def _plan(self, wiring: Wiring, policy: Policy, lists: Lists) -> Plan:
        return Plan(
            wiring,
            policy,
            lists,
            adaptive=self.adaptive is not None,
            decides=self.decision_cost > 0,
            setup=self.setup_cost > 0,
            by_scan=self.by_scan,
        )

    def _options(self, saving: Saving | None) -> RunOptions:
        kind, limit, threshold = _service(self.service)
        learn = self.adaptive or Adaptive()
        limits = Thresholds() if saving is None else saving.thresholds
        memory = limits.memory if self.memory is None or saving is None else self.memory
        return RunOptions(
            setup=self.setup_cost,
            service=kind,
            limit=limit,
            threshold=threshold,
            decision=self.decision_cost,
            fagin=self.search == "fagin",
            adaptive=self.adaptive is not None,
            alpha=float(learn.alpha),
            window=learn.window,
            memory=float(memory),
            beta=float(limits.beta),
            shortest=float(limits.shortest),
            longest=float(limits.longest),
            detail=self.detail,
        )

    def _load(self) -> float | None:
        """What share of the processor the arrivals need, by the rates they really have."""
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
        """Refuse what cannot fit before it starts: arrivals, and every event where they are to be kept."""
        tuples = sum(map(len, self.times.values()))
        columns = 0 if self.attributes is None else self.attributes.columns
        needed = tuples * (8 * 8 + 8 * columns)
        if self.detail:
            copies = sum(
                len(times) * len(self.net.out_edges.get(stream, ())) for stream, times in self.times.items()
            )
            needed += copies * 2 * (5 + 2 + 2) * 8
        _refuse(needed, "the arrivals" + (" and every event of the run" if self.detail else ""))


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
        case Workload(ratio=ratio, threshold=threshold):
            return records.SHARE, float(ratio), float(threshold)
    raise PolicyError(f"the simulator serves by Limited(n), Exhaustive() or Workload(...), not {service!r}")
