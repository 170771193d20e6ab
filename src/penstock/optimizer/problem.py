"""`JoinProblem`: a join of several streams as numbers: rates, windows, selectivities, costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import PlanError, nearest
from penstock.network import Number, Window, checked
from penstock.optimizer.filters import Filter, by_rank, checked_share

MOST_STREAMS = 16
"""Tables over all subsets of the streams are held in memory: 65,536 rows for this many."""


@dataclass(frozen=True)
class JoinMethod:
    """A join method for one side of a join: AN04 (8), with L and R corrected. Costs are seconds per tuple.

    `probe` finds the matches of a tuple from the other side, plus `scan` for each tuple in the window (nested
    loops; 0 for hashing); `insert` and `invalidate` add and remove a tuple of this side.
    """

    name: str
    probe: Number = 0.0
    insert: Number = 0.0
    invalidate: Number = 0.0
    scan: Number = 0.0

    def __post_init__(self) -> None:
        for what in ("probe", "insert", "invalidate", "scan"):
            value = checked(getattr(self, what), f"{what} of method {self.name!r}", at_least=0, error=PlanError)
            object.__setattr__(self, what, value)
        if not (self.probe or self.scan):
            raise PlanError(f"method {self.name!r} has no cost of probing; give it a probe or a scan cost")


@dataclass(frozen=True)
class JoinProblem:
    """A join of streams: `rates` (tuples per second), `windows`, and `selectivities` of predicates.

    A window is a number of tuples, or a `Window`: of rows or, with its size in seconds, of a range of time.
    Streams without a predicate between them are joined as a product.

    A tuple takes `join_cost` seconds at each join that it passes; with `methods` instead, each side of each join
    uses the cheapest of them. `filters` run before tuples enter the windows, but a window of rows counts all
    tuples. The plan may use `capacity` of a processor, less the share `headroom` of it; if it gets only a
    `share` of the time, everything takes longer accordingly.

    >>> problem = JoinProblem({"A": 10, "B": 70}, {"A": 10, "B": 10}, {("A", "B"): 0.5}, join_cost=0.003)
    >>> problem.streams
    ('A', 'B')
    """

    rates: Mapping[str, Number]
    windows: Mapping[str, Any]
    selectivities: Mapping[tuple[str, str], Number] = field(default_factory=dict)
    join_cost: Number | None = None
    methods: Sequence[JoinMethod] = ()
    filters: Mapping[str, Sequence[Filter]] = field(default_factory=dict)
    capacity: Number = 1.0
    headroom: Number = 0.0
    share: Number = 1.0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rates", _rates(self.rates))
        put(self, "windows", _windows(self.windows, self.streams))
        put(self, "selectivities", _selectivities(self.selectivities, self.streams))
        if not isinstance(self.methods, Sequence):
            raise PlanError(f"the methods must be a list of JoinMethod values, not {self.methods!r}")
        put(self, "methods", tuple(self.methods))
        _check_methods(self.join_cost, self.methods)
        put(self, "filters", _filters(self.filters, self.streams))
        put(self, "capacity", checked(self.capacity, "the capacity", above=0, error=PlanError))
        headroom = checked(self.headroom, "the headroom", at_least=0, error=PlanError)
        if headroom >= 1:
            raise PlanError(f"the headroom must be below 1, not {headroom}: nothing would be left to use")
        put(self, "headroom", headroom)
        if not self.budget > 0:
            raise PlanError(f"a headroom of {headroom} leaves nothing to use")
        put(self, "share", checked_share(self.share, "the share of the processor"))

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams, in the given order."""
        return tuple(self.rates)

    @property
    def join_methods(self) -> tuple[JoinMethod, ...]:
        """The methods that a side of a join can choose from."""
        if self.join_cost is not None:
            return (JoinMethod("join", probe=self.join_cost),)
        return tuple(self.methods)

    @property
    def budget(self) -> float:
        """The maximum utilization of a plan."""
        return float(self.capacity) * (1 - float(self.headroom))

    @property
    def is_timed(self) -> bool:
        """Whether a window is a range of time: dropping tuples then also reduces what windows hold."""
        return any(window.kind == "range" for window in self.windows.values() if isinstance(window, Window))

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """The connected parts of the join graph; several parts are joined as a product."""
        part = {name: {name} for name in self.streams}
        for one, other in self.selectivities:
            if part[one] is not part[other]:
                part[one] |= part[other]
                for name in part[other]:
                    part[name] = part[one]
        return tuple(dict.fromkeys(tuple(n for n in self.streams if n in part[name]) for name in self.streams))


