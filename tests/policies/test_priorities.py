"""gain ÷ cost × urgency, term by term, against the papers' formulas; and the batch form."""

import pickle
from fractions import Fraction
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.policies import POLICIES, Features, units_of
from tests.strategies import chains, networks

FORMULAS = {  # as the papers print them; W is the age, Q the length
    "fifo": lambda f, w, q: w,
    "mtiq": lambda f, w, q: q,
    "greedy": lambda f, w, q: f.released / f.time,
    "segment": lambda f, w, q: f.released / f.time,
    "simplified_segment": lambda f, w, q: f.released / f.time,
    "chain": lambda f, w, q: f.drop / f.span,
    "path_capacity": lambda f, w, q: 1 / f.C,
    "threshold": lambda f, w, q: 1 / f.C,
    "srpt": lambda f, w, q: 1 / f.ideal,
    "hr": lambda f, w, q: f.S / f.C,
    "hnr": lambda f, w, q: f.S / (f.C * f.T),
    "lsf": lambda f, w, q: w / f.T,
    "brt": lambda f, w, q: f.S / f.C * w,
    "bsd": lambda f, w, q: (f.S / (f.C * f.T)) * (w / f.T),
    "hr_oracle": lambda f, w, q: f.S / f.C,
    "hnr_oracle": lambda f, w, q: f.S / (f.C * f.T),
}
NUMBERS = ["S", "C", "T", "ideal", "released", "time", "drop", "span"]
positive = st.integers(1, 1000).map(lambda n: Fraction(n, 7))
features = st.builds(Features, query=st.just("q"), **dict.fromkeys(NUMBERS, positive))


@pytest.mark.parametrize("name", FORMULAS)
@given(features, positive, positive)
def test_priorities_are_the_papers_formulas(name, f, age, length):
    assert POLICIES[name].priority(f, age=age, length=length) == FORMULAS[name](f, age, length)


