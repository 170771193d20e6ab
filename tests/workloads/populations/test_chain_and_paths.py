"""The plans of BBDM03, JC03 and P04 against the words of the papers."""

from collections import Counter

import pytest

from penstock.policies import POLICIES
from penstock.policies.units import units_of
from penstock.workloads import Bursty, Flows, Phases, Redrawn, population


def chains(network):
    """Operators of each chain, path by path."""
    return [
        [path.operators[chain.start : chain.stop] for chain in network.envelope(path)] for path in network.paths
    ]


def by_priority(network, policy):
    """Operators by static priority, the highest first."""
    units = units_of(network, POLICIES[policy])
    return [u.entries[0].target for u in sorted(units, key=lambda unit: -unit.static)]


def test_two_operators_each_form_a_chain_and_greedy_is_chain():
    network = population("bbdm03_two").network
    fast, slow = network.operators
    assert chains(network) == [[("q1.o1",), ("q1.o2",)]]
    assert (fast.selectivity, slow.cost / fast.cost) == pytest.approx((0.2, 5))
    assert by_priority(network, "greedy") == by_priority(network, "chain") == ["q1.o1", "q1.o2"]


@pytest.mark.parametrize("name", ["bbdm03_four", "bbdm03_lookup"])
def test_four_operators_with_a_fast_selective_third(name):
    network = population(name).network
    assert chains(network) == [[("q1.o1", "q1.o2", "q1.o3"), ("q1.o4",)]]
    costs = {operator.name: operator.cost for operator in network.operators}
    selectivities = {operator.name: operator.selectivity for operator in network.operators}
    assert min(costs, key=costs.get) == min(selectivities, key=selectivities.get) == "q1.o3"
    assert (selectivities["q1.o2"] > 1) == (name == "bbdm03_lookup")
    assert network.operator("q1.o2").kind == ("lookup" if name == "bbdm03_lookup" else "select")
    assert by_priority(network, "greedy")[-1] == "q1.o2"  # it keeps tuples from the third


def test_the_join_stands_before_a_very_selective_operator():
    made = population("bbdm03_join")
    network = made.network
    assert made.blocking
    assert made.arrivals == {"r": Flows(100), "s": Flows(100)}
    assert [window.kind for window in network.operator("q1.join").windows] == ["rows", "rows"]
    assert [float(network.fanout[edge]) for edge in network.in_edges["q1.join"]] == pytest.approx([1, 1])
    assert chains(network) == [
        [("q1.before", "q1.join", "q1.after1"), ("q1.after2",)],
        [("q1.join", "q1.after1"), ("q1.after2",)],
    ]
    assert by_priority(network, "greedy")[-1] == "q1.join"


def test_three_queries():
    made = population("bbdm03_three")
    network = made.network
    assert made.blocking
    assert [len(network.paths_of(query)) for query in ("q1", "q2", "q3")] == [2, 1, 1]
    assert [path.source for path in network.paths] == ["r", "s", "r", "s"]
    assert chains(network)[2:] == [[(f"{q}.o1", f"{q}.o2", f"{q}.o3"), (f"{q}.o4",)] for q in ("q2", "q3")]
    assert set(by_priority(network, "greedy")[-3:]) == {"q1.join", "q2.o2", "q3.o2"}


def test_only_bbdm03_blocks():
    blocking = [name for name in ("sclp08_two_streams", "jc03", "p04_join") if population(name).blocking]
    assert blocking == []


