"""The two plans of P04 §6.1: four filters, and a plan with a window join of 200 ms.

    filters    O4 (0.25, 0.2) → O3 (0.5, 0.9) → O2 (0.5, 0.9) → O1 (2, 1)          as (cost, selectivity)
    join       left → O4 (0.25, 0.2), right → O3 (0.25, 0.2), both → O2 (1, about 0.4 per tuple) → O1 (2, 1)

O1 is the root, and its selectivity is 1 in the paper; the other figures, and the shape of the second plan, are
lost with the image of Figure 6.1 and are ours. They are chosen so that single policies behave as in Figure 6.2,
with bursts that exceed the processor: leaves are cheap and drop most tuples, so Chain and MTIQ run them first,
while tuples that passed wait for a slow root; FIFO serves those in time, and lets the leaves' queues grow. (With
expensive leaves that pass nearly everything, as in Table 1.1, Chain is FIFO from leaf to root, and the policies
do not differ.) `load` scales the costs. The join does not wait for an empty input.
"""

from penstock.network import NetworkBuilder, Window
from penstock.workloads.arrivals import Arrivals
from penstock.workloads.checks import generator
from penstock.workloads.populations.population import Population, rate_known, scaled
from penstock.workloads.redrawn import Redrawn

FILTERS = (("O4", 0.25, 0.2), ("O3", 0.5, 0.9), ("O2", 0.5, 0.9), ("O1", 2.0, 1.0))
LEFT, RIGHT, JOIN, ROOT = (0.25, 0.2), (0.25, 0.2), (1.0, 0.1), 2.0
WINDOW_S = 0.2
RATE = 100.0
NOTE = "The figures of the operators are lost with the image; these, the rate and the load are ours."


def p04_filters(load: float = 0.9, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return plan 1, four filters in a row. Nothing is random: the `seed` is ignored.

    >>> [operator.name for operator in p04_filters().network.operators]
    ['O4', 'O3', 'O2', 'O1']
    """
    generator(seed)  # raises if it is not a valid seed
    process = Redrawn(RATE) if arrivals is None else arrivals
    build = NetworkBuilder()
    below = stream = build.stream("s", rate_known(process))
    for name, cost, selectivity in FILTERS:
        below = build.operator(name, below, cost=cost, selectivity=selectivity)
    build.query("q1", below)
    return Population("p04_filters", scaled(build.build(), load), {stream: process}, note=NOTE)


def p04_join(load: float = 0.9, seed: int = 1, arrivals: Arrivals | None = None) -> Population:
    """Return plan 2, a window join of two filtered streams.

    At 100 tuples per second, windows hold 4 tuples of each side; one pair in ten matches.

    >>> net = p04_join().network
    >>> [(str(path), round(net.S(path), 2)) for path in net.paths]
    [('q1: left → O4 → O2 → O1', 0.08), ('q1: right → O3 → O2 → O1', 0.08)]
    """
    generator(seed)
    process = Redrawn(RATE) if arrivals is None else arrivals
    build = NetworkBuilder()
    streams = [build.stream(side, rate_known(process)) for side in ("left", "right")]
    filters = [
        build.operator(name, side, cost=cost, selectivity=selectivity)
        for name, side, (cost, selectivity) in zip(("O4", "O3"), streams, (LEFT, RIGHT), strict=True)
    ]
    held = [Window("range", WINDOW_S)] * 2
    join = build.join("O2", filters, cost=JOIN[0], selectivity=JOIN[1], windows=held)
    build.query("q1", build.operator("O1", join, cost=ROOT, kind="project"))
    return Population("p04_join", scaled(build.build(), load), dict.fromkeys(streams, process), note=NOTE)
