"""Chain's five plans (BBDM03 §5): operators on whose progress charts the policies differ.

    plan          operators, as (cost, selectivity)                                                    chains
    two           fast and selective (1, 0.2), slow (5, ·)                                             1 | 2
    four          (1, 0.8), unproductive (1.5, 0.9), fast and very selective (0.1, 0.1), slow (10, ·)  1 2 3 | 4
    lookup        the same, but the second joins a stored relation: (1.5, 1.5)                         1 2 3 | 4
    join          R: σ1 (1, 0.8); R ⋈ S (1.5, 1 a tuple); σ2 (0.1, 0.1); σ3 slow (10, ·)               σ1 ⋈ σ2 | σ3
    three         join, and two plans like four, one on either stream

The digits of the paper are damaged, so the figures are ours, chosen so that its statements hold: on the first
plan greedy is the same as chain (each operator is a chain), and on the others greedy ranks the operator before
the fast and selective one last, which keeps tuples from it. `load` scales the costs. Results leave at once, so
the selectivity of a root does not matter for memory; it is one half.
"""

from collections.abc import Sequence

from penstock.network import NetworkBuilder, Window
from penstock.workloads.arrivals import Arrivals
from penstock.workloads.checks import generator
from penstock.workloads.flows import Flows
from penstock.workloads.populations.population import Population, rate_known, scaled

TWO = ((1.0, 0.2), (5.0, 0.5))
FOUR = ((1.0, 0.8), (1.5, 0.9), (0.1, 0.1), (10.0, 0.5))
FOUR_TOO = ((0.8, 0.7), (1.2, 0.95), (0.2, 0.15), (8.0, 0.5))
LOOKUP = ((1.0, 0.8), (1.5, 1.5), (0.1, 0.1), (10.0, 0.5))
BEFORE_JOIN, JOIN_COST, AFTER_JOIN = (1.0, 0.8), 1.5, ((0.1, 0.1), (10.0, 0.5))
ROWS = 100
"""Tuples in a window of the join; a tuple matches one of them on average."""

RATE = 100.0
NOTE = "The paper's digits are damaged: costs, selectivities, windows, load and the flows' figures are ours."


def bbdm03_two(load: float = 0.95, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return a fast selective operator and a slow one. Nothing is random: the `seed` is ignored.

    >>> net = bbdm03_two().network
    >>> [(chain.start, chain.stop) for chain in net.envelope(net.paths[0])]
    [(0, 1), (1, 2)]
    """
    return _one_stream("bbdm03_two", TWO, load, seed, arrivals)


def bbdm03_four(load: float = 0.95, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return four operators, of which the third is fast and very selective.

    >>> net = bbdm03_four().network
    >>> [(chain.start, chain.stop) for chain in net.envelope(net.paths[0])]
    [(0, 3), (3, 4)]
    """
    return _one_stream("bbdm03_four", FOUR, load, seed, arrivals)


def bbdm03_lookup(load: float = 0.95, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return four operators, of which the second joins a stored relation and has a selectivity above 1."""
    return _one_stream("bbdm03_lookup", LOOKUP, load, seed, arrivals)


def bbdm03_join(load: float = 0.95, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return a sliding-window join of two streams, a selection before it and two after it.

    >>> net = bbdm03_join().network
    >>> [str(path) for path in net.paths]
    ['q1: r → q1.before → q1.join → q1.after1 → q1.after2', 'q1: s → q1.join → q1.after1 → q1.after2']
    """
    return _two_streams("bbdm03_join", (), load, seed, arrivals)


def bbdm03_three(load: float = 0.95, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return the join and two plans of four operators, on stream r and on stream s."""
    return _two_streams("bbdm03_three", (("r", FOUR), ("s", FOUR_TOO)), load, seed, arrivals)


Figures = Sequence[tuple[float, float]]
"""(cost, selectivity) of operators, leaf first."""


def _one_stream(name: str, figures: Figures, load: float, seed: int, arrivals: Arrivals | None) -> Population:
    generator(seed)  # raises if it is not a valid seed
    process = Flows(RATE) if arrivals is None else arrivals
    build = NetworkBuilder()
    stream = build.stream("s", rate_known(process))
    build.query("q1", _chain(build, "q1.o", stream, figures))
    return Population(name, scaled(build.build(), load), {stream: process}, note=NOTE)


def _two_streams(
    name: str, others: Sequence[tuple[str, Figures]], load: float, seed: int, arrivals: Arrivals | None
) -> Population:
    generator(seed)
    process = Flows(RATE) if arrivals is None else arrivals
    build = NetworkBuilder()
    streams = [build.stream(stream, rate_known(process)) for stream in ("r", "s")]
    cost, selectivity = BEFORE_JOIN
    before = build.operator("q1.before", "r", cost=cost, selectivity=selectivity)
    held = [Window("rows", ROWS)] * 2
    join = build.join("q1.join", [before, "s"], cost=JOIN_COST, selectivity=1 / ROWS, windows=held)
    build.query("q1", _chain(build, "q1.after", join, AFTER_JOIN))
    for place, (stream, figures) in enumerate(others, start=2):
        build.query(f"q{place}", _chain(build, f"q{place}.o", stream, figures))
    processes = dict.fromkeys(streams, process)
    return Population(name, scaled(build.build(), load), processes, blocking=True, note=NOTE)


def _chain(build: NetworkBuilder, prefix: str, source: str, figures: Figures) -> str:
    for place, (cost, selectivity) in enumerate(figures, start=1):
        source = build.operator(
            f"{prefix}{place}",
            source,
            cost=cost,
            selectivity=selectivity,
            kind="lookup" if selectivity > 1 else "select",
        )
    return source
