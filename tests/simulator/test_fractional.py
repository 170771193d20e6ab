"""The fractional engine by hand: the switches, disciplines, fates, oracles, modes, metrics and its refusals."""

import math
from fractions import Fraction

import pytest

import penstock as ps
from penstock.policies import POLICIES, Exhaustive, Limited, QueueShare
from penstock.simulator import BBDM03, JC03, P04, SCLP08, Rules, run_fractional


def one(*operators):
    return ps.Network.chains([list(operators)])


def fork(a, b):
    """Queries qa and qb behind a shared operator of cost 1, with one operator of the given cost each."""
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("x", "s", cost=1)
    build.operator("a", "x", cost=a)
    build.operator("b", "x", cost=b)
    build.query("qa", "a")
    build.query("qb", "b")
    return build.build()


def order(trace):
    return [run.units[0] for run in trace.runs]


def test_a_tuple_in_service_counts_or_not():
    """One tuple of two time units, looked at half-way."""
    for counts, seen in ((True, 1), (False, 0)):
        trace = run_fractional(one((2, 1)), {"s": [0]}, "fifo", Rules(in_service_counts=counts))
        assert [trace.queue_at(t) for t in (0, 1, 2)] == [1, seen, 0]


def test_a_fraction_costs_its_fraction_or_a_full_tuple():
    """Half of a tuple reaches the second operator."""
    for charge, end in (("its fraction", 3), ("full", 5)):
        trace = run_fractional(one((1, 0.5), (4, 1)), {"s": [0]}, "chain", Rules(fraction_costs=charge))
        assert trace.results[0].time == end


def test_where_fractions_cost_a_tuple_they_are_filled_up():
    """0.9 and 0.9 wait: a run takes one tuple, the second run the 0.8 that are left."""
    trace = run_fractional(one((1, 0.9), (1, 1)), {"s": [0, 0]}, "mtiq", P04)
    assert order(trace) == ["q1.o1", "q1.o1", "q1.o2", "q1.o2"]
    assert [(r.time, r.amount) for r in trace.results] == [
        (3, Fraction(9, 10)),
        (3, Fraction(1, 10)),
        (4, Fraction(8, 10)),
    ]


def test_a_quantum_ends_inside_a_tuple():
    """Three time units of work: after one, a third is gone (divisible), or nothing is (progress is kept)."""
    for divisible, seen in ((True, [1, Fraction(2, 3), Fraction(1, 3), 0]), (False, [1, 1, 1, 0])):
        rules = Rules(quantum=1, divisible=divisible, service=Exhaustive())
        trace = run_fractional(one((3, 1)), {"s": [0]}, "fifo", rules)
        assert [trace.queue_at(t) for t in range(4)] == seen


def test_decisions_fall_on_the_clock():
    """At t = 1 something better has arrived, although the first run began at 0.5."""
    net = ps.Network.chains([[(Fraction(1, 2), 1)], [(3, 1)], [(1, 1)]], ["a", "b", "c"])
    trace = run_fractional(net, {"a": [0], "b": [0], "c": [1]}, "path_capacity", BBDM03)
    assert [(run.start, run.units[0]) for run in trace.runs[:4]] == [
        (0, "a→q1.o1"),
        (Fraction(1, 2), "b→q2.o1"),
        (1, "c→q3.o1"),
        (2, "b→q2.o1"),
    ]
    assert trace.results[-1].time == Fraction(9, 2)  # b lost nothing by waiting


def test_service_disciplines():
    net = ps.Network.chains([[(1, 1)], [(1, 1)]], ["a", "b"])
    arrivals = {"a": [0, 0, 2], "b": [0]}

    def runs(service):
        return [
            len(r.units) and r.end - r.start
            for r in run_fractional(net, arrivals, "hr", Rules(service=service)).runs
        ]

    assert runs(Limited(1)) == [1, 1, 1, 1]
    assert runs(Exhaustive()) == [3, 1]  # what arrives during the service is served too
    assert runs(Limited(2)) == [2, 1, 1]
    assert runs(QueueShare(ratio=Fraction(1, 2), threshold=Fraction(1, 2))) == [1, 1, 1, 1]
    assert runs(QueueShare(ratio=Fraction(1, 100), threshold=0)) == [1, 1, 1, 1]  # never less than a tuple


def test_round_robin_gives_each_operator_a_quantum():
    net = ps.Network.chains([[(1, 1)], [(1, 1)]], ["a", "b"])
    rules = Rules(quantum=2, service=Exhaustive())
    trace = run_fractional(net, {"a": [0] * 3, "b": [0] * 3}, "round_robin", rules)
    served = [(run.units[0], run.end - run.start) for run in trace.runs]
    assert served == [("q1.o1", 2), ("q2.o1", 2), ("q1.o1", 1), ("q2.o1", 1)]


