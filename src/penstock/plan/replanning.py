"""The orders of a running system's joins: chosen once there are rows, and again as what the logs hold changes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import pyarrow as pa

from penstock.plan.columns import numbers
from penstock.plan.operators import RATE
from penstock.plan.plan import Plan
from penstock.plan.probe_orders import SAMPLE_ROWS, Places, ProbePlan, Sample, names_of, planned
from penstock.plan.steps import Join, seq
from penstock.runtime.cost_model import CostModel, moving_average
from penstock.runtime.query_state import Job
from penstock.runtime.stream_log import StreamLog
from penstock.spark.job import Outcome

LEAST_PORTS = 3
"""Of two streams each row has one other to probe: there is nothing to choose."""
BETTER = 0.9
"""Other orders are taken up if they cost at most this much of what the present ones do."""
_UNBOUND = 2
"""How often orders behind selections change freely after a join began to run: by then they are measured."""
_LEAST_SHARE = 1e-6
_AT_ONCE_S = 0.05
"""How long joins are planned before something may run again."""


class _Ran:
    """What a join has done, by port: rows, and over how much time those of a job spread; jobs, and what they took.

    A port's first job is left out of that, if there were others: Spark compiles then.
    """

    def __init__(self, ports: int) -> None:
        self.spans = [0.0] * ports
        self.rows = [0] * ports
        self.jobs = 0
        self.seconds = 0.0
        self.warm_rows = [0] * ports
        self.warm_jobs = 0
        self.warm_s = 0.0

    def add(self, rows: Sequence[int], spans: Sequence[float], seconds: float) -> None:
        """Take in a job."""
        is_warm = all(self.rows[port] for port, some in enumerate(rows) if some)
        for port, some in enumerate(rows):
            if some:
                self.spans[port] = (
                    moving_average(self.spans[port], spans[port]) if self.rows[port] else spans[port]
                )
            self.rows[port] += some
            self.warm_rows[port] += some * is_warm
        self.jobs += 1
        self.seconds += seconds
        self.warm_jobs += is_warm
        self.warm_s += seconds * is_warm

    def jobs_s(self, costs: Sequence[float]) -> float:
        """Return what all jobs took beside their rows, if these cost so much."""
        if not self.warm_jobs:
            return max(self.seconds - _dot(self.rows, costs), 0.0)
        return max(self.warm_s - _dot(self.warm_rows, costs), 0.0) * self.jobs / self.warm_jobs


class Planner:
    """Chooses in which order rows probe, for every join of three streams or more."""

    def __init__(self, costs: CostModel, most_rows: float, *, leave: bool = False) -> None:
        self.plans: dict[str, ProbePlan] = {}
        """What was last reckoned for each join."""
        self.changes: list[str] = []
        """Which orders changed while a join ran, for a person to read."""
        self._costs = costs
        self._most_rows = most_rows
        """How many rows of a port a job takes."""
        self._leave = leave
        """Whether joins stay as written; what other orders would take is reckoned anyway."""
        self._joins: list[str] = []
        self._ran: dict[str, _Ran] = {}
        self._again: dict[str, int] = {}
        """How often a join that runs was planned again."""
        self._known: dict[str, tuple[int, ...]] = {}
        """Rows that the stream of each port had brought when a join was last planned."""

    def move_to(self, plan: Plan) -> None:
        """Look after the joins of another plan."""
        self._joins = [
            name for name, step in plan.steps.items() if isinstance(step, Join) and len(step.ports) >= LEAST_PORTS
        ]
        for kept in (self.plans, self._ran, self._known, self._again):
            for name in set(kept).difference(self._joins):
                del kept[name]

    def ran(self, run: Job, outcome: Outcome, seconds: float) -> None:
        """Learn from a job what came to each port of a join; its time is shared equally among its units."""
        for name in {join for join, _, _ in run.work.probes}.intersection(outcome.ports, self._joins):
            rows = outcome.ports[name]
            spans = [run.work.spans.get((name, port), 0.0) for port in range(len(rows))]
            reaching = sum(any(edge.target == name for edge in (*u.entries, *u.through)) for u in run.units)
            ran = self._ran.setdefault(name, _Ran(len(rows)))
            ran.add(rows, spans, seconds * reaching / len(run.units))

    def utilization(self, name: str, places: Places, span_s: float) -> float:
        """Return the share of the machine that a join takes, at the pace of its streams, in these orders.

        Once it ran, from what was measured over `span_s` seconds of its streams' time: what rows cost, and what
        jobs took beside. Before, what rows are assumed to cost.
        """
        found, ran, costs = self.plans[name], self._ran.get(name), self._costs.of(name)
        if ran is None or costs is None or not span_s:
            return found.utilization(places)
        jobs_s, rows_s = ran.jobs_s(costs), _dot(ran.rows, costs)
        expected = found.expected(costs, places, rows_s / (rows_s + jobs_s))
        return (_dot(ran.rows, expected) + jobs_s) / span_s

    def first(self, plan: Plan, streams: Mapping[str, StreamLog]) -> Plan:
        """Return the plan with orders for the joins of which a stream has brought twice the rows known before."""
        due = []
        for name in self._joins:
            brought = self._brought(plan, name, streams)
            known = self._known.get(name, (0,) * len(brought))
            if any(now > 2 * then and then < SAMPLE_ROWS for now, then in zip(brought, known, strict=True)):
                due.append(name)
        return self._ordered(plan, streams, due)

    def again(self, plan: Plan, streams: Mapping[str, StreamLog]) -> Plan:
        """Return the plan with orders after what the logs hold now, those that were planned longest ago first."""
        return self._ordered(plan, streams, list(self._known))

    def now(self, plan: Plan, streams: Mapping[str, StreamLog]) -> Plan:
        """Return the plan with the orders that cost least for what drop boxes let through from now on."""
        return self._ordered(plan, streams, list(self._known), better=1.0)

    def whole(self, plan: Plan, name: str, streams: Mapping[str, StreamLog]) -> ProbePlan | None:
        """Return what there is to reckon with for a join, of any number of streams, if nothing were dropped."""
        return self._planned(plan, name, streams, whole=True)

    @staticmethod
    def rate(plan: Plan, log: StreamLog) -> float:
        """Return how many rows a stream brings in a second of its own time, if nothing is dropped."""
        return _rate(plan, log, whole=True)

    def _ordered(
        self, plan: Plan, streams: Mapping[str, StreamLog], names: Sequence[str], better: float = BETTER
    ) -> Plan:
        start = perf_counter()
        for name in names:
            if perf_counter() - start > _AT_ONCE_S:
                break
            self._known.pop(name, None)  # to stand last
            self._known[name] = self._brought(plan, name, streams)
            found = self._planned(plan, name, streams)
            if found is not None:
                plan = self._adopted(plan, name, found, better, is_new=name not in self._ran)
                self.plans[name] = replace(found, join=plan.join(name))
        return plan

    def _adopted(self, plan: Plan, name: str, found: ProbePlan, better: float, *, is_new: bool) -> Plan:
        if is_new:
            places = found.current if self._leave else found.best
            self._costs.expect(name, found.row_costs(places), found.probing.rate / found.arriving)
            return plan.ordered(name, places)
        self._again[name] = self._again.get(name, 0) + 1
        if self._again[name] <= _UNBOUND and any(port.path for port in found.join.ports):
            better = 1.0
        if not self._leave and found.utilization(found.best) < found.utilization(found.current) * better:
            costs = self._costs.of(name) or found.row_costs(found.current)
            self._costs.expect(name, found.expected(costs, found.best))
            self.changes.append(_change(name, found))
            return plan.ordered(name, found.best)
        return plan

    def _planned(
        self, plan: Plan, name: str, streams: Mapping[str, StreamLog], *, whole: bool = False
    ) -> ProbePlan | None:
        join = plan.join(name)
        logs = [streams[port.stream] for port in join.ports]
        if any(log.next_sequence and not log.chunks for log in logs):
            return None  # what there was has been let go, and says nothing of what will come
        samples = [_sample(plan, log, whole=whole) for log in logs]
        if name in self._ran:
            spans = self._ran[name].spans
        else:
            spans = [_span_s(log) * min(1, self._most_rows / max(log.rows, 1)) for log in logs]
        return planned(plan, name, samples, spans, self._costs.selectivity)

    @staticmethod
    def _brought(plan: Plan, name: str, streams: Mapping[str, StreamLog]) -> tuple[int, ...]:
        return tuple(streams[port.stream].next_sequence for port in plan.join(name).ports)


def _sample(plan: Plan, log: StreamLog, *, whole: bool = False) -> Sample:
    """Return what a log tells of its stream; its declared rate, if it holds too little to tell one.

    The rate is that of the rows that the drop box lets through now, or of the `whole` stream.
    """
    newest: list[pa.Table] = []
    missing = SAMPLE_ROWS
    for chunk in reversed(log.chunks):
        if missing <= 0:
            break
        newest.append(chunk.table.slice(max(chunk.rows - missing, 0)))
        missing -= chunk.rows
    return Sample(_rate(plan, log, whole=whole), pa.concat_tables(newest) if newest else None)


def _rate(plan: Plan, log: StreamLog, *, whole: bool) -> float:
    """Return the rows a second of a stream; the log may hold rows from a time when another share was kept."""
    rows, span_s = log.rows, _span_s(log)
    declared = plan.network.stream_by_name[log.definition.name].rate
    rate = rows / span_s if span_s > 0 else 0.0 if log.ended else float(declared or RATE)
    return rate * (1.0 if whole else log.box.keep) / (_kept_share(log) if span_s > 0 else 1.0)


def _kept_share(log: StreamLog) -> float:
    """Return the share that was kept of the rows among which those of a log are."""
    first, last = log.chunks[0].table, log.chunks[-1].table
    share = log.box.mean(int(numbers(first, seq(0))[0]), int(numbers(last, seq(0))[-1]) + 1)
    return max(share, _LEAST_SHARE)


def _span_s(log: StreamLog) -> float:
    """Return over how much time the rows of a log spread."""
    if not log.chunks:
        return 0.0
    return (max(chunk.last_time for chunk in log.chunks) - min(chunk.first_time for chunk in log.chunks)) / 1e6


def _dot(rows: Sequence[int], costs: Sequence[float]) -> float:
    return sum(some * cost for some, cost in zip(rows, costs, strict=True))


def _change(name: str, found: ProbePlan) -> str:
    names = names_of(found.join)
    told = [
        f"a row of {names[port]} probes {', '.join(names[each] for each in order)}"
        for port, order in enumerate(found.best)
        if order != found.current[port]
    ]
    return f"{name} goes on in other orders: {'; '.join(told)}"
