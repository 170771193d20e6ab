"""The benchmark of policies with aggregates: its queries, what the simulator predicts, how both are compared."""

from math import lcm

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from penstock.bench.policies.aggregates import K_VALUES, aggregates
from penstock.bench.policies.closes import CloseResponses, RunClock
from penstock.bench.policies.figures import PolicyRun, means
from penstock.bench.policies.prediction import Model, compared, windows_of, with_windows
from penstock.bench.policies.run import Bench, _check
from penstock.bench.policies.workload import Input, Workload
from penstock.cli.app import app
from penstock.errors import RunError
from penstock.language import Script
from penstock.network import Network
from penstock.plan.plan import Plan, never
from penstock.policies import policy_named


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    text = aggregates().script(tmp_path_factory.mktemp("none"), Input(1000.0, 10, seed=1))
    return Plan.of(Script.parse(text), never)


def test_twenty_aggregates_and_twenty_filters_none_of_which_shares_work(plan):
    work = aggregates()
    assert {kind: len(names) for kind, names in work.kinds.items()} == {"aggregates": 20, "filters": 20}
    assert len(plan.network.queries) == 40
    assert plan.groups == {}
    assert all(len(paths) == 1 for edge, paths in plan.network.suffixes.items())
    assert len(set(work.queries.values())) == 40


def test_all_windows_of_time_close_together_and_groups_are_equally_likely(plan):
    slides = [int(each.slide) for each in windows_of(plan).values() if each.kind == "range"]
    assert len(slides) == 16
    assert lcm(*slides) == max(slides) == 8
    assert all(K_VALUES % groups == 0 for groups in aggregates().groups.values())


def test_the_simulator_gets_windows_groups_and_costs(plan):
    net = plan.network.measured(rates={"s": 1000.0})
    found = with_windows(net, windows_of(plan), aggregates().groups)
    assert len(found.panes) == 20
    first = found.operator("aggregate.1")
    # 4 groups in a pane of two seconds with 2000 rows
    assert float(first.selectivity) == pytest.approx(4 / 2000)
    assert float(found.S(found.suffixes[found.in_edges["aggregate.1"][0]][0])) == pytest.approx(4 / 2000)


def model(setup_s=1.0):
    net = Network.chains([[(4.0, 1.0)], [(1.0, 1.0)]])
    return Model(net, setup_s, {"q1": 4.0, "q2": 1.0})


@pytest.mark.parametrize(
    ("policy", "response", "slowdown"),
    [
        # Two rows wait for each query. Results of q1 at 5 and 9, of q2 at 11 and 12.
        ("fifo", 9.25, (5 / 4 + 9 / 4 + 11 + 12) / 4),
        # Results of q2 at 2 and 3, of q1 at 8 and 12.
        ("hnr", 6.25, (2 + 3 + 8 / 4 + 12 / 4) / 4),
    ],
)
def test_a_prediction_is_what_is_computed_by_hand(policy, response, slowdown):
    work = Workload("two", {"q1": "", "q2": ""}, 0)
    found = model().run(work, policy_named(policy), [0.0, 0.0], seed=1)
    assert found["outputs"] == 4
    assert found["avg_response"] == pytest.approx(response)
    assert found["avg_slowdown"] == pytest.approx(slowdown)
    assert found["kinds"] == {}


def runs(kinds=(), **responses):
    made = []
    for policy, each in responses.items():
        own = {"avg_response": each, "avg_slowdown": 2 * each}
        made.append({"policy": policy, **own, "kinds": {kind: dict(own) for kind in kinds}})
    return made


def test_orders_are_compared():
    found = compared(runs(["aggregates"], a=1, b=2, c=3), runs(["aggregates"], c=1, b=5, a=4))
    assert [(each["results"], each["figure"]) for each in found] == [
        ("all results", "avg_response"),
        ("all results", "avg_slowdown"),
        ("aggregates", "avg_response"),
        ("aggregates", "avg_slowdown"),
    ]
    assert found[0]["measured"] == ["a", "b", "c"]
    assert found[0]["predicted"] == ["c", "a", "b"]
    # one pair of three is in the same order
    assert found[0]["tau"] == pytest.approx(-1 / 3)


def test_means_are_of_kinds_too():
    found = means([*runs(["x"], a=1), *runs(["x"], a=2)])
    assert found == [
        {
            "policy": "a",
            "avg_response": 1.5,
            "avg_slowdown": 3,
            "kinds": {"x": {"avg_response": 1.5, "avg_slowdown": 3}},
        }
    ]


def made_run(policy, outputs):
    return PolicyRun(*(1.0,) * 6, policy, 1, outputs, 30.0, 5, 0.9, 0.01)


def test_policies_must_not_change_results():
    _check([made_run("fifo", 1000), made_run("hnr", 998)], by_time=True)
    with pytest.raises(RunError, match="do not agree"):
        _check([made_run("fifo", 1000), made_run("hnr", 998)], by_time=False)
    with pytest.raises(RunError, match="do not agree"):
        _check([made_run("fifo", 1000), made_run("hnr", 900)], by_time=True)


class StillClock(RunClock):
    def now_us(self):
        return 10_000_000


def test_responses_of_closes_are_from_the_ends_of_windows():
    sink = CloseResponses(StillClock())
    ends = pa.array([9_000_000] * 99 + [4_000_000], pa.timestamp("us", tz="UTC"))
    sink.emit("a", pa.table({"window_end": ends}))
    sink.emit("b", pa.table({"k": [1, 2, 3]}))
    assert sink.p99 == 1.0
    sink.emit("a", pa.table({"window_end": ends[-1:]}))
    assert sink.p99 == 6.0


def test_runs_begin_at_the_same_time():
    clocks = [RunClock(), RunClock()]
    before = clocks[0].now_us()
    for clock in clocks:
        clock.begin()
    one, other = (clock.now_us() for clock in clocks)
    assert abs(one - other) < 1_000_000
    assert one > before
    assert one % 8_000_000 < 1_000_000


def test_a_workload_that_does_not_exist():
    found = CliRunner().invoke(app, ["bench", "policies", "--workload", "aggregate"])
    assert found.exit_code == 2
    assert "Did you mean 'aggregates'" in found.output


@pytest.mark.slow
def test_spark_runs_all_queries(spark, tmp_path):
    runtime, closes = Bench(aggregates(), spark, tmp_path).run("bsd", Input(100.0, 1200, seed=1, speed=1000.0))
    recorded = runtime.engine.recorder.queries
    assert recorded["light9500"].response.count > 1000
    assert recorded["aggregate1_4"].response.count >= 4 * 5
    assert recorded["aggregate17_25"].response.count == 25
    assert closes.p99 > 0