@pytest.mark.parametrize("name", ["jc03", "jc03_phases"])
@pytest.mark.parametrize("seed", [1, 2, 77])
def test_sixteen_queries_of_116_operators(name, seed):
    network = population(name, seed=seed).network
    assert (len(network.queries), len(network.operators), len(network.streams)) == (16, 116, 5)
    joins, streams = Counter(), {}
    for query in network.queries:
        own = [op for op in network.operators if query.name in network.users[op.name]]
        joins[query.name] = sum(op.kind == "join" for op in own)
        streams[query.name] = {path.source for path in network.paths_of(query.name)}
        assert len(streams[query.name]) == joins[query.name] + 1
    assert (min(joins.values()), max(joins.values())) == (0, 4)
    assert Counter(joins.values()) == {0: 4, 1: 4, 2: 3, 3: 3, 4: 2}
    assert len(network.paths_of("q1")[0].operators) == 1  # the simplest is one select
    assert network.operator(network.query("q1").root).kind == "select"
    assert all(len(users) == 1 for users in network.users.values())


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_few_joins_make_more_of_their_input(seed):
    network = population("jc03", seed=seed).network
    joins = [op for op in network.operators if op.kind == "join"]
    makes = [network.rates[op.name] / sum(network.rates[source] for source in op.inputs) for op in joins]
    assert len(joins) == 27
    assert sum(one > 1 for one in makes) == 3
    assert max(makes) < 2
    assert all(0 < op.selectivity <= 1 for op in network.operators)
    assert all(1 <= window.size <= 10 and window.kind == "range" for op in joins for window in op.windows)


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_windows_of_rows_make_the_same_of_every_input_whatever_the_rates(seed):
    made = population("jc03", seed=seed, rows=100).network
    faster = population("jc03", seed=seed, rows=100, rate=80).network
    joins = [op for op in made.operators if op.kind == "join"]
    fanouts = [[float(made.fanout[edge]) for edge in made.in_edges[op.name]] for op in joins]
    assert all(left == pytest.approx(right) for left, right in fanouts)
    assert sum(left > 1 for left, _ in fanouts) == 3
    assert [op.selectivity for op in made.operators] == pytest.approx([op.selectivity for op in faster.operators])
    assert {(window.kind, window.size) for op in joins for window in op.windows} == {("rows", 100)}


@pytest.mark.parametrize("seed", [1, 2, 77])
def test_selective_leaves_release_most(seed):
    """By words of JC03 §5.2; without the option all selects are drawn alike."""

    def shares(**options):
        network = population("jc03", seed=seed, rows=100, **options).network
        releases = [network.releases(path) for path in network.paths if len(path.operators) > 2]
        above = [release for each in releases for release in each[1:-1]]  # a root has nothing above it
        return sum(each[0] for each in releases) / len(releases) / (sum(above) / len(above))

    assert shares(selective_leaves=True) > 2
    assert shares(selective_leaves=True) > shares()


def test_streams_of_jc03():
    made = population("jc03", rate=10)
    assert [*made.arrivals.values()] == [Bursty(10 * i, flows=64 if i % 2 else 128) for i in range(1, 6)]
    assert {(process.on_alpha, process.off_alpha) for process in made.arrivals.values()} == {(1.4, 1.2)}
    assert made.classes["q1"] == "0 joins"
    assert made.classes["q16"] == "4 joins"


def test_phases_raise_the_rates():
    made = population("jc03_phases", rate=10, rising=(1, 2, 3), seconds=50)
    process = made.arrivals["s2"]
    assert process == Phases(((Bursty(10, 128), 50), (Bursty(20, 128), 50), (Bursty(30, 128), 50)), repeat=False)
    assert made.network.stream("s2").rate == pytest.approx(20)
    assert made.network.operators == population("jc03", rate=10).network.operators
    assert max(times[-1] for times in made.times(seed=1, seconds=1000).values()) < 150


def test_plans_of_p04():
    filters, join = population("p04_filters"), population("p04_join")
    assert [operator.name for operator in filters.network.operators] == ["O4", "O3", "O2", "O1"]
    assert filters.arrivals == {"s": Redrawn(100)}
    for made in (filters, join):
        assert made.network.queries[0].root == "O1"
        assert made.network.operator("O1").selectivity == 1
    assert [(window.kind, window.size) for window in join.network.operator("O2").windows] == [("range", 0.2)] * 2
    assert len(join.network.operators) == 4
