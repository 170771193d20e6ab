"""Replanning: probe orders of running joins, chosen when rows have arrived and again as the logs change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from penstock.language.statements import StreamDef
from penstock.plan.moving_average import moving_average
from penstock.plan.operators import RATE
from penstock.plan.plan import Plan
from penstock.plan.probe_orders import SAMPLE_ROWS, Places, ProbePlan, StreamSample, names_of, planned
from penstock.plan.steps import Join

LEAST_PORTS = 3
"""In a join of two streams there is only one order."""
BETTER = 0.9
"""New orders are adopted if they cost at most this share of the current ones."""
WORK_AT_ONCE = 400_000
"""Sampled rows after which the remaining joins wait for the next call: some 50 ms. Counted, so that plans do not
depend on the speed of the machine."""
_JOIN_WORK = 10_000
"""What a join takes in addition, as so many rows."""
_UNBOUND = 2
"""How often orders behind selections may change for any gain after a join began to run. Then they are measured."""
_LEAST_SHARE = 1e-6


class Log(Protocol):
    """What replanning reads of a stream's log."""

    definition: StreamDef
    next_sequence: int
    ended: bool

    @property
    def rows(self) -> int:
        """Rows held for windows."""
        ...

    @property
    def held_span_s(self) -> float:
        """Seconds of stream time that the held rows cover."""
        ...

    @property
    def held_share(self) -> float:
        """The share that drop boxes kept when the held rows arrived."""
        ...

    @property
    def keep(self) -> float:
        """The share that the drop box keeps now."""
        ...

    def newest_rows(self, count: int) -> pa.Table | None:
        """Return the newest held rows, at most so many."""
        ...


class RowCosts(Protocol):
    """Measured costs and selectivities of operators."""

    def of(self, name: str) -> tuple[float, ...] | None:
        """Return the seconds per row of each input of an operator, if known."""
        ...

    def expect(self, name: str, costs: Iterable[float], fanout: float | None = None) -> None:
        """Assume costs and a fanout until they are measured."""
        ...

    def selectivity(self, name: str) -> float | None:
        """Return the measured selectivity of an operator."""
        ...


@dataclass(frozen=True)
class JoinRan:
    """A join's part of a job: rows by port, the seconds of stream time that they span, and the time it took."""

    rows: tuple[int, ...]
    spans: tuple[float, ...]
    seconds: float


class _Totals:
    """Totals of a join's jobs, by port. Warm ones leave out a port's first job, in which Spark compiles."""

    def __init__(self, ports: int) -> None:
        self.spans = [0.0] * ports
        self.rows = [0] * ports
        self.jobs = 0
        self.seconds = 0.0
        self.warm_rows = [0] * ports
        self.warm_jobs = 0
        self.warm_s = 0.0

    def add(self, job: JoinRan) -> None:
        """Add a job."""
        is_warm = all(self.rows[port] for port, some in enumerate(job.rows) if some)
        for port, some in enumerate(job.rows):
            if some:
                span = job.spans[port]
                self.spans[port] = moving_average(self.spans[port], span) if self.rows[port] else span
            self.rows[port] += some
            self.warm_rows[port] += some * is_warm
        self.jobs += 1
        self.seconds += job.seconds
        self.warm_jobs += is_warm
        self.warm_s += job.seconds * is_warm

    def jobs_s(self, costs: Sequence[float]) -> float:
        """Return the time of all jobs without that of their rows, at these costs per row."""
        if not self.warm_jobs:
            return max(self.seconds - _dot(self.rows, costs), 0.0)
        return max(self.warm_s - _dot(self.warm_rows, costs), 0.0) * self.jobs / self.warm_jobs


