"""Trains: units that share a job, against the rule by hand and against brute force."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.policies import POLICIES, Scheduler, Train, Waiting

SETUP, UNIT = 10.0, 1.0


def network(chains):
    return ps.Network.chains([[chain] for chain in chains], stream="s")


def waiting(batches, arrival=0.0):
    return lambda unit: Waiting(arrival, unit.id, batches[unit.id], batches[unit.id], SETUP + UNIT)


def train_of(policy, chains, batches, quantum=1e9, now=5.0, **options):
    train = Train(SETUP, quantum, **options)
    return [unit.id for unit in Scheduler(network(chains), policy).choose(now, waiting(batches), train=train)]


def aggregate(policy, chains, batches, members, now=5.0):
    """What a set of units gains ÷ what it costs, the set-up once."""
    units = Scheduler(network(chains), policy).units
    age = now if "age" in POLICIES[policy].factors else 1
    gain = sum(batches[i] * units[i].static * units[i].cost * age for i in members)
    return gain / (SETUP + sum(UNIT + batches[i] * units[i].cost for i in members))


def test_by_hand():
    """hr: gain S, cost C. Aggregates: 10/13, then 20/16, 30/22, and 31/43, which is less: three units."""
    chains = [(0.2, 1.0), (0.2, 1.0), (0.5, 1.0), (2.0, 0.1)]
    batches = [10, 10, 10, 10]
    assert train_of("hr", chains, batches) == [0, 1, 2]
    assert aggregate("hr", chains, batches, [0, 1, 2]) == pytest.approx(30 / 22)
    assert aggregate("hr", chains, batches, [0, 1, 2, 3]) == pytest.approx(31 / 43)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.5, 1.0, 3.0]), st.sampled_from([0.1, 0.5, 1.0])), min_size=1, max_size=6
    ),
    st.data(),
    st.sampled_from(["hr", "hnr", "bsd"]),
)
def test_no_set_with_the_winner_has_a_higher_aggregate(chains, data, policy):
    batches = data.draw(st.lists(st.integers(1, 50), min_size=len(chains), max_size=len(chains)))
    train = train_of(policy, chains, batches)
    others = [i for i in range(len(chains)) if i != train[0]]
    best = max(
        aggregate(policy, chains, batches, [train[0], *some])
        for size in range(len(others) + 1)
        for some in combinations(others, size)
    )
    assert aggregate(policy, chains, batches, train) == pytest.approx(best)


def test_the_quantum_and_the_number_of_units_bound_it():
    chains, batches = [(1.0, 1.0)] * 6, [10] * 6
    assert len(train_of("hr", chains, batches)) == 6
    assert len(train_of("hr", chains, batches, quantum=33.0)) == 3  # each takes 1 + 10
    assert len(train_of("hr", chains, batches, quantum=1.0)) == 1  # the first one runs, however long it takes
    assert len(train_of("hr", chains, batches, most=2)) == 2


def test_up_to_the_least_time_units_are_added_anyway():
    chains, batches = [(0.2, 1.0), (0.2, 1.0), (0.5, 1.0), (2.0, 0.1)], [10] * 4  # they take 3, 3, 6 and 21
    assert train_of("hr", chains, batches, least=12.0) == [0, 1, 2]
    assert train_of("hr", chains, batches, least=12.5) == [0, 1, 2, 3]
    assert train_of("hr", chains, batches, least=12.5, quantum=20.0) == [0, 1, 2]


def test_the_pace_counts_for_the_quantum():
    chains, batches = [(1.0, 1.0)] * 6, [10] * 6
    assert len(train_of("hr", chains, batches, quantum=33.0, pace=0.5)) == 5  # each takes 1 + 5


def test_without_costs_the_order_of_priorities_counts():
    scheduler = Scheduler(network([(1.0, 1.0)] * 4), "fifo")
    arrivals = [3.0, 1.0, 2.0, 0.0]
    found = scheduler.choose(
        5.0, lambda unit: Waiting(arrivals[unit.id], unit.id, 1, 1, SETUP + UNIT), train=Train(SETUP, 6.0)
    )
    assert [unit.id for unit in found] == [3, 1, 2]


def test_turns_go_on_behind_the_last_of_a_train():
    scheduler = Scheduler(network([(1.0, 1.0)] * 5), "round_robin")
    look, train = waiting([1] * 5), Train(SETUP, 4.0)
    turns = [[unit.id for unit in scheduler.choose(0, look, train=train)] for _ in range(3)]
    assert turns == [[0, 1], [2, 3], [4, 0]]


def test_a_plain_policy_has_no_trains():
    assert len(train_of(POLICIES["hnr"].plain(), [(1.0, 1.0)] * 3, [1] * 3)) == 1


def test_plain_is_the_formula_of_the_papers():
    """With a set-up cost a long queue of a dear unit goes first; plainly, the cheap unit does."""
    net = network([(0.1, 1.0), (0.2, 1.0)])
    look = lambda unit: Waiting(0, unit.id, [1, 100][unit.id], [1, 100][unit.id], SETUP)  # noqa: E731
    assert Scheduler(net, "hr").choose(1, look)[0].id == 1
    assert Scheduler(net, "hr.plain()").choose(1, look)[0].id == 0
