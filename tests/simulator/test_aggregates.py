"""Aggregates over windows in virtual time: timelines by hand, what no policy may change, predictions."""

import math
from collections import Counter

import numpy as np
import pytest

import penstock as ps
from penstock.network import SlidingWindow
from penstock.policies import POLICIES, QueueShare, policy_named
from penstock.qos import Selection
from penstock.simulator import run_fractional
from penstock.simulator.compiled.fates import identity_of, mixed, salts
from penstock.simulator.layout.arrivals import Feed, checked_times
from penstock.simulator.options import Adaptive, SimulationOptions
from penstock.simulator.run import SimulationRun
from penstock.workloads import Poisson, take
from tests.reference.networks import aggregates

SEEING = [name for name, policy in POLICIES.items() if not policy.clairvoyant]


def summed(window, cost=0.25, close_cost=0.5, groups=1, rate=1, **more):
    """One aggregate over one stream."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=rate)
    root = build.aggregate("sum", "s", cost=cost, close_cost=close_cost, window=window, groups=groups, **more)
    build.query("q", root)
    return build.build()


def events(net, times, policy="fifo", **options):
    """Departures as (time, response), changes of memory, and decisions as (time, unit)."""
    found = ps.simulate(net, times, policy, detail=True, **options)
    left = [(time, response) for time, _, _, response, _ in found.detail.departures.tolist()]
    return left, [tuple(each) for each in found.detail.memory.tolist()], found.detail.runs.tolist()


# By hand ------------------------------------------------------------------------------------------------------


def test_windows_of_time_that_tumble():
    """Windows of 4 s; a tuple takes 1/4 s, a partial row 1/2 s at the close; one group.

    time      0    1    2    3    4    5    6    7    8    9
    tuples    a         b                             c
    windows   [ a,b: one row    )[ nothing          )[ c, to the end of the run at 8

    The first ends at 4 and leaves at 4.5. The second is empty. The third is cut off when the last tuple arrives:
    c takes until 8.25, its window until 8.75, and the response is counted from 8.
    """
    left, memory, runs = events(summed(SlidingWindow("range", 4)), {"s": [0, 2, 8]})
    assert left == [(4.5, 0.5), (8.75, 0.75)]
    # tuple a; its row; b beside it; b is in the row; window 0 gone; c; its row; nothing
    assert memory[:4] == [(0, 1), (0.25, 1), (2, 2), (2.25, 1)]
    assert dict(memory) == {0: 1, 0.25: 1, 2: 2, 2.25: 1, 4: 1, 4.5: 0, 8: 1, 8.25: 1, 8.75: 0}
    assert runs == [[0, 0], [2, 0], [4, 1], [8, 0], [8.25, 1]]


def test_windows_that_overlap_wait_for_tuples_in_queues():
    """Windows of 4 s every 2 s, two panes each; tuples arrive at 3, twice, and take 3/4 s each, 1/2 s a row.

    time      0    2  3     4      4.5        5         6    6.5
    panes     [    )[ a a   )[                          )[ c
    served          a 3–3.75  a 3.75–4.5
    windows   [ 0: row of 1  )   0: 4.5–5
                    [ 1: row of 1                       ) 1: 6–6.5
    The first window ends at 4, while the second a is in service: it closes at 4.5. A tuple at exactly 6 is not in
    the window that ends at 6, and comes after it.
    """
    net = summed(SlidingWindow("range", 4, 2), cost=0.75)
    left, memory, runs = events(net, {"s": [3, 3, 6]})
    assert runs[:5] == [[3, 0], [3.75, 0], [4.5, 1], [6, 1], [6.5, 0]]
    # then windows 2 = [4, 8) and 3 = [6, 10) with the tuple of 6, both cut off at 6; it takes 6.5 to 7.25
    assert left == [(5, 1), (6.5, 0.5), (7.75, 1.75), (8.25, 2.25)]
    assert dict(memory) == {3: 2, 3.75: 2, 4: 2, 4.5: 1, 5: 1, 6: 2, 6.5: 1, 7.25: 1, 7.75: 1, 8.25: 0}


def test_windows_with_gaps():
    """[0, 1), [4, 5), …: the tuple at 2 is in no window, takes its time, and leaves no row."""
    left, memory, _ = events(summed(SlidingWindow("range", 1, 4)), {"s": [0, 2, 4, 9]})
    assert left == [(1.5, 0.5), (5.5, 0.5)]
    assert dict(memory) == {0: 1, 0.25: 1, 1: 1, 1.5: 0, 2: 1, 2.25: 0, 4: 1, 4.25: 1, 5: 1, 5.5: 0, 9: 1, 9.25: 0}


def test_windows_of_rows_count_before_selections():
    """Three rows each, every two: (0 1 2), (2 3 4); the last one is not full and never closes.

    A filter that drops all leaves windows without rows, so without results. One that drops none: each window
    leaves when its last tuple was served, and its response begins when that arrived.
    """
    times = {"s": [0, 1, 2, 3, 4, 5]}
    left, memory, _ = events(summed(SlidingWindow("rows", 3, 2)), times)
    assert left == [(3.75, 1.75), (5.75, 1.75)]  # each merges three panes of one row
    assert memory[-1] == (6.0, 2.0)  # rows 4 and 5 wait for a window that is not full

    build = ps.NetworkBuilder()
    build.stream("s", rate=1)
    build.operator("none", "s", cost=0.25, selectivity=0)
    window = SlidingWindow("rows", 3, 2)
    build.query("q", build.aggregate("sum", "none", cost=0.25, close_cost=0.5, window=window))
    assert events(build.build(), times)[0] == []


def test_shared_partial_rows_are_held_once_and_until_the_last_window():
    """Windows of 2 s and of 4 s over panes of 2 s: one row a pane, freed when the longer window is done."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=1)
    for name, size in (("short", 2), ("long", 4)):
        given = {"cost": 0.25, "close_cost": 0.25, "window": SlidingWindow("range", size)}
        build.query(name, build.aggregate(name, "s", **given))
    left, memory, _ = events(build.build(), {"s": [0, 2, 4]})
    assert left == [(2.25, 0.25), (4.25, 0.25), (4.75, 0.75), (5.25, 1.25), (5.5, 1.5)]
    assert dict(memory)[2.25] == 2  # the tuple of 2 waits, and the row of pane 0 is still needed
    assert dict(memory)[4.25] == 3
    assert dict(memory)[4.75] == 1
    assert memory[-1] == (5.5, 0.0)


def test_windows_that_close_while_a_run_is_set_up():
    """A tuple at 3.75 is in 16 windows, which end at 4, 4.25, …, 7.75; a run takes half of what waits.

    It was served at 5, when five of them have ended. While the next run is set up, four more end: it takes five of
    nine. Then six of eleven, three of five, and two that are not worth halving.
    """
    net = summed(SlidingWindow("range", 4, 0.25))
    left, _, runs = events(net, {"s": [3.75, 20]}, service=QueueShare(0.5, 1), setup_cost=1)
    assert [start for start, _ in runs[:6]] == [3.75, 5, 8.5, 12.5, 15, 20]
    assert [time for time, _ in left[:6]] == [6.5, 7, 7.5, 8, 8.5, 10]
    assert [time for time, _ in left[13:16]] == [15, 16.5, 17]


def test_an_aggregate_over_an_aggregate_waits_for_it():
    """Counts per 2 s, and of those per 4 s: the result of [0, 2) has the time 2, that of [2, 4) has 4.

    So [0, 4) above has one of them, and waits for it. The second tuple arrives at 1.5 and is served from 3 to 6,
    so [0, 2) closes at 6.
    """
    build = ps.NetworkBuilder()
    build.stream("s", rate=1)
    low = build.aggregate("low", "s", cost=3, close_cost=1, window=SlidingWindow("range", 2))
    build.query("q", build.aggregate("high", low, cost=1, close_cost=1, window=SlidingWindow("range", 4)))
    left, _, runs = events(build.build(), {"s": [0, 1.5, 9]})
    # served from the stream; the close below with its result above, in one run; the close above
    assert runs == [[0, 0], [3, 0], [6, 1], [8, 3], [9, 0], [12, 1], [14, 3]]
    assert left == [(9, 5), (15, 6)]  # the window that ends at 4, and the one that ends with the run at 9


# What every policy owes ---------------------------------------------------------------------------------------


def results_by_definition(net, times, seed):
    """The number of results of each aggregate over a stream, from the definition alone."""
    salt = dict(zip((operator.name for operator in net.operators), salts(seed, len(net.operators)), strict=True))
    feed = sorted((t, place, s) for place, s in enumerate(net.stream_by_name) for t in times.get(s, ()))
    found = Counter()
    for query in net.queries:
        close = net.operator(query.root)
        below = close.inputs[0]
        if close.series is None or net.operator(below).inputs[0] not in net.stream_by_name:
            continue
        position, rows = 0, set()
        for number, (t, _, stream) in enumerate(feed):
            if stream != net.operator(below).inputs[0]:
                continue
            at = position if close.series.kind == "rows" else t
            position += 1
            hashed = mixed(np.uint64(identity_of(number)) * np.uint64(0x9E3779B97F4A7C15) + salt[below])
            group = int(hashed) % (net.operator(below).groups or 1)
            for k in range(int(at // close.series.slide) + 1):
                if k * close.series.slide <= at < k * close.series.slide + close.series.size:
                    rows.add((k, group))
        full = [k for k, _ in rows if close.series.kind == "range" or _end(close, k) <= position]
        found[query.name] = len(full)
    return found


def _end(close, k):
    return k * close.series.slide + close.series.size


def test_results_are_windows_times_groups_in_them():
    checked = 0
    for seed in range(100):
        net, times = aggregates(np.random.default_rng(seed))
        with np.errstate(over="ignore"):
            expected = results_by_definition(net, times, seed)
        found = ps.simulate(net, times, "bsd", seed=seed)
        for query, count in expected.items():
            assert found.per_query[query]["outputs"] == count
            checked += count
    assert checked > 500


@pytest.mark.parametrize("name", [*SEEING, "hnr.level('operator')", "bsd.clustered(2)", "fifo.every(3)"])
def test_no_policy_changes_the_results(name):
    """The same results for the same windows: only when they leave is up to the policy."""
    for seed in range(40):
        net, times = aggregates(np.random.default_rng(seed), joins=False)
        first, other = (ps.simulate(net, times, each, seed=seed, detail=True) for each in ("fifo", name))
        left, also = (
            Counter((q, n) for _, q, n, _, _ in each.detail.departures.tolist()) for each in (first, other)
        )
        assert left == also


@pytest.mark.parametrize("name", SEEING)
def test_nothing_is_left_behind(name):
    """At the end only rows of windows that are not full are in memory."""
    for seed in range(20):
        net, times = aggregates(np.random.default_rng(seed))
        if any(panes.kind == "rows" for panes in net.panes.values()):
            continue
        assert ps.simulate(net, times, name, seed=seed, detail=True).detail.memory[-1, 1] == 0


def test_an_aggregate_changes_no_fate_of_other_queries():
    """Tuples keep their identities, whatever moments are numbered with them."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=10)
    build.query("filter", build.operator("f", "s", cost=0.01, selectivity=0.5))
    alone = build.build()
    window = SlidingWindow("range", 1, 0.25)
    build.query("sum", build.aggregate("sum", "s", cost=0.001, close_cost=0.001, window=window))
    times = {"s": take(Poisson(10), 3, 2000)}
    one, two = (ps.simulate(net, times, "fifo", seed=4, detail=True) for net in (alone, build.build()))
    passed = [np.searchsorted(np.unique(times["s"]), (t - r).round(9)) for t, q, _, r, _ in one.detail.departures]
    also = [
        np.searchsorted(np.unique(times["s"]), (t - r).round(9))
        for t, q, _, r, _ in two.detail.departures
        if q == 0
    ]
    assert passed == also


# What was predicted -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "window",
    [
        SlidingWindow("range", 10, 2),
        SlidingWindow("range", 3),
        SlidingWindow("range", 2, 7),
        SlidingWindow("rows", 500, 200),
        SlidingWindow("rows", 100),
    ],
)
def test_selectivities_costs_and_load_are_as_predicted(window):
    """Over 2,000 s at 50/s, of which 60 % pass: partial rows, results, time spent, all within 2 %."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=50)
    build.operator("f", "s", cost=0.001, selectivity=0.6)
    root = build.aggregate("sum", "f", cost=0.002, close_cost=0.003, window=window, groups=30)
    build.query("q", build.operator("having", root, cost=0.001, selectivity=0.5))
    net = build.build()
    times = checked_times(net, {"s": take(Poisson(50), 7, 100_000)})
    run = SimulationRun(net, times, policy_named("hr"), 5, SimulationOptions())
    course = run.course(Feed(net, times, None), ("hr",), is_what_if=False)
    course.go_on("hr", math.inf)
    work = course.read(np.ones(1)).operators
    tuples, rows = work["sum.partial"].taken, work["sum.partial"].made
    assert rows / tuples == pytest.approx(float(net.operator("sum.partial").selectivity), rel=0.02)
    assert work["sum"].made / rows == pytest.approx(float(net.operator("sum").selectivity), rel=0.02)
    (edge,) = net.in_edges["sum"]
    assert work["sum"].taken / rows == pytest.approx(float(net.panes["sum.partial"].merges("sum")), rel=0.02)
    assert work["sum"].seconds / rows == pytest.approx(float(net.costs[edge]), rel=0.02)
    busy = sum(each.seconds for each in (work[operator.name] for operator in net.operators))
    assert busy / times["s"][-1] == pytest.approx(float(net.load), rel=0.02)
    # the time of a window alone, against T
    found = ps.simulate(net.measured(costs={"f": 1e-9, "sum.partial": 1e-9, "having": 1e-9}), times, "hr", seed=5)
    assert found.metrics["avg_response"] == pytest.approx(float(net.window_work[edge].rows) * 0.003, rel=0.02)
    assert found.metrics["avg_slowdown"] == pytest.approx(1, rel=0.02)


def test_chain_holds_less_than_fifo_and_the_close_is_a_burst():
    """A window of 100 partial rows is merged at once; Chain makes tuples into few rows before all else."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=100)
    window = SlidingWindow("range", 5)
    given = {"window": window, "groups": 100, "cost": 0.002, "close_cost": 0.01, "size": 0.2}
    build.query("sum", build.aggregate("sum", "s", **given))
    build.query("slow", build.operator("slow", "s", cost=0.0055, selectivity=0.9))
    net, times = build.build(), {"s": take(Poisson(100), 1, 20_000)}
    fifo, chain = (ps.simulate(net, times, name) for name in ("fifo", "chain"))
    assert chain.metrics["mean_memory"] < 0.9 * fifo.metrics["mean_memory"]
    assert fifo.per_query["sum"]["max_response"] > 100 * 0.01


# Runs that are steered ----------------------------------------------------------------------------------------


def busy_network():
    build = ps.NetworkBuilder()
    build.stream("s", rate=100)
    for place in range(3):
        given = {"window": SlidingWindow("range", 4, 1 + place), "groups": 20, "by": str(place)}
        build.query(f"q{place}", build.aggregate(f"sum{place}", "s", cost=0.002, close_cost=0.001, **given))
    build.query("f", build.operator("f", "s", cost=0.002, selectivity=0.4))
    return build.build()


def test_a_selection_learns_and_chooses():
    net, times = busy_network(), {"s": take(Poisson(100), 1, 6_000)}
    fixed = ps.simulate(net, times, "hnr", seed=2)
    for selector in ("roulette", "foresight"):
        chosen = Selection("latency", selector, candidates=("fifo", "hnr", "chain"))
        found = ps.simulate(net, times, chosen, seed=2)
        assert {q: each["outputs"] for q, each in found.per_query.items()} == {
            q: each["outputs"] for q, each in fixed.per_query.items()
        }
        queues = found.chosen.looks[0].interval.queues
        assert queues["sum0.partial→sum0"].memory > 0


def test_drop_boxes_before_aggregates():
    """Three times too much: tuples are dropped before they arrive, and results shrink; nothing is scaled."""
    net = busy_network()
    net = net.measured(costs={operator.name: 3 * operator.cost for operator in net.operators})
    times = {"s": take(Poisson(100), 1, 10_000)}
    found = ps.simulate(net, times, "fifo", seed=2, memory=500, shed=True)
    whole = ps.simulate(net, times, "fifo", seed=2)
    assert found.shed.dropped["s"] > 3_000
    assert found.shed.dropped["s"] + found.shed.offered["s"] > 10_000 == found.shed.offered["s"]
    assert found.per_query["f"]["outputs"] < 0.8 * whole.per_query["f"]["outputs"]
    assert found.per_query["q0"]["outputs"] <= whole.per_query["q0"]["outputs"]
    assert found.metrics["max_response"] < whole.metrics["max_response"]


def test_drop_boxes_that_stay_open_change_nothing():
    """Ends of windows are not dropped, and close windows while nothing else happens."""
    net, times = summed(SlidingWindow("range", 4), cost=0.001, close_cost=0.001), {"s": take(Poisson(0.5), 1, 200)}
    whole = ps.simulate(net, times, "fifo", seed=2).metrics
    found = ps.simulate(net, times, "fifo", seed=2, memory=1e6, shed=True).metrics
    assert found["avg_response"] == pytest.approx(whole["avg_response"])
    assert found["outputs"] == whole["outputs"] > 50


def test_windows_of_rows_count_what_is_kept():
    """With drop boxes, rows are counted behind them: fewer windows are full."""
    build = ps.NetworkBuilder()
    build.stream("s", rate=100)
    build.query("q", build.aggregate("sum", "s", cost=0.03, close_cost=0.001, window=SlidingWindow("rows", 10)))
    found = ps.simulate(build.build(), {"s": take(Poisson(100), 1, 5_000)}, "fifo", memory=300, shed=True)
    kept = found.shed.offered["s"] - found.shed.dropped["s"]
    assert kept < 4_000
    assert found.metrics["outputs"] == kept // 10


# What is refused ----------------------------------------------------------------------------------------------


def test_what_is_refused():
    net, times = summed(SlidingWindow("range", 4)), {"s": [0.0, 1.0, 5.0]}
    with pytest.raises(ps.PolicyError, match="impossible at an aggregate over windows"):
        ps.simulate(net, times, "hnr_oracle")
    with pytest.raises(ps.PolicyError, match="share no operators and have no windows"):
        ps.simulate(net, times, "hnr", adaptive=Adaptive())
    for name in ("sum", "sum.partial"):
        with pytest.raises(
            ps.NetworkError, match="has windows: what it makes follows from them, and cannot drift"
        ):
            ps.simulate(net, times, "hnr", drifts=[(1.0, {name: 0.5})])
    with pytest.raises(ps.NetworkError, match="the fractional engine has no windows of aggregates"):
        run_fractional(net, {"s": [0, 1]}, "hnr")
    with pytest.raises(ps.RunError, match="the panes and windows of the aggregates would take"):
        ps.simulate(summed(SlidingWindow("range", 1e-6)), {"s": [0.0, 1e9]}, "fifo")


def test_window_joins_above_windows_are_refused():
    build = ps.NetworkBuilder()
    build.stream("s", rate=1)
    low = build.aggregate("sum", "s", cost=1, close_cost=1, window=SlidingWindow("range", 2))
    having = build.operator("having", low, cost=1)
    build.query("q", build.join("j", [having, "s"], cost=1, windows=[ps.Window("range", 1)] * 2))
    with pytest.raises(ps.NetworkError, match="does not join results of windows yet, and 'j' is a window join"):
        ps.simulate(build.build(), {"s": [0.0, 1.0]}, "fifo")