def test_where_fractions_cost_a_tuple_a_run_takes_one_whatever_the_queue():
    """0.9 waits in one queue of a join and a tuple in the other: one run each, at a full cost each."""
    build = ps.NetworkBuilder()
    build.stream("a")
    build.stream("b")
    build.operator("x", "a", cost=1, selectivity=0.9)
    build.join("j", ["x", "b"], cost=1)
    build.query("q", "j")
    trace = run_fractional(build.build(), {"a": [0], "b": [0.5]}, "mtiq", P04)
    assert [(run.units[0], run.start, run.end) for run in trace.runs] == [("x", 0, 1), ("j", 1, 2), ("j", 2, 3)]


def test_what_was_begun_is_finished_as_it_was_begun():
    """A tuple is begun on its path and interrupted when memory runs short: six time units of work in all."""
    net = one((2, 0.5), (8, 1))
    trace = run_fractional(net, {"s": [0, 3, 3, 3]}, "threshold", BBDM03, memory=4)
    assert [run.units[0] for run in trace.runs[:4]] == ["s→q1.o1"] * 3 + ["{q1.o1}"]
    assert trace.results[0].time == 6
    assert sum(run.end - run.start for run in trace.runs) == 24


def test_results_leave_when_they_are_made_also_of_an_interrupted_tuple():
    for rules in (SCLP08, BBDM03):
        trace = run_fractional(fork(1, 5), {"s": [0]}, POLICIES["hr"].shared("sum"), rules)
        assert [(d.query, d.time) for d in trace.departures] == [("qa", 2), ("qb", 7)]


def test_the_policy_knows_the_batch_and_the_set_up_cost():
    """HR alone would serve the cheap query's one tuple; with c0 = 10 the four of the other are worth more."""
    net = ps.Network.chains([[(1, 1)], [(Fraction(3, 2), 1)]], ["a", "b"])
    arrivals = {"a": [0], "b": [0] * 4}
    rules = Rules(service=Exhaustive())
    assert order(run_fractional(net, arrivals, "hr", rules))[0] == "a→q1.o1"
    assert order(run_fractional(net, arrivals, "hr", rules, setup_cost=10))[0] == "b→q2.o1"


def test_an_oracle_serves_what_will_produce():
    """Both queries look alike; only the second one's tuple survives."""
    net = ps.Network.chains([[(1, 0.5)], [(1, 0.5)]], ["a", "b"])
    fates = {("q1.o1", 0): 0, ("q2.o1", 1): 1}
    plain = run_fractional(net, {"a": [0], "b": [0]}, "hr", fates=fates)
    oracle = run_fractional(net, {"a": [0], "b": [0]}, "hr_oracle", fates=fates)
    assert order(plain)[0] == "a→q1.o1"
    assert order(oracle)[0] == "b→q2.o1"
    assert oracle.metrics["avg_response"] < plain.metrics["avg_response"]


def test_an_oracle_weighs_all_that_waits_over_the_time_of_all():
    """SCLP08 §9.1.11: 1 result in 2 time units of q1's tuples against 1 in 1.5 of q2's one."""
    net = ps.Network.chains([[(1, 0.5)], [(Fraction(3, 2), 0.5)]], ["a", "b"])
    fates = {("q1.o1", 0): 1, ("q1.o1", 1): 0, ("q2.o1", 2): 1}
    trace = run_fractional(net, {"a": [0, 0], "b": [0]}, "hr_oracle", fates=fates)
    assert order(trace)[0] == "b→q2.o1"


def test_an_oracle_knows_what_is_already_done():
    """After three of a's four time units, what is left of it (1) beats c's two, as the whole (4) would not."""
    net = ps.Network.chains([[(4, 1)], [(2, 1)]], ["a", "c"])
    trace = run_fractional(net, {"a": [0], "c": [3]}, "hr_oracle", BBDM03)
    assert [result.query for result in trace.results] == ["q1", "q2"]
    plain = run_fractional(net, {"a": [0], "c": [3]}, "hr", BBDM03)
    assert [result.query for result in plain.results] == ["q2", "q1"]


