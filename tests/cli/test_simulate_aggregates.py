"""Aggregates in network files of `penstock simulate`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.simulate import runs
from penstock.cli.simulate.network_file import network_from, network_of
from penstock.cli.simulate.workload import kinds_of
from penstock.errors import NetworkError, PenstockError
from penstock.network import NetworkBuilder, SlidingWindow

EXAMPLE = Path(__file__).parents[2] / "examples" / "aggregates.toml"
CLOSES = EXAMPLE.with_name("closes.toml")
SUM = {"name": "sum", "input": "s", "window": "10 s", "cost": "1ms", "close_cost": "2ms"}
FEW = {"stream": [{"name": "s", "rate": 10}], "query": [{"root": "sum"}]}
runner = CliRunner()


def made(**changes):
    return network_of({**FEW, "aggregate": [{**SUM, **changes}]})


def test_a_file_builds_what_a_builder_builds():
    build = NetworkBuilder()
    build.stream("s", rate=10)
    common = {"cost": 0.001, "close_cost": 0.002, "groups": 7, "by": "host"}
    build.query("q1", build.aggregate("sum", "s", window=SlidingWindow("range", 10, 2), having=0.5, **common))
    build.query(
        "q2", build.aggregate("more", "s", window=SlidingWindow("range", 4), size=2, **common | {"by": ""})
    )
    build.query("q3", build.aggregate("least", "s", window=SlidingWindow("range", 3), result_size=3, **common))
    same = {"input": "s", "cost": "1ms", "close_cost": 0.002, "groups": 7}
    given = [
        {"name": "sum", "window": "10 s", "slide": "2 s", "by": "host", "having": 0.5, **same},
        {"name": "more", "window": "4 s", "size": 2, **same},
        {"name": "least", "window": "3 s", "by": "host", "result_size": 3, **same},
    ]
    roots = [{"root": each["name"]} for each in given]
    net = network_of({**FEW, "aggregate": given, "query": roots})
    assert net == build.build()
    assert len([operator for operator in net.operators if operator.kind == "aggregate"]) == 2
    rows = made(window=100, slide=20, groups=3)
    assert rows.operator("sum").series == SlidingWindow("rows", 100, 20)
    assert rows.operator("sum.partial").groups == 3


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"widow": 5}, "aggregate 'sum' has no key 'widow'. Did you mean 'window'?"),
        ({"slide": 5}, "the window and the slide of aggregate 'sum' are both times, or both numbers of rows"),
        ({"window": "5 parsecs"}, "the window of aggregate 'sum'"),
        ({"window": 1.5}, "aggregate 'sum': the size of a sliding rows window is a whole number of rows, not 1.5"),
        ({"groups": 0}, "groups of operator 'sum.partial' must be at least 1"),
        ({"having": 2}, "operator 'sum' is a select and cannot have a selectivity above 1"),
        ({"input": "strem"}, "'sum.partial' reads 'strem'"),
        ({"close_cost": 0}, "cost of operator 'sum' must be above 0"),
        ({"by": 3}, "what aggregate 'sum' groups by is a text, not 3"),
    ],
)
def test_what_is_wrong_is_named(changes, says):
    with pytest.raises(PenstockError) as caught:
        made(**changes)
    assert says in str(caught.value)


def test_a_rate_is_needed_for_windows_of_time():
    with pytest.raises(NetworkError, match="whose rate is unknown: give the stream a rate"):
        network_of({**FEW, "stream": [{"name": "s"}], "aggregate": [SUM]})
    with pytest.raises(NetworkError, match="has no close_cost"):
        network_of({**FEW, "aggregate": [{key: SUM[key] for key in SUM if key != "close_cost"}]})


def test_the_example_runs_near_saturation_under_several_policies():
    net = network_from(EXAMPLE)
    assert 0.9 < net.load < 1
    assert len(net.queries) == 40
    arguments = ["simulate", str(EXAMPLE), "--tuples", "4000", "--json", "-p", "fifo", "-p", "hnr", "-p", "chain"]
    result = runner.invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    found = {each["name"]: each["metrics"] for each in json.loads(result.stdout)["policies"]}
    assert len({each["outputs"] for each in found.values()}) == 1
    assert found["hnr"]["avg_slowdown"] < found["fifo"]["avg_slowdown"]
    assert found["chain"]["mean_memory"] < found["fifo"]["mean_memory"]


def test_queries_with_aggregates_are_told_from_others():
    kinds = kinds_of(network_from(CLOSES))
    assert {name: kind == "aggregates" for name, kind in kinds.items()} == {
        name: name.startswith("q") for name in kinds
    }
    assert len(kinds) == 30
    assert kinds_of(network_of({**FEW, "query": [{"stream": "s", "operators": [[1, 1]]}]})) == {}


def test_the_oldest_close_waits_least_under_fifo():
    arguments = ["simulate", str(CLOSES), "--tuples", "8000", "-p", "fifo", "-p", "hnr", "-p", "brt"]
    result = runner.invoke(app, [*arguments, "--json"], catch_exceptions=False)
    found = {each["name"]: each["per_class"] for each in json.loads(result.stdout)["policies"]}
    closes = {name: each["aggregates"] for name, each in found.items()}
    assert closes["fifo"]["max_response"] < min(closes["hnr"]["max_response"], closes["brt"]["max_response"])
    assert closes["fifo"]["p99_response"] < min(closes["hnr"]["p99_response"], closes["brt"]["p99_response"])
    for each in closes.values():
        assert each["avg_response"] < each["p99_response"] < each["max_response"]
    # A run's results are those of both kinds
    assert all(each["other queries"]["outputs"] > 0 for each in found.values())
    shown = runner.invoke(app, arguments, catch_exceptions=False).output
    assert "Results of aggregates, from the end of the window" in shown
    assert "99 %" in shown


def test_without_every_event_there_is_no_percentile(monkeypatch):
    monkeypatch.setattr(runs, "MOST_EVENTS", 1000)
    arguments = ["simulate", str(CLOSES), "--tuples", "2000", "-p", "fifo"]
    found = json.loads(runner.invoke(app, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert "p99_response" not in found["policies"][0]["per_class"]["aggregates"]
    shown = runner.invoke(app, arguments, catch_exceptions=False).output
    assert "Results of aggregates" in shown
    assert "99 %" not in shown