# One query, (cost, selectivity) 2, 1/2; 1, 1/5; 10, 1. Of a tuple 1, 1/2, 1/10 and 0 are left at times 0, 2,
# 5/2 and 7/2; the slopes 1/4, 4/5, 1/10 make a chain of the first two, and so do the segments' releases.
BY_HAND = {  # static part at each of the three queues, or of each unit
    "fifo": [1, 1, 1],
    "round_robin": [1, 1, 1],
    "aurora": [F(1, 10) / F(7, 2), F(1, 5) / 3, F(1, 10)],
    "greedy": [F(1, 2) / 2, F(4, 5), F(1, 10)],
    "mtiq": [1, 1, 1],
    "chain": [F(9, 10) / F(5, 2), F(9, 10) / F(5, 2), F(1, 10)],
    "path_capacity": [1 / F(7, 2), F(1, 3), F(1, 10)],
    "segment": [F(9, 10) / F(5, 2), F(1, 10)],
    "simplified_segment": [F(9, 10) / F(5, 2), F(1, 10)],
    "threshold": [1 / F(7, 2), F(1, 3), F(1, 10)],
    "srpt": [F(1, 13), F(1, 11), F(1, 10)],
    "hr": [F(1, 10) / F(7, 2), F(1, 5) / 3, F(1, 10)],
    "hnr": [F(1, 10) / F(7, 2) / 13, F(1, 5) / 3 / 13, F(1, 10) / 13],
    "lsf": [F(1, 13)] * 3,
    "brt": [F(1, 10) / F(7, 2), F(1, 5) / 3, F(1, 10)],
    "bsd": [F(1, 10) / F(7, 2) / 169, F(1, 5) / 3 / 169, F(1, 10) / 169],
    "hr_oracle": [F(1, 10) / F(7, 2), F(1, 5) / 3, F(1, 10)],
    "hnr_oracle": [F(1, 10) / F(7, 2) / 13, F(1, 5) / 3 / 13, F(1, 10) / 13],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_static_parts_by_hand(name):
    net = ps.Network.chains([[(F(2), F(1, 2)), (F(1), F(1, 5)), (F(10), F(1))]])
    assert [unit.static for unit in units_of(net, POLICIES[name])] == BY_HAND[name]


floats = st.floats(1e-6, 1e6, allow_nan=False)
float_features = st.builds(Features, query=st.just("q"), **dict.fromkeys(NUMBERS, floats))


@pytest.mark.parametrize("name", list(POLICIES))
@given(st.lists(st.tuples(float_features, floats, st.integers(1, 10**6)), min_size=2, max_size=6))
def test_without_set_up_cost_a_batch_has_the_order_of_a_tuple(name, units):
    policy = POLICIES[name]
    single = [policy.priority(f, age=age, length=n) for f, age, n in units]
    batch = [policy.priority(f, age=age, length=n, n=n, overhead=0) for f, age, n in units]
    assert batch == single


@given(features, positive, st.integers(1, 50))
def test_set_up_cost_is_shared_by_the_batch(f, overhead, n):
    """priority(n) = n·gain ÷ (c0 + n·cost), where the gain of HNR is S/T and its cost C."""
    assert POLICIES["hnr"].priority(f, n=n, overhead=overhead) == n * (f.S / f.T) / (overhead + n * f.C)
    more = POLICIES["hnr"].priority(f, n=n + 1, overhead=overhead)
    assert more > POLICIES["hnr"].priority(f, n=n, overhead=overhead)


def test_a_policy_without_cost_ignores_the_set_up_cost():
    f = Features("q", *[Fraction(1)] * 8)
    assert POLICIES["fifo"].priority(f, n=3, overhead=100, age=5) == 5


def test_set_up_cost_turns_the_order_round():
    """With c0 a long queue of a poor query beats a single tuple of a good one."""
    net = ps.Network.chains([[(1.0, 1.0)], [(2.0, 1.0)]])
    good, poor = (unit.whole for unit in units_of(net, POLICIES["hnr"]))
    hnr = POLICIES["hnr"]
    assert hnr.priority(good, n=1) > hnr.priority(poor, n=100)
    assert hnr.priority(good, n=1, overhead=50) < hnr.priority(poor, n=100, overhead=50)


@given(chains(max_queries=4))
def test_operator_level_priorities_are_of_the_segment_up_to_the_root(queries):
    """SCLP08 §6: the operator's own S and C onwards, and the query's T."""
    net = ps.Network.chains(queries)
    for unit in units_of(net, POLICIES["hnr"].level("operator")):
        query, place = unit.entries[0].target.split(".o")
        rest = queries[int(query[1:]) - 1][int(place) - 1 :]
        made, cost = Fraction(1), Fraction(0)
        for c, s in rest:
            cost += made * c
            made *= s
        assert unit.static == made / cost / sum(c for c, _ in queries[int(query[1:]) - 1])
        assert not unit.through


@given(networks())
def test_path_units_serve_every_queue_exactly_once(drawn):
    net, _ = drawn
    units = units_of(net, POLICIES["hnr"])
    assert [unit.entries for unit in units] == [(edge,) for edge in net.edges]
    assert [unit.id for unit in units] == list(range(len(units)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: p.every(0), "every(n) needs a whole number from 1 to 1,000,000,000, not 0"),
        (lambda p: p.every(2.5), "every(n) needs a whole number"),
        (lambda p: p.clustered(0), "a whole number of clusters from 1 to 10,000, not 0"),
        (lambda p: p.clustered(10**8), "a whole number of clusters from 1 to 10,000"),
        (lambda p: p.every(None), "every(n) needs a whole number"),
        (lambda p: p.every(10**5000), "not a number of thousands of digits"),
        (lambda p: p.shared(None), "'max', 'sum' or 'pdt', not None"),
        (lambda p: p.priority(Features("q", *[1] * 8), overhead=-1), "overhead of a run must be at least 0"),
        (lambda p: p.clustered(3, "square"), "the spacing of clusters must be 'log' or 'uniform', not 'square'"),
        (lambda p: p.shared("mean"), "'max', 'sum' or 'pdt', not 'mean'"),
        (lambda p: p.level("plan"), "'query' or 'operator', not 'plan'"),
        (
            lambda p: p.threshold(POLICIES["segment"], memory=-1),
            "memory limit of a threshold policy must be",
        ),
        (lambda p: p.threshold(POLICIES["segment"], memory=5, beta=1), "must be between 0.5 and 1, not 1"),
        (lambda p: p.threshold(POLICIES["threshold"]), "cannot be a mode of another"),
        (lambda p: POLICIES["greedy"].shared("sum"), "'greedy' ranks a unit by itself, without regard to sharing"),
        (lambda p: p.clustered(3).oracle(), "cannot be clustered"),
        (lambda p: p.threshold("chain"), "needs a policy for saving memory, not 'chain'"),
        (lambda p: ps.Policy("x", "path", None, None), "must be terms"),
        (lambda p: ps.Policy("x", "plan", p.gain, None), "unknown unit 'plan'"),
        (lambda p: ps.Policy("x", "path", p.gain, None, "hurry"), "unknown urgency 'hurry'"),
        (lambda p: ps.Policy("x", "path", p.gain, None, tie=("oldest",)), "must end with 'id'"),
        (lambda p: p.priority(Features("q", *[1] * 8), n=0, overhead=1), "size of a batch must be above 0"),
    ],
)
def test_combinations_without_meaning_are_refused(change, says):
    with pytest.raises(ps.PolicyError) as caught:
        change(POLICIES["hnr"])
    assert says in str(caught.value)


def test_combinators_reach_the_policy_that_saves_memory():
    policy = POLICIES["threshold"].every(7).level("operator").by_age_and_length()
    saving = policy.saving.policy
    assert (saving.oldest_every, saving.scheduling_point, saving.urgency) == (7, "operator", "age × length")
    assert POLICIES["threshold"].saving.policy is POLICIES["simplified_segment"]


@pytest.mark.parametrize("name", list(POLICIES))
def test_policies_can_be_sent_to_another_process(name):
    assert pickle.loads(pickle.dumps(POLICIES[name])) == POLICIES[name]


def test_combinators_add_up():
    policy = POLICIES["hr"].level("operator").every(7).shared("sum").by_age_and_length()
    assert (policy.scheduling_point, policy.oldest_every, policy.sharing) == ("operator", 7, "sum")
    assert policy.urgency == "age × length"
    assert policy.name == "hr.level('operator').every(7).shared('sum').by_age_and_length()"
    assert POLICIES["hr"].urgency == "none"