def test_an_oracle_counts_a_result_once_where_an_operator_feeds_both_sides_of_a_join():
    """x and then j twice, half a result each: 1 in 3 time units, less than y's 1 in 2."""
    build = ps.NetworkBuilder()
    build.stream("a")
    build.stream("b")
    build.operator("x", "a", cost=1)
    build.join("j", ["x", "x"], cost=1, selectivity=Fraction(1, 2))
    build.operator("y", "b", cost=2)
    build.query("q1", "j")
    build.query("q2", "y")
    trace = run_fractional(build.build(), {"a": [0], "b": [0]}, "hr_oracle")
    assert order(trace)[0] == "b→y"


def test_an_oracle_looks_at_the_queries_it_serves():
    """Of two queries behind x only the one in the tree counts; the other's long work is not its cost."""
    build = ps.NetworkBuilder()
    build.stream("a")
    build.stream("b")
    build.operator("x", "a", cost=1)
    build.operator("near", "x", cost=1)
    build.operator("far", "x", cost=100)
    build.operator("y", "b", cost=3)
    for name in ("near", "far", "y"):
        build.query(f"q.{name}", name)
    trace = run_fractional(build.build(), {"a": [0], "b": [0]}, "hr_oracle")
    assert order(trace) == ["a→x", "b→y", "x→far"]


def test_discarded_tuples_depart_with_nothing():
    trace = run_fractional(one((1, 0.5), (1, 1)), {"s": [0]}, "hr", fates={("q1.o1", 0): 0})
    assert [(d.time, d.amount) for d in trace.departures] == [(1, 0)]
    assert trace.results == ()
    assert trace.metrics == {"outputs": 0, "mean_memory": 1, "peak_memory": 1}


def test_shared_operators_run_once_and_each_result_leaves_in_its_turn():
    trace = run_fractional(fork(2, 4), {"s": [0]}, POLICIES["hr"].shared("sum"))
    assert [(d.query, d.time) for d in trace.departures] == [("qa", 3), ("qb", 7)]
    assert [d.slowdown for d in trace.departures] == [1, Fraction(7, 5)]


def test_a_tuple_alone_has_no_slowdown():
    (result,) = run_fractional(one((1, 0.5), (4, 1)), {"s": [3]}, "chain").results
    assert (result.response, result.slowdown) == (3, 1)


def test_slowdown_of_a_join_leaves_out_the_other_sides_work():
    """SCLP08 §5.1.2: alone, the last tuple of a combination would need its own path only, and H = 1."""
    build = ps.NetworkBuilder()
    build.stream("l")
    build.stream("r")
    build.operator("a", "l", cost=2)
    build.join("j", ["a", "r"], cost=1, windows=[ps.Window("rows", 1)] * 2)
    build.query("q", "j")
    trace = run_fractional(build.build(), {"r": [5]}, "fifo")
    (result,) = trace.results
    assert (result.response, result.ideal, result.slowdown) == (1, 4, 1)


def test_threshold_saves_memory_when_it_runs_short():
    """A burst on a fast, selective leaf: normal mode finishes tuples, saving mode shrinks them."""
    net = one((1, 0.1), (50, 1))
    burst = {"s": list(range(10))}
    normal = run_fractional(net, burst, "threshold", JC03)
    saving = run_fractional(net, burst, "threshold", JC03, memory=4)
    chain = run_fractional(net, burst, "chain", JC03)
    assert normal.runs == run_fractional(net, burst, "path_capacity", JC03).runs
    assert chain.peak_memory <= saving.peak_memory < normal.peak_memory
    assert any(unit.startswith("{") for run in saving.runs for unit in run.units)


def test_the_mean_memory_moves_the_thresholds_and_counts_from_the_first_arrival():
    net = one((1, 0.1), (50, 1))
    units = []
    for start in (0, 1000):
        trace = run_fractional(net, {"s": [start + i for i in range(10)]}, "threshold", JC03, memory=6)
        units.append([run.units for run in trace.runs])
    assert units[0] == units[1]
    modes = [run[0].startswith("{") for run in units[0]]
    # T_max is (1 + mean/6)/2 · 6: with a mean of 0 saving would begin at 3, and it begins later
    first = modes.index(True)
    queue = run_fractional(net, {"s": range(10)}, "threshold", JC03, memory=6)
    assert queue.queue_at(queue.runs[first].start) > 4
    assert modes[:first] == [False] * first


def test_a_level_of_the_query_takes_an_operator_policy_to_the_root():
    trace = run_fractional(one((1, 0.5), (1, 1)), {"s": [0, 0]}, POLICIES["chain"].level("query"))
    assert [(run.start, run.end) for run in trace.runs] == [(0, Fraction(3, 2)), (Fraction(3, 2), 3)]


