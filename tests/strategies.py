"""Random networks, charts and arrivals for hypothesis: small, exact numbers, real joins and sharing."""

from fractions import Fraction

from hypothesis import strategies as st

from penstock import Network, NetworkBuilder, Window

tenths = st.integers(1, 10).map(lambda n: Fraction(n, 10))
costs = st.integers(1, 40).map(lambda n: Fraction(n, 10))


def chains(max_queries=3, max_operators=4, selectivities=tenths):
    operator = st.tuples(costs, selectivities)
    chain = st.lists(operator, min_size=1, max_size=max_operators)
    return st.lists(chain, min_size=1, max_size=max_queries)


def burst(max_tuples=4, last=6):
    return st.lists(st.integers(0, last), min_size=1, max_size=max_tuples).map(sorted)


@st.composite
def separate_streams(draw, max_queries=3, max_operators=4, max_tuples=3, selectivities=tenths):
    """A network with one stream a query, and arrivals for each."""
    queries = draw(chains(max_queries, max_operators, selectivities))
    names = [f"s{index}" for index in range(len(queries))]
    arrivals = {name: draw(burst(max_tuples)) for name in names}
    return Network.chains(queries, names), arrivals


@st.composite
def networks(draw):
    """A network with selections, a window join, a shared prefix and a stored-table join, and arrivals."""
    build = NetworkBuilder()
    streams = [build.stream(name, rate=draw(st.integers(1, 3)), size=draw(st.integers(1, 3))) for name in "ab"]
    heads = []
    for index in range(draw(st.integers(1, 3))):
        source = draw(st.sampled_from([*streams, *heads]))
        heads.append(build.operator(f"f{index}", source, cost=draw(costs), selectivity=draw(tenths)))
    if draw(st.booleans()):
        pair = [draw(st.sampled_from([*streams, *heads])) for _ in range(2)]
        windows = [Window(draw(st.sampled_from(["range", "rows"])), draw(st.integers(1, 3))) for _ in pair]
        made = build.join("j", pair, cost=draw(costs), selectivity=draw(tenths) / 4, windows=windows)
        heads.append(build.operator("above", made, cost=draw(costs), selectivity=draw(tenths)))
    lookup = build.operator("t", heads[-1], cost=draw(costs), selectivity=Fraction(3, 2), kind="lookup")
    for index, root in enumerate([*heads, lookup]):
        build.query(f"q{index}", root)
    return build.build(), {name: draw(burst(3)) for name in streams}
