"""Probe orders: the cheapest order in which a row probes a join's windows, by rates and keys of a sample."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import PlanError
from penstock.network import Window
from penstock.optimizer import JoinProblem, ProbeCosts, Probing
from penstock.optimizer.probing import Orders
from penstock.plan.plan import Plan
from penstock.plan.steps import Condition, Join

COSTS = ProbeCosts(row=1e-9, pair=5e-9, result=1.2e-6)
"""Seconds assumed until a join is measured: fitted to 180 jobs of joins of four streams on two cores."""
EQUAL, OTHER = 0.1, 1 / 3
"""Default selectivities of conditions: equal columns, and everything else."""
SAMPLE_ROWS = 20_000
"""The newest rows of a log, whose keys are counted."""
_LEAST = 1e-9

Places = tuple[tuple[int, ...], ...]
"""For each port of a join, the others in the order in which its rows probe them."""


@dataclass(frozen=True)
class StreamSample:
    """Rate of a stream, in rows per second of its time, and some of its rows."""

    rate: float
    rows: pa.Table | None = None


@dataclass(frozen=True)
class JoinSummary:
    """Probe orders of a join, for the rows of each stream, and their utilisations.

    Utilisations are shares of the machine at the streams' rates: in the current orders, in the optimizer's
    (`at_best`), and in the script's (`as_written`).
    """

    orders: Mapping[str, tuple[str, ...]]
    utilization: float
    best: Mapping[str, tuple[str, ...]]
    at_best: float
    written: Mapping[str, tuple[str, ...]]
    as_written: float
    rates: Mapping[str, float]
    selectivities: Mapping[str, float]


@dataclass(frozen=True)
class ProbePlan:
    """The cheapest, written and current probe orders of a join, with their costs."""

    join: Join
    probing: Probing

    @property
    def best(self) -> Places:
        """The cheapest orders."""
        streams = self.probing.problem.streams
        return tuple(tuple(map(streams.index, self.probing.best[name])) for name in streams)

    @property
    def written(self) -> Places:
        """The orders of the script: as written, connected streams first."""
        return tuple(map(self.join.written_from, range(len(self.join.ports))))

    @property
    def current(self) -> Places:
        """The current orders of the join."""
        return tuple(map(self.join.order_from, range(len(self.join.ports))))

    def utilization(self, places: Places) -> float:
        """Return the share of a processor that rows take in these orders, at their streams' rates."""
        return self.probing.utilization(self.named(places))

    def row_costs(self, places: Places) -> tuple[float, ...]:
        """Return the seconds per row of each port in these orders."""
        rates = self.probing.problem.rates
        return tuple(
            self.probing.utilization({name: order}) / float(rates[name])
            for name, order in self.named(places).items()
        )

    def expected(self, measured: Sequence[float], places: Places, row_share: float = 1.0) -> tuple[float, ...]:
        """Return the expected costs per row of each port in these orders, from those measured in the current ones.

        Orders that are cheaper in the model scale the measured cost down. For more expensive ones, the additional
        cost of the model is scaled by (measured ÷ modelled) to the power of the share of the measured time that
        scanning windows took. `row_share` is the share of the jobs' time that rows took.
        """
        found = []
        model, other, results = self.row_costs(self.current), self.row_costs(places), self._result_costs
        for cost, now, then, result in zip(measured, model, other, results, strict=True):
            scanning = row_share * (now - result) / now
            more = (then - now) * (cost / now) ** scanning
            found.append(cost + more if then > now else cost * then / now)
        return tuple(found)

    @property
    def _result_costs(self) -> list[float]:
        """Seconds that the results of a row of each port take, in any order."""
        return [self.probing.results(name) * self.probing.costs.result for name in self.probing.problem.streams]

    def named(self, places: Places) -> Orders:
        """Return the orders by names of ports."""
        streams = self.probing.problem.streams
        return {name: tuple(streams[each] for each in order) for name, order in zip(streams, places, strict=True)}

    def summarized(self, chosen: Places, utilization: Callable[[Places], float]) -> JoinSummary:
        """Return a summary of these orders beside the best and the written ones."""
        problem = self.probing.problem
        return JoinSummary(
            orders=self.named(chosen),
            utilization=utilization(chosen),
            best=self.named(self.best),
            at_best=utilization(self.best),
            written=self.named(self.written),
            as_written=utilization(self.written),
            rates={name: float(rate) for name, rate in problem.rates.items()},
            selectivities={
                f"{one},{other}": float(share) for (one, other), share in problem.selectivities.items()
            },
        )

    @property
    def arriving(self) -> float:
        """Rows per second that reach the join and probe."""
        return sum(map(float, self.probing.problem.rates.values()))


def names_of(join: Join) -> tuple[str, ...]:
    """Return the names of a join's ports: the stream's name, with its position if FROM has the stream twice."""
    streams = [port.stream for port in join.ports]
    return tuple(
        stream if streams.count(stream) == 1 else f"{stream}#{place}" for place, stream in enumerate(streams)
    )


