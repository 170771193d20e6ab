"""Random networks and arrivals in numbers that floats add without error: multiples of 1/64."""

import numpy as np

from penstock import NetworkBuilder, Window
from penstock.network import SlidingWindow

STEP = 1 / 64


def _cost(random):
    return int(random.integers(1, 128)) * STEP


def chains(random, same=False):
    """One to five queries of one to four filters over one or two streams; some of them alike."""
    build = NetworkBuilder()
    streams = [build.stream(f"s{i}", size=int(random.integers(1, 4))) for i in range(random.integers(1, 3))]
    alike = _cost(random)
    for query in range(random.integers(1, 6)):
        source = streams[random.integers(len(streams))]
        for place in range(random.integers(1, 5)):
            cost = alike if same else _cost(random)
            selectivity = 0.5 if same else float(random.choice([0.25, 0.5, 0.75, 1.0]))
            source = build.operator(f"q{query}.o{place}", source, cost=cost, selectivity=selectivity)
        build.query(f"q{query}", source)
    return build.build(), arrivals(random, streams)


def network(random, joins=True):
    """Shared operators, a stored-table join that makes several of one, and a window join with more above."""
    build = NetworkBuilder()
    streams = [build.stream(name, rate=1, size=int(random.integers(1, 4))) for name in "ab"]
    heads = []
    for index in range(random.integers(1, 4)):
        source = (streams + heads)[random.integers(len(streams + heads))]
        selectivity = float(random.choice([0.25, 0.5, 1.0]))
        heads.append(build.operator(f"f{index}", source, cost=_cost(random), selectivity=selectivity))
    if joins:
        pair = [(streams + heads)[random.integers(len(streams + heads))] for _ in range(2)]
        windows = [Window(str(random.choice(["range", "rows"])), int(random.integers(1, 5))) for _ in pair]
        cost = tuple(_cost(random) for _ in pair)
        made = build.join("j", pair, cost=cost, selectivity=0.5, windows=windows)
        heads.append(build.operator("above", made, cost=_cost(random), selectivity=0.75))
        if random.random() < 0.5:
            windows = [Window("range", 4), Window("range", 2)]
            heads.append(build.join("k", ["above", "b"], cost=_cost(random), selectivity=0.5, windows=windows))
    tables = build.operator("t", heads[-1], cost=_cost(random), selectivity=1.5, kind="lookup")
    for index, root in enumerate([*heads, build.operator("u", tables, cost=_cost(random), selectivity=0.5)]):
        build.query(f"q{index}", root)
    return build.build(), arrivals(random, streams)


def sliding(random, kind):
    """A window that tumbles, overlaps, or leaves gaps."""
    sizes = [1, 2, 3, 4] if kind == "rows" else [0.25, 0.5, 1, 1.5, 4]
    return SlidingWindow(kind, *(random.choice(sizes, size=2).tolist()))


def aggregates(random, joins=True):
    """Aggregates of time and of rows, some of which share partial rows, over streams, filters, a join and others.

    Above some is a HAVING, a lookup that makes several of one, or another aggregate; filters share the streams.
    """
    build = NetworkBuilder()
    streams = [build.stream(name, rate=1, size=int(random.integers(1, 4))) for name in "ab"]
    heads = []
    for index in range(random.integers(1, 3)):
        source = (streams + heads)[random.integers(len(streams + heads))]
        heads.append(build.operator(f"f{index}", source, cost=_cost(random), selectivity=0.75))
    joined = []
    if joins and random.random() < 0.3:
        windows = [Window("range", 2), Window("rows", 3)]
        joined = [build.join("j", ["a", heads[-1]], cost=_cost(random), selectivity=0.5, windows=windows)]
    roots = []
    for index in range(random.integers(1, 4)):
        kind = str(random.choice(["range", "range", "rows"]))
        sources = streams + heads + (joined if kind == "range" else [])
        shared = {"cost": 0.25, "by": "key", "groups": 3} if random.random() < 0.5 else {"by": f"{index}"}
        roots.append(
            build.aggregate(
                f"g{index}",
                sources[random.integers(len(sources))],
                window=sliding(random, kind),
                close_cost=_cost(random) / 4,
                size=2 if "cost" in shared else int(random.integers(1, 3)),
                **{"cost": _cost(random), "groups": int(random.integers(1, 5))} | shared,
            )
        )
    if random.random() < 0.5:
        roots.append(build.operator("having", roots[0], cost=_cost(random), selectivity=0.5))
    if random.random() < 0.3:
        roots.append(build.operator("t", roots[-1], cost=_cost(random), selectivity=1.5, kind="lookup"))
    if random.random() < 0.4:
        top = {"window": sliding(random, "range"), "groups": 2, "by": "top"}
        roots.append(build.aggregate("top", roots[-1], cost=_cost(random), close_cost=_cost(random), **top))
    for index, root in enumerate([*roots, *heads, *joined]):
        build.query(f"q{index}", root)
    return build.build(), arrivals(random, streams)


def arrivals(random, streams, most=14):
    """Bursts: several tuples at one moment, then nothing for a while."""
    found = {}
    for stream in streams:
        gaps = random.choice([0, 0, STEP, 0.5, 2.0], size=random.integers(1, most))
        found[stream] = np.cumsum(gaps) + random.integers(0, 3)
    return found
