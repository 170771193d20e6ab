"""Sixteen queries of 116 operators over five self-similar streams (JC03 §5.1).

    joins    queries    operators of each
    0        4          1, 2, 3, 3: selects, and a project from two on
    1        4          7: two selects per stream, the join, a select, a project
    2        3          10: likewise
    3        3          9: one select per stream, the joins, a select, a project
    4        2          11: likewise

The paper prints the number of queries, operators and streams, the range of the queries (one select … four joins
over five streams), that selectivities are spread over 0 … 1 and that few joins have more outputs than inputs,
and the flows' Pareto parameters. The shapes above, the rates, the windows and the costs are ours. Joins are
left-deep, over randomly chosen streams.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from penstock.errors import ArrivalError
from penstock.network import NetworkBuilder, Window
from penstock.network.operator import Kind
from penstock.workloads.arrivals import Arrivals
from penstock.workloads.bursty import Bursty
from penstock.workloads.checks import generator, number, rate_of, whole
from penstock.workloads.phases import Phases
from penstock.workloads.populations.population import Population, rate_known, scaled

SHAPES = (
    *((0, 1, 0), (0, 1, 1), (0, 2, 1), (0, 2, 1)),
    *((1, 2, 2),) * 4,
    *((2, 2, 2),) * 3,
    *((3, 1, 2),) * 3,
    *((4, 1, 2),) * 2,
)
"""Joins, selects on each stream, and operators above the joins, the last of which is a project."""

STREAMS = 5
FLOWS = (64, 128)
FILTER_COSTS = (1.0, 4.0)
JOIN_COSTS = (4.0, 16.0)
"""Relative to each other; the load scales them to seconds."""

SELECTIVITIES = (0.1, 1.0)
LEAF_COSTS = (1.0, 2.0)
LEAF_SELECTIVITIES = (0.1, 0.5)
"""Of the lowest selects, with `selective_leaves`."""

EXPANDING = 9
"""One join in this many has more than one output per tuple: 1 … 2."""

WINDOWS = (1.0, 10.0)
RISING = (0.6, 0.8, 1.0, 1.2, 1.4)
Range: TypeAlias = tuple[float, float]
NOTE = "Shapes, rates, windows and costs of the queries are ours: the paper prints only how many there are."


def jc03(
    load: float = 0.9,
    seed: int = 1,
    arrivals: Arrivals | None = None,
    rate: float = 20.0,
    selective_leaves: bool = False,
    rows: int | None = None,
) -> Population:
    """Return the sixteen queries; stream i of five has the average rate i × `rate`, in 64 or 128 flows.

    >>> jc = jc03()
    >>> len(jc.network.queries), len(jc.network.operators), [*jc.arrivals]
    (16, 116, ['s1', 's2', 's3', 's4', 's5'])
    """
    streams = [_bursty(place, rate) if arrivals is None else arrivals for place in range(STREAMS)]
    return _population("jc03", streams, load, seed, selective_leaves, rows)


def jc03_phases(
    load: float = 0.9,
    seed: int = 1,
    arrivals: Arrivals | None = None,
    rate: float = 20.0,
    rising: Sequence[float] = RISING,
    seconds: float = 1000.0,
    selective_leaves: bool = False,
    rows: int | None = None,
) -> Population:
    """Return the same queries under rates that are raised phase by phase, `seconds` each (JC03 §5.2).

    `rising` are the phases' rates relative to their mean, which is the stream's rate in the network: at that
    rate the load is `load`. With `arrivals`, every phase has the same arrivals.

    >>> jc = jc03_phases(rising=(1, 3), seconds=10)
    >>> jc.arrivals["s1"].rate, [process.rate for process, _ in jc.arrivals["s1"].phases]
    (20.0, [10.0, 30.0])
    """
    if not isinstance(rising, Sequence) or isinstance(rising, str) or not rising:
        raise ArrivalError(f"rising must be a list of relative rates, one per phase, not {rising!r}")
    factors = [number(factor, f"rate {place} of rising", above=0) for place, factor in enumerate(rising, start=1)]
    mean = sum(factors) / len(factors)
    rates = [rate_of(rate, "the first stream") * factor / mean for factor in factors]
    processes = []
    for place in range(STREAMS):
        phases = [(_bursty(place, own) if arrivals is None else arrivals, seconds) for own in rates]
        processes.append(Phases(tuple(phases), repeat=False))
    return _population("jc03_phases", processes, load, seed, selective_leaves, rows)


def _bursty(place: int, rate: float) -> Bursty:
    """Return stream number `place`, from 0: the alphas of JC03, which are the defaults of `Bursty`."""
    return Bursty(rate_of(rate, "the first stream") * (place + 1), flows=FLOWS[place % len(FLOWS)])


def _population(
    name: str, processes: Sequence[Arrivals], load: float, seed: int, selective_leaves: bool, rows: int | None
) -> Population:
    arrivals = {f"s{place}": process for place, process in enumerate(processes, start=1)}
    held = None if rows is None else whole(rows, "the rows of a window", least=1)
    rates = {stream: rate_known(process) for stream, process in arrivals.items()}
    drawn = _Drawn(rates, generator(seed), selective_leaves, held)
    classes = {}
    for place, (joins, selects, above) in enumerate(SHAPES, start=1):
        drawn.query(f"q{place}", joins, selects, above)
        classes[f"q{place}"] = f"{joins} join" if joins == 1 else f"{joins} joins"
    return Population(name, scaled(drawn.build.build(), load), arrivals, classes, note=NOTE)


class _Drawn:
    """Draws random queries into a builder, and keeps the rate of every part."""

    def __init__(
        self, streams: dict[str, float], random: np.random.Generator, selective_leaves: bool, rows: int | None
    ) -> None:
        self.random, self.build, self.rates = random, NetworkBuilder(), dict(streams)
        self.leaf = (LEAF_COSTS, LEAF_SELECTIVITIES) if selective_leaves else (FILTER_COSTS, SELECTIVITIES)
        self.rows = rows
        self.joins = 0
        self.streams = [self.build.stream(name, rate) for name, rate in streams.items()]

    def query(self, name: str, joins: int, selects: int, above: int) -> None:
        """Draw a left-deep query over as many streams as it needs."""
        chosen = self.random.permutation(len(self.streams))[: joins + 1].tolist()
        sides = []
        for side in (self.streams[place] for place in chosen):
            below = side
            for step in range(1, selects + 1):
                costs, passing = self.leaf if step == 1 else (FILTER_COSTS, SELECTIVITIES)
                below = self.filter(f"{name}.{side}.select{step}", below, costs, passing)
            sides.append(below)
        root = sides[0]
        for place, side in enumerate(sides[1:], start=1):
            root = self.join(f"{name}.join{place}", root, side)
        for step in range(1, above):
            root = self.filter(f"{name}.select{step}", root, FILTER_COSTS, SELECTIVITIES)
        if above:
            root = self.filter(f"{name}.project", root, FILTER_COSTS, (1.0, 1.0), "project")
        self.build.query(name, root)

    def filter(self, name: str, source: str, costs: Range, passing: Range, kind: Kind = "select") -> str:
        """Draw a select, or a project that passes everything."""
        cost, selectivity = self.random.uniform(*costs), self.random.uniform(*passing)
        self.rates[name] = selectivity * self.rates[source]
        return self.build.operator(name, source, cost=cost, selectivity=selectivity, kind=kind)

    def join(self, name: str, left: str, right: str) -> str:
        """Draw a join by its outputs per tuple: f · 2 λ_L λ_R V ÷ (λ_L + λ_R), or f · rows; f ≤ 1."""
        seconds = self.random.uniform(*WINDOWS)
        self.joins += 1
        makes = self.random.uniform(*SELECTIVITIES) if self.joins % EXPANDING else self.random.uniform(1.0, 2.0)
        arriving = self.rates[left] + self.rates[right]
        window = Window("range", seconds) if self.rows is None else Window("rows", self.rows)
        matching = 2 * self.rates[left] * self.rates[right] * seconds
        pairs = matching if self.rows is None else self.rows * arriving
        selectivity = min(1.0, makes * arriving / pairs)
        self.rates[name] = selectivity * pairs
        return self.build.join(
            name,
            [left, right],
            cost=self.random.uniform(*JOIN_COSTS),
            selectivity=selectivity,
            windows=[window] * 2,
        )
