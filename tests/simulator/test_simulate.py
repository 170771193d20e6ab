"""`simulate`: what it is given, refuses and says; that its numbers are right is in tests/reference."""

import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from penstock.errors import ArrivalError, NetworkError, PolicyError, RunError
from penstock.policies import policy_named
from penstock.simulator import run_fractional
from penstock.simulator.attributes import Attributes
from penstock.simulator.simulate import Adaptive
from penstock.workloads import population
from penstock.workloads.populations import Predicate

NET = ps.Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]], stream="s")
METRICS = {
    "avg_response", "max_response", "l2_response", "avg_slowdown", "max_slowdown", "l2_slowdown",
    "outputs", "mean_memory", "peak_memory",
}  # fmt: skip


def test_the_call_of_the_design():
    result = ps.simulate(NET, arrivals={"s": np.array([0.0, 1.0, 9.0])}, policy="hnr", seed=3)
    assert set(result.metrics) >= METRICS
    assert set(result.per_query) == {"q1", "q2"}
    assert result.series["outputs"].sum() == result.metrics["outputs"]


def test_where_every_tuple_passes_it_is_the_fractional_engine():
    """With selectivities of 1 there is no chance: the papers' own engine, in fractions, must say the same."""
    net = ps.Network.chains([[(2, 1), (0.5, 1)], [(1, 1)], [(0.25, 1), (4, 1), (1, 1)]])
    times = {"s": [0, 0, 1, 1.5, 20, 20.25]}
    for name in (
        "fifo",
        "hr",
        "hnr",
        "bsd",
        "lsf",
        "brt",
        "srpt",
        "chain",
        "greedy",
        "round_robin",
        "aurora",
        "mtiq",
    ):
        expected = run_fractional(net, times, name).metrics
        got = ps.simulate(net, times, name).metrics
        assert {key: got[key] for key in expected} == pytest.approx(expected, rel=1e-12), name


def test_selectivities_come_out():
    net = ps.Network.chains([[(1e-6, 0.3)], [(1e-6, 0.3), (1e-6, 0.5)]])
    result = ps.simulate(net, {"s": np.arange(20_000.0)}, "fifo", seed=1)
    assert result.per_query["q1"]["outputs"] == pytest.approx(6000, rel=0.05)
    assert result.per_query["q2"]["outputs"] == pytest.approx(3000, rel=0.07)


def test_every_policy_meets_the_same_tuples():
    net = population("sclp08", queries=20, load=0.9).network
    times = {"s": np.sort(np.random.default_rng(1).random(500) * 5)}
    outputs = {name: ps.simulate(net, times, name, seed=4).stats[:, 0].tolist() for name in ps.POLICIES}
    assert len(set(map(tuple, outputs.values()))) == 1
    assert ps.simulate(net, times, "fifo", seed=5).stats[:, 0].tolist() != outputs["fifo"]


def test_attributes_decide():
    """Ranges round the end: 0.9 to 0.1."""
    values = np.array([[0.95], [0.05], [0.5], [0.89], [0.0999]])
    net = ps.Network.chains([[(1.0, 0.2)]])
    attributes = Attributes({"s": values}, {"q1.o1": Predicate(0, 0.9)})
    result = ps.simulate(net, {"s": np.arange(5.0)}, "fifo", attributes=attributes, detail=True)
    assert result.detail.departures[:, 2].tolist() == [0, 1, 4]


def test_series_add_up_however_long_it_runs():
    """Far more work than time: the intervals must double several times."""
    net = ps.Network.chains([[(3.0, 1.0)], [(40.0, 0.5)]])
    result = ps.simulate(net, {"s": np.linspace(0, 10, 50)}, "hr", bins=16)
    assert len(result.series["time"]) <= 16
    assert result.series["outputs"].sum() == result.metrics["outputs"]
    mean = (result.series["mean_memory"] * result.width).sum() / result.seconds
    assert mean == pytest.approx(result.metrics["mean_memory"])
    assert result.series["peak_memory"].max() == result.metrics["peak_memory"]


def test_memory_by_hand():
    """Two tuples at 0 and one at 1; service takes 2: three wait from 1 to 2, two until 4, one until 6."""
    result = ps.simulate(ps.Network.chains([[(2.0, 1.0)]]), {"s": [0, 0, 1]}, "fifo", detail=True)
    assert result.detail.memory.tolist() == [[0, 2], [1, 3], [2, 2], [4, 1], [6, 0]]
    assert result.metrics["mean_memory"] == (2 + 3 + 4 + 2) / 6
    assert result.metrics["peak_memory"] == 3