class Planner:
    """Chooses the probe orders of every join of three or more streams."""

    def __init__(self, costs: RowCosts, most_rows: float, *, fixed: bool = False) -> None:
        self.plans: dict[str, ProbePlan] = {}
        """The last plan of each join."""
        self._changes: list[str] = []
        self._costs = costs
        self._most_rows = most_rows
        """The most rows that a job takes of a port."""
        self._fixed = fixed
        """Whether joins keep their written orders. Other orders are evaluated anyway."""
        self._joins: list[str] = []
        self._totals: dict[str, _Totals] = {}
        self._replanned: dict[str, int] = {}
        """How often a join was replanned after it had run."""
        self._known: dict[str, tuple[int, ...]] = {}
        """Next sequence numbers of each join's streams when it was last planned, oldest plan first."""

    def move_to(self, plan: Plan) -> None:
        """Use the joins of another plan from now on."""
        self._joins = [
            name for name, step in plan.steps.items() if isinstance(step, Join) and len(step.ports) >= LEAST_PORTS
        ]
        for kept in (self.plans, self._totals, self._known, self._replanned):
            for name in set(kept).difference(self._joins):
                del kept[name]

    def finished(self, joins: Mapping[str, JoinRan]) -> None:
        """Learn from a job that reached these joins."""
        for name in set(self._joins).intersection(joins):
            self._totals.setdefault(name, _Totals(len(joins[name].rows))).add(joins[name])

    def take_changes(self) -> list[str]:
        """Return and forget the changes of orders since the last call, as messages."""
        found, self._changes = self._changes, []
        return found

    def utilization(self, name: str, places: Places, span_s: float) -> float:
        """Return the share of the machine that a join uses at its streams' rates, in these orders.

        Once the join has run, this is computed from measurements over `span_s` seconds of stream time. Before, it
        is computed from assumed costs.
        """
        found, totals, costs = self.plans[name], self._totals.get(name), self._costs.of(name)
        if totals is None or costs is None or not span_s:
            return found.utilization(places)
        jobs_s, rows_s = totals.jobs_s(costs), _dot(totals.rows, costs)
        expected = found.expected(costs, places, rows_s / (rows_s + jobs_s))
        return (_dot(totals.rows, expected) + jobs_s) / span_s

    def first(self, plan: Plan, logs: Mapping[str, Log]) -> Plan:
        """Return the plan with new orders for joins of which a stream has twice the rows of the last planning."""
        due = []
        for name in self._joins:
            brought = _brought(plan, name, logs)
            known = self._known.get(name, (0,) * len(brought))
            if any(now > 2 * then and then < SAMPLE_ROWS for now, then in zip(brought, known, strict=True)):
                due.append(name)
        return self._ordered(plan, logs, due)

    def again(self, plan: Plan, logs: Mapping[str, Log]) -> Plan:
        """Return the plan with orders for the current logs; joins planned longest ago come first."""
        return self._ordered(plan, logs, list(self._known))

    def for_shares(self, plan: Plan, logs: Mapping[str, Log]) -> Plan:
        """Return the plan with the cheapest orders for the current shares of drop boxes."""
        return self._ordered(plan, logs, list(self._known), better=1.0)

    def unshed(self, plan: Plan, name: str, logs: Mapping[str, Log]) -> ProbePlan | None:
        """Return the plan of a join, of any number of streams, as if nothing were dropped."""
        return self._planned(plan, name, logs, unshed=True)

    def _ordered(self, plan: Plan, logs: Mapping[str, Log], names: Sequence[str], better: float = BETTER) -> Plan:
        sampled = 0
        for name in names:
            if sampled > WORK_AT_ONCE:
                break
            ports = plan.join(name).ports
            sampled += _JOIN_WORK + sum(min(logs[port.stream].rows, SAMPLE_ROWS) for port in ports)
            self._known.pop(name, None)  # so that the newest plan is the last entry
            self._known[name] = _brought(plan, name, logs)
            found = self._planned(plan, name, logs)
            if found is not None:
                plan = self._adopted(plan, name, found, better, is_new=name not in self._totals)
                self.plans[name] = replace(found, join=plan.join(name))
        return plan

    def _adopted(self, plan: Plan, name: str, found: ProbePlan, better: float, *, is_new: bool) -> Plan:
        if is_new:
            places = found.current if self._fixed else found.best
            self._costs.expect(name, found.row_costs(places), found.probing.rate / found.arriving)
            return plan.ordered(name, places)
        self._replanned[name] = self._replanned.get(name, 0) + 1
        if self._replanned[name] <= _UNBOUND and any(port.path for port in found.join.ports):
            better = 1.0
        if not self._fixed and found.utilization(found.best) < found.utilization(found.current) * better:
            costs = self._costs.of(name) or found.row_costs(found.current)
            self._costs.expect(name, found.expected(costs, found.best))
            self._changes.append(_change(name, found))
            return plan.ordered(name, found.best)
        return plan

    def _planned(
        self, plan: Plan, name: str, logs: Mapping[str, Log], *, unshed: bool = False
    ) -> ProbePlan | None:
        own = [logs[port.stream] for port in plan.join(name).ports]
        if any(log.next_sequence and not log.rows for log in own):
            return None  # the rows were released, so there is no sample
        samples = [
            StreamSample(stream_rate(plan, log, unshed=unshed), log.newest_rows(SAMPLE_ROWS)) for log in own
        ]
        if name in self._totals:
            spans = self._totals[name].spans
        else:
            spans = [log.held_span_s * min(1, self._most_rows / max(log.rows, 1)) for log in own]
        return planned(plan, name, samples, spans, self._costs.selectivity)


def stream_rate(plan: Plan, log: Log, *, unshed: bool) -> float:
    """Return a stream's rows per second of its own time, after its drop box or with nothing dropped.

    A log that covers no time yet has the declared rate.
    """
    span_s = log.held_span_s
    keep = 1.0 if unshed else log.keep
    if span_s > 0:
        return log.rows / span_s * keep / max(log.held_share, _LEAST_SHARE)
    known = plan.network.stream_by_name.get(log.definition.name)  # a derived stream is an operator
    declared = None if known is None else known.rate
    return 0.0 if log.ended else float(declared or RATE) * keep


def _brought(plan: Plan, name: str, logs: Mapping[str, Log]) -> tuple[int, ...]:
    return tuple(logs[port.stream].next_sequence for port in plan.join(name).ports)


def _dot(rows: Sequence[int], costs: Sequence[float]) -> float:
    return sum(some * cost for some, cost in zip(rows, costs, strict=True))


def _change(name: str, found: ProbePlan) -> str:
    names = names_of(found.join)
    orders = [
        f"a row of {names[port]} probes {', '.join(names[each] for each in order)}"
        for port, order in enumerate(found.best)
        if order != found.current[port]
    ]
    return f"{name} has new probe orders: {'; '.join(orders)}"