def _rates(rates: object) -> Mapping[str, Number]:
    if not isinstance(rates, Mapping):
        raise PlanError(f"the rates must be a mapping of streams to tuples per second, not {rates!r}")
    for name in rates:
        if not isinstance(name, str) or not name.strip():
            raise PlanError(f"the name of a stream must be a non-empty string, not {name!r}")
    if len(rates) < 2:
        named = f" ({next(iter(rates))!r})" if rates else ""
        raise PlanError(f"a join needs at least two streams, not {len(rates)}{named}")
    if len(rates) > MOST_STREAMS:
        raise PlanError(f"a join can have at most {MOST_STREAMS} streams, not {len(rates)}")
    found = {n: checked(rate, f"the rate of stream {n!r}", above=0, error=PlanError) for n, rate in rates.items()}
    return dict(found)


def _windows(windows: object, streams: Sequence[str]) -> Mapping[str, Window]:
    if not isinstance(windows, Mapping):
        raise PlanError(f"the windows must be a mapping of streams to sizes, not {windows!r}")
    for name in windows:
        _check_known(name, streams, "the windows name")
    found = {}
    for name in streams:
        if name not in windows:
            raise PlanError(f"stream {name!r} has no window; without one, a join would have to keep every tuple")
        window = windows[name]
        if not isinstance(window, Window):
            window = Window("rows", checked(window, f"the window of stream {name!r}", above=0, error=PlanError))
        found[name] = window
    return dict(found)


def _selectivities(given: object, streams: Sequence[str]) -> Mapping[tuple[str, str], Number]:
    if not isinstance(given, Mapping):
        raise PlanError(f"the selectivities must be a mapping of pairs of streams to shares, not {given!r}")
    found: dict[tuple[str, str], Number] = {}
    seen: set[frozenset[str]] = set()
    for pair, value in given.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise PlanError(f"a predicate is between two streams, ('A', 'B'), not {pair!r}")
        for name in pair:
            _check_known(name, streams, f"the predicate {pair!r} names")
        if pair[0] == pair[1]:
            raise PlanError(f"the predicate {pair!r} is on one stream only; give that stream a filter")
        if frozenset(pair) in seen:
            raise PlanError(
                f"the predicate between {pair[0]!r} and {pair[1]!r} is given twice; multiply the selectivities"
            )
        seen.add(frozenset(pair))
        found[pair] = checked_share(value, f"the selectivity of the predicate {pair!r}")
    return dict(found)


def _check_methods(join_cost: object, methods: Sequence[JoinMethod]) -> None:
    if (join_cost is None) == (not methods):
        raise PlanError(
            "give either the join_cost or the methods of joins (on the command line: --cost 5ms), not both"
        )
    if join_cost is not None:
        checked(join_cost, "the join_cost", above=0, error=PlanError)
    for method in methods:
        if not isinstance(method, JoinMethod):
            raise PlanError(f"the methods must be JoinMethod values, not {method!r}")


def _filters(filters: object, streams: Sequence[str]) -> Mapping[str, tuple[Filter, ...]]:
    if not isinstance(filters, Mapping):
        raise PlanError(f"the filters must be a mapping of streams to lists of filters, not {filters!r}")
    for name, some in filters.items():
        _check_known(name, streams, "the filters name")
        if not isinstance(some, Sequence):
            raise PlanError(f"the filters of stream {name!r} must be a list of Filter values, not {some!r}")
        for each in some:
            if not isinstance(each, Filter):
                raise PlanError(f"the filters of stream {name!r} must be Filter values, not {each!r}")
    return {name: by_rank(filters.get(name, ())) for name in streams}


def _check_known(name: object, streams: Sequence[str], what: str) -> None:
    if name not in streams:
        raise PlanError(f"{what} {name!r}, which is not a stream.{nearest(name, streams)}")