def test_a_load_above_1_runs_and_says_so():
    result = ps.simulate(NET, {"s": np.arange(50.0)}, "fifo")
    assert result.load > 7
    assert "more arrives than one processor can do" in result.notes[0]
    assert ps.simulate(NET, {"s": np.arange(0, 500.0, 10)}, "fifo").notes == ()


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"s": [0, 2, 1]}, "arrival 2 of stream 's', 1, comes before"),
        ({"s": [-1, 2]}, "arrival 0 of stream 's', -1, is negative"),
        ({"s": [0, np.nan]}, "arrival 1 of stream 's', nan, is not a number"),
        ({"s": []}, "nothing arrives"),
        ({}, "nothing arrives"),
        ({"t": [0]}, "there is no stream 't'"),
        ({"s": "soon"}, "must be a list of times"),
        ({"s": [[0, 1]]}, "one list"),
        ([0, 1], "a mapping from stream to times"),
    ],
)
def test_bad_arrivals(times, says):
    with pytest.raises(ArrivalError, match=says):
        ps.simulate(NET, times, "fifo")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"policy": "hnrr"}, "Did you mean 'hnr'"),
        ({"setup_cost": -1}, "the set-up cost must be at least 0"),
        ({"memory": 0}, "the memory limit must be above 0"),
        ({"seed": -1}, "a seed must be a whole number"),
        ({"bins": 1}, "the number of intervals"),
        ({"search": "magic"}, "'scan' or 'fagin'"),
        ({"decision_cost": -1}, "the cost of a decision"),
        ({"service": 3}, "the simulator serves by"),
        ({"policy": "chain", "adaptive": Adaptive()}, "adaptive statistics are for policies that rank paths"),
        ({"policy": "threshold", "adaptive": Adaptive()}, "adaptive statistics and a threshold"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(PolicyError, match=says):
        ps.simulate(NET, {"s": [0, 1]}, **{"policy": "fifo"} | settings)


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'setup_cots'.*'setup_cost'"):
        ps.simulate(NET, {"s": [0]}, "fifo", setup_cots=1.0)
    with pytest.raises(TypeError, match="positional argument"):
        ps.simulate(NET, {"s": [0]}, "fifo", 0, 1.0)


def test_adaptive_settings_are_checked():
    for settings, says in (({"alpha": 2}, "at most 1"), ({"alpha": -1}, "at least 0"), ({"window": 0}, "above 0")):
        with pytest.raises(PolicyError, match=says):
            Adaptive(**settings)


def test_an_oracle_cannot_foresee_a_join():
    made = population("sclp08_two_streams", queries=2)
    with pytest.raises(PolicyError, match="impossible at a window join"):
        ps.simulate(made.network, made.times(1, count=10), "hr_oracle")


def test_joins_have_two_inputs():
    build = ps.NetworkBuilder()
    streams = [build.stream(name, rate=1) for name in "abc"]
    build.query("q", build.join("j", streams, cost=1, windows=[ps.Window("rows", 1)] * 3))
    with pytest.raises(NetworkError, match="two inputs at a time, and 'j' has 3"):
        ps.simulate(build.build(), {"a": [0]}, "fifo")


def test_pairs_match_once_and_windows_hold_whole_rows():
    for selectivity, rows, says in ((1.5, 2, "at most 1, not 1.5"), (0.5, 2.5, "whole rows, not 2.5")):
        build = ps.NetworkBuilder()
        streams = [build.stream(name, rate=1) for name in "ab"]
        windows = [ps.Window("rows", rows)] * 2
        build.query("q", build.join("j", streams, cost=1, selectivity=selectivity, windows=windows))
        with pytest.raises(NetworkError, match=says):
            ps.simulate(build.build(), {"a": [0]}, "fifo")


def test_ctrl_c_is_one():
    """It comes while compiled code runs, and must not turn into an error of Python's own."""
    code = (
        "import signal, threading, os, time, numpy as np, penstock as ps\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell in the background ignores it
        "net = ps.Network.chains([[(1e-6, 0.5)]] * 300)\n"
        "ps.simulate(net, {'s': [0.0]}, 'bsd')\n"
        "threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    ps.simulate(net, {'s': np.arange(500_000.0)}, 'bsd')\n"
        "except KeyboardInterrupt:\n    print('stopped')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "stopped\n", done.stderr


def test_what_would_not_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 1024)
    with pytest.raises(RunError, match="would not fit"):
        ps.simulate(NET, {"s": np.arange(100_000.0)}, "fifo", detail=True)


def test_a_percentile_of_some_queries():
    net = ps.Network.chains([[(1.0, 1.0)], [(4.0, 1.0)]])
    result = ps.simulate(net, {"s": [0, 0, 0, 0]}, "hnr", detail=True)
    # Results of q1 leave at 1, 2, 3 and 4, those of q2 at 8, 12, 16 and 20
    assert [result.response_percentile(["q1"], share) for share in (0.25, 0.26, 1.0)] == [1, 2, 4]
    assert result.response_percentile(["q1", "q2"], 0.75) == 12
    assert result.response_percentile([], 0.5) is None
    with pytest.raises(RunError, match="detail=True"):
        ps.simulate(net, {"s": [0]}, "hnr").response_percentile(["q1"], 0.5)


def test_per_class_adds_up():
    made = population("sclp08", queries=30, load=0.8)
    result = ps.simulate(made.network, made.times(1, count=300), "hr")
    classes = result.per_class(made.classes)
    assert sum(each["outputs"] for each in classes.values()) == result.metrics["outputs"]
    with pytest.raises(NetworkError, match="no query 'x'"):
        result.per_class({"x": "a"})


def test_fagin_sees_no_more_than_a_scan():
    made = population("sclp08", queries=60, load=0.7)
    times = made.times(1, count=200)
    cost = min(made.network.costs.values()) / 100
    spent = {
        search: ps.simulate(made.network, times, "bsd", decision_cost=cost, search=search).metrics["avg_response"]
        for search in ("scan", "fagin")
    }
    assert spent["fagin"] <= spent["scan"]


def test_names_load_numba_only_when_needed():
    code = (
        "import penstock, sys; assert 'numba' not in sys.modules; penstock.simulate; assert 'numba' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert policy_named("hnr").name == "hnr"