def planned(
    plan: Plan,
    name: str,
    samples: Sequence[StreamSample],
    spans: Sequence[float],
    measured: Callable[[str], float | None] = lambda name: None,
) -> ProbePlan | None:
    """Return the probe plan of a join; None if its cost cannot be computed.

    There is a sample for each port, and a span: the seconds of rows that a job serves at once. `measured` returns
    the measured selectivity of a selection before the join; without one, the plan's is used.
    """
    join = plan.join(name)
    names = names_of(join)
    rates, windows = {}, {}
    for name, port, sample in zip(names, join.ports, samples, strict=True):
        shares = [measured(each) for each in port.path]
        share = prod(
            float(plan.network.operator(each).selectivity) if known is None else max(known, _LEAST)
            for each, known in zip(port.path, shares, strict=True)
        )
        rates[name] = max(sample.rate * share, _LEAST)
        if port.window.kind == "rows":
            size = max(port.window.size * share, _LEAST)
        else:
            size = max(port.window.size, 1) / 1e6
        windows[name] = Window(port.window.kind, size)
    pairs = _pairs(join.conditions)
    equal = {pair: _equal_share(some, samples) for pair, some in pairs.items()}
    others = {pair: OTHER ** sum(each.equal is None for each in some) for pair, some in pairs.items()}

    def by_name(of: Mapping[tuple[int, int], float]) -> dict[tuple[str, str], float]:
        return {(names[one], names[other]): share for (one, other), share in of.items()}

    try:
        problem = JoinProblem(
            rates=rates,
            windows=windows,
            selectivities=by_name({pair: equal[pair] * others[pair] for pair in pairs}),
            join_cost=COSTS.row,
        )
        found = ProbePlan(join, Probing(problem, by_name(equal), COSTS, dict(zip(names, spans, strict=True))))
        return found if found.best else None
    except PlanError:  # more streams than can be planned, or windows too large to count
        return None


def _pairs(conditions: Iterable[Condition]) -> dict[tuple[int, int], list[Condition]]:
    """Return the conditions between two ports, by pair of ports."""
    found: dict[tuple[int, int], list[Condition]] = {}
    for condition in conditions:
        if len(condition.ports) == 2:
            one, other = sorted(condition.ports)
            found.setdefault((one, other), []).append(condition)
    return found


def _equal_share(conditions: Iterable[Condition], samples: Sequence[StreamSample]) -> float:
    """Return the share of pairs of rows with equal keys: counted in the samples, if there are any."""
    share = 1.0
    keys: list[tuple[tuple[int, str], tuple[int, str]]] = []
    for condition in conditions:
        if condition.equal is None:
            continue
        left, right = sorted(condition.equal)
        if all(_has(samples[port], column) for port, column in (left, right)):
            keys.append((left, right))
        else:
            share *= EQUAL
    if keys:
        try:
            both = [_comparable(*(_column(samples[port], name) for port, name in pair)) for pair in keys]
            share *= _matching(*(_counted(side) for side in zip(*both, strict=True)))
        except pa.ArrowException:  # types that Spark can compare but Arrow cannot
            share *= EQUAL ** len(keys)
    return share


def _column(sample: StreamSample, name: str) -> pa.ChunkedArray:
    assert sample.rows is not None
    return sample.rows.column(name)


def _has(sample: StreamSample, column: str) -> bool:
    return sample.rows is not None and sample.rows.num_rows > 0 and column in sample.rows.column_names


def _counted(keys: Sequence[pa.ChunkedArray]) -> pa.Table:
    """Return the number of rows of each key."""
    table = pa.table(keys, [f"k{place}" for place in range(len(keys))])
    return table.group_by(table.column_names).aggregate([([], "count_all")])


def _comparable(left: pa.ChunkedArray, right: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return two columns in one type; numbers of different types as floats, with -0.0 as 0.0."""
    if left.type == right.type and not pa.types.is_floating(left.type):
        return left, right
    if all(map(_is_number, (left.type, right.type))):
        return tuple(pc.add(each.cast(pa.float64(), safe=False), 0.0) for each in (left, right))
    return left, right.cast(left.type, safe=False)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _matching(left: pa.Table, right: pa.Table) -> float:
    """Return the share of pairs with equal keys; if there is none, half a pair is assumed."""
    pairs = float(pc.sum(left.column("count_all")).as_py()) * float(pc.sum(right.column("count_all")).as_py())
    keys = [name for name in left.column_names if name != "count_all"]
    both = left.join(right, keys=keys, join_type="inner", right_suffix="_right")
    found = pc.sum(pc.multiply(both.column("count_all"), both.column("count_all_right"))).as_py() or 0
    return max(found, 0.5) / pairs