def test_clustered_processing_runs_the_cluster_as_one():
    net = ps.Network.chains([[(1, 1)], [(Fraction(11, 10), 1)], [(40, 1)]])
    trace = run_fractional(net, {"s": [0]}, POLICIES["bsd"].clustered(2))
    assert [run.units for run in trace.runs] == [("s→q1.o1", "s→q2.o1"), ("s→q3.o1",)]


def test_metrics_by_hand():
    trace = run_fractional(one((2, 1)), {"s": [0, 0]}, "fifo")
    assert trace.metrics == {
        "outputs": 2,
        "avg_response": 3,
        "max_response": 4,
        "l2_response": math.sqrt(20),
        "avg_slowdown": 1.5,
        "max_slowdown": 2,
        "l2_slowdown": math.sqrt(5),
        "mean_memory": 1.5,
        "peak_memory": 2,
    }


def test_memory_is_in_units_of_tuple_size():
    build = ps.NetworkBuilder()
    build.stream("s", size=8)
    build.operator("a", "s", cost=1, selectivity=0.5, size=2)
    build.operator("b", "a", cost=2)
    build.query("q", "b")
    trace = run_fractional(build.build(), {"s": [0]}, "chain", JC03)
    assert [trace.queue_at(t) for t in (0, 1, 2)] == [8, 1, 0]


def test_the_set_up_cost_delays_and_invites_batches():
    net = one((1, 1))
    trace = run_fractional(net, {"s": [0, 0]}, "hr", Rules(service=Exhaustive()), setup_cost=5)
    assert [(run.start, run.end) for run in trace.runs] == [(0, 7)]
    assert [result.time for result in trace.results] == [6, 7]


def test_nothing_arrives():
    trace = run_fractional(one((1, 1)), {}, "fifo")
    assert (trace.runs, trace.departures, trace.peak_memory, trace.mean_memory) == ((), (), 0, 0)
    assert trace.queue_at(-1) == trace.queue_at(3) == 0


@pytest.mark.parametrize(
    ("arrivals", "says"),
    [
        ({"packets": [0]}, "no stream 'packets'"),
        ({"s": [3, 1]}, "arrival 1 of stream 's', 1, comes before the one at 3"),
        ({"s": [-1]}, "arrival 0 of stream 's' must be at least 0, not -1"),
        ({"s": [0, math.nan]}, "arrival 1 of stream 's' must be a finite number, not nan"),
        ({"s": ["soon"]}, "arrival 0 of stream 's' must be a number, not 'soon'"),
        ({"s": None}, "arrivals of stream 's' must be a list of times, not None"),
        ({"s": "12"}, "arrivals of stream 's' must be a list of times, not '12'"),
        ([0, 1], "a mapping from stream to times"),
        ({"s": [10**5000]}, "stream 's' is out of range: its magnitude must be between 1e-100 and 1e+100"),
    ],
)
def test_bad_arrivals_are_refused(arrivals, says):
    with pytest.raises(ps.ArrivalError) as caught:
        run_fractional(one((1, 1)), arrivals, "fifo")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "ffo"), "Did you mean 'fifo'?"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", fates={("q1.o9", 0): 1}), "no operator 'q1.o9'"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", fates={("q1.o1", 0): -1}), "must be at least 0"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", fates={("q1.o1", 1): 1}), "no such tuple"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", fates={"q1.o1": 1}), "(operator, number"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", memory=math.nan), "memory limit"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, ["hr"]), "no policy ['hr']"),
        (lambda: Rules(service=None), "service must be"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", setup_cost=-1), "set-up cost must be at least 0"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "threshold", memory=0), "memory limit"),
        (lambda: run_fractional(None, {"s": [0]}, "hr"), "a run needs a Network, not None"),
        (lambda: run_fractional(one((1, 1)), {"s": [0]}, "hr", None), "rules must be Rules"),
        (lambda: Rules(quantum=0), "the quantum must be above 0"),
        (lambda: Rules(fraction_costs="half"), "'its fraction' or 'full'"),
        (lambda: Limited(0), "number of tuples a run may take must be above 0"),
        (lambda: QueueShare(ratio=2), "ratio of a queue share must be at most 1"),
    ],
)
def test_bad_calls_are_refused(call, says):
    with pytest.raises(ps.PenstockError) as caught:
        call()
    assert says in str(caught.value)


def test_sclp08_rules_take_a_tuple_at_a_time():
    assert SCLP08.service == Limited(1)
    trace = run_fractional(one((1, 1)), {"s": [0, 0]}, "fifo", SCLP08)
    assert len(trace.runs) == 2
