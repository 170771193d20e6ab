"""Many heterogeneous queries over one stream or two (SCLP08 §8, §9.1.12, §9.4).

    cost of an operator = K · 2^i, i in 0 … 4        Σ C_i = load ÷ rate sets K

Each query is a select, a join and a project (selectivity 1). It has one selectivity, uniform in 0.1 … 1.0, for
select and join, and one cost class i for all its operators. The paper's trace (LBL-PKT-4) is not available; bursty
ON/OFF arrivals replace it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.errors import ArrivalError
from penstock.network import NetworkBuilder, Window
from penstock.workloads.arrivals import Arrivals
from penstock.workloads.bursty import Bursty
from penstock.workloads.checks import generator, number, whole
from penstock.workloads.poisson import Poisson
from penstock.workloads.populations.population import Population, Predicate, rate_known, scaled

COST_CLASSES = 5
MOST_QUERIES = 100_000
SHORTEST_WINDOW, LONGEST_WINDOW = 1.0, 10.0
SUBSTITUTE = "Bursty ON/OFF arrivals stand for LBL-PKT-4, which is not to be had."


@dataclass(frozen=True)
class QueryClass:
    """The class of a query: the cost class `i` and the selectivity of its operators."""

    i: int
    selectivity: float

    @property
    def cost(self) -> float:
        """Time per tuple in units of K."""
        return float(2**self.i)

    @property
    def label(self) -> str:
        """The cost class and the tenth of the selectivity; 1.0 belongs to the last.

        >>> QueryClass(0, 0.15).label, QueryClass(4, 1.0).label
        ('cost 0, selectivity 0.1-0.2', 'cost 4, selectivity 0.9-1.0')
        """
        tenth = min(int(self.selectivity * 10), 9)
        return f"cost {self.i}, selectivity {tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"


def sclp08(
    queries: int = 500,
    load: float = 0.97,
    seed: int = 1,
    arrivals: Arrivals | None = None,
    same_cost: bool = False,
    least_selectivity: float = 0.1,
    max_selectivity: float = 1.0,
    predicates: bool = False,
) -> Population:
    """Return queries of select, join with a stored relation, and project (§8).

    With `same_cost` all are of class 0 (§9.1.10, which also lowers `max_selectivity`). With `predicates` each
    select reads attribute 0 and each join attribute 1, from a random value on (§9.5); without, every tuple's
    fate is drawn for each query.

    >>> small = sclp08(queries=2, load=0.5)
    >>> [operator.name for operator in small.network.operators]
    ['q1.select', 'q1.join', 'q1.project', 'q2.select', 'q2.join', 'q2.project']
    >>> small.classes
    {'q1': 'cost 0, selectivity 0.5-0.6', 'q2': 'cost 0, selectivity 0.9-1.0'}
    """
    random = generator(seed)
    drawn = _classes(random, _count(queries), same_cost, least_selectivity, max_selectivity)
    process = Bursty(rate=100) if arrivals is None else arrivals
    build = NetworkBuilder()
    stream = build.stream("s", rate_known(process))
    for name, own in drawn.items():
        select = build.operator(f"{name}.select", stream, cost=own.cost, selectivity=own.selectivity)
        _join_and_project(build, name, select, own)
    return Population(
        "sclp08",
        scaled(build.build(), load),
        {stream: process},
        _labels(drawn),
        _predicates(random, [f"{name}.select" for name in drawn], [*drawn]) if predicates else {},
        note=SUBSTITUTE,
    )


def sclp08_shared(
    queries: int = 500,
    load: float = 0.97,
    seed: int = 1,
    arrivals: Arrivals | None = None,
    same_cost: bool = False,
    least_selectivity: float = 0.1,
    max_selectivity: float = 1.0,
    predicates: bool = False,
    group: int = 10,
) -> Population:
    """Return the same queries in random groups, each of which has one select for all its members (§9.4).

    The select of a group is executed once for all members, and has its own class; the paper does not say which.
    Joins and projects have the class of their query. If `group` does not divide `queries`, the last group is
    smaller.

    >>> len(sclp08_shared(queries=20).network.operators)  # 2 selects, 20 joins, 20 projects
    42
    """
    random = generator(seed)
    count, members = _count(queries), whole(group, "the size of a group", least=1)
    drawn = _classes(random, count, same_cost, least_selectivity, max_selectivity)
    selects = _classes(random, -(-count // members), same_cost, least_selectivity, max_selectivity, "g")
    place = dict(zip(drawn, random.permutation(count).tolist(), strict=True))
    process = Bursty(rate=100) if arrivals is None else arrivals
    build = NetworkBuilder()
    stream = build.stream("s", rate_known(process))
    for name, shared in selects.items():
        build.operator(f"{name}.select", stream, cost=shared.cost, selectivity=shared.selectivity)
    for name, own in drawn.items():
        _join_and_project(build, name, f"g{place[name] // members + 1}.select", own)
    return Population(
        "sclp08_shared",
        scaled(build.build(), load),
        {stream: process},
        _labels(drawn),
        _predicates(random, [f"{name}.select" for name in selects], [*drawn]) if predicates else {},
        note=f"{SUBSTITUTE} A group's select has a cost class and a selectivity of its own.",
    )


def sclp08_two_streams(
    queries: int = 500,
    load: float = 0.9,
    seed: int = 1,
    arrivals: Arrivals | None = None,
    same_cost: bool = False,
    least_selectivity: float = 0.1,
    max_selectivity: float = 1.0,
    rate: float = 1.0,
) -> Population:
    """Return queries that join two Poisson streams in time windows (§9.1.12).

    Each has a select on either side, a join with one window of 1 … 10 s for both, and a project. Its selectivity
    is also that of the join's predicate, so a join has more than one output per tuple if windows are long.
    The paper does not print the rate; with one per second, windows hold about as many tuples as they have seconds.

    >>> two = sclp08_two_streams(queries=1)
    >>> [operator.name for operator in two.network.operators], [*two.arrivals]
    (['q1.left', 'q1.right', 'q1.join', 'q1.project'], ['left', 'right'])
    """
    random = generator(seed)
    drawn = _classes(random, _count(queries), same_cost, least_selectivity, max_selectivity)
    windows = random.uniform(SHORTEST_WINDOW, LONGEST_WINDOW, len(drawn)).tolist()
    process = Poisson(rate) if arrivals is None else arrivals
    build = NetworkBuilder()
    streams = [build.stream(side, rate_known(process)) for side in ("left", "right")]
    for (name, own), seconds in zip(drawn.items(), windows, strict=True):
        sides = [
            build.operator(f"{name}.{side}", side, cost=own.cost, selectivity=own.selectivity) for side in streams
        ]
        held = [Window("range", seconds)] * 2
        join = build.join(f"{name}.join", sides, cost=own.cost, selectivity=own.selectivity, windows=held)
        build.query(name, build.operator(f"{name}.project", join, cost=own.cost, kind="project"))
    return Population(
        "sclp08_two_streams",
        scaled(build.build(), load),
        dict.fromkeys(streams, process),
        _labels(drawn),
        note="The rate is ours; select and join predicate have one selectivity, both windows one length.",
    )


def _classes(
    random: np.random.Generator, count: int, same_cost: bool, least: float, most: float, letter: str = "q"
) -> dict[str, QueryClass]:
    low = number(least, "least_selectivity", above=0)
    high = number(most, "max_selectivity", at_least=low)
    if high > 1:
        raise ArrivalError(f"max_selectivity must be at most 1, not {high:g}")
    selectivities = random.uniform(low, high, count).tolist()
    costs = random.integers(0, COST_CLASSES, count).tolist()
    return {
        f"{letter}{place}": QueryClass(0 if same_cost else i, selectivity)
        for place, (i, selectivity) in enumerate(zip(costs, selectivities, strict=True), start=1)
    }


def _join_and_project(build: NetworkBuilder, name: str, source: str, own: QueryClass) -> None:
    join = build.operator(f"{name}.join", source, cost=own.cost, selectivity=own.selectivity, kind="lookup")
    build.query(name, build.operator(f"{name}.project", join, cost=own.cost, kind="project"))


def _predicates(
    random: np.random.Generator, selects: Sequence[str], queries: Sequence[str]
) -> dict[str, Predicate]:
    """Return the random start of the interval of every select (attribute 0) and join (attribute 1)."""
    columns = {**dict.fromkeys(selects, 0), **{f"{query}.join": 1 for query in queries}}
    lows = random.random(len(columns)).tolist()
    return {name: Predicate(column, low) for (name, column), low in zip(columns.items(), lows, strict=True)}


def _labels(drawn: dict[str, QueryClass]) -> dict[str, str]:
    return {name: own.label for name, own in drawn.items()}


def _count(queries: int) -> int:
    return whole(queries, "the number of queries", least=1, most=MOST_QUERIES)
