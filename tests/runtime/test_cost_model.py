"""What jobs cost, estimated: c0, per unit, per row of a window; and windows that send only what can match."""

import numpy as np
import pyarrow as pa
import pytest

from penstock.language import Script
from penstock.plan.plan import Plan, never
from penstock.runtime.cost_model import SETUP_S, UNIT_S, CostModel
from penstock.runtime.stream_log import matching
from penstock.runtime.work import Outcome

SCRIPT = """
    CREATE STREAM s (k INT, v INT) FROM poisson WITH (rate = 10);
    CREATE QUERY a AS SELECT v FROM s WHERE v > 1;
"""


def network():
    return Plan.of(Script.parse(SCRIPT), never).network


def learnt(jobs):
    """Costs after jobs of (units, window rows, rows, seconds)."""
    costs, net = CostModel(), network()
    for units, window_rows, rows, seconds in jobs:
        taken = {"select.1": rows, "project.2": rows}
        costs.record(net, Outcome({}, taken, taken, window_rows), rows, seconds, units)
        net = costs.applied(net, {})
    costs.estimate()
    return costs


def test_the_terms_are_told_apart_when_jobs_differ():
    random = np.random.default_rng(1)
    jobs = []
    for _ in range(100):
        units, window, rows = int(random.integers(1, 9)), int(random.integers(0, 200_000)), 1000
        seconds = 0.08 + 0.03 * units + 2e-6 * window + 1e-6 * rows
        jobs.append((units, window, rows, seconds * random.uniform(0.97, 1.03)))
    costs = learnt(jobs)
    assert costs.setup_s == pytest.approx(0.08, rel=0.25)
    assert costs.unit_s == pytest.approx(0.03, rel=0.15)
    assert costs.window_row_s == pytest.approx(2e-6, rel=0.15)


def test_what_jobs_do_not_tell_apart_is_shared_out_as_assumed():
    costs = learnt([(1, 0, 10, 0.14)] * 50)
    assert costs.setup_s + costs.unit_s == pytest.approx(0.14, rel=0.05)
    assert costs.setup_s / costs.unit_s == pytest.approx(SETUP_S / UNIT_S, rel=0.5)
    assert min(costs.setup_s, costs.unit_s, costs.window_row_s) > 0


def test_what_has_not_run_yet_is_expected_to_cost_what_its_kind_does():
    script = SCRIPT + "CREATE QUERY b AS SELECT v, k FROM s WHERE k > 1;"
    net = Plan.of(Script.parse(script), never).network
    ran = [operator.name for operator in net.operators if net.users[operator.name] == ("a",)]
    costs = CostModel()
    for job in range(60):
        rows = 1000 if job % 2 else 40_000
        taken = dict.fromkeys(ran, rows)
        costs.record(net, Outcome({}, taken, taken, 0), rows, SETUP_S + UNIT_S + rows * 2 * 5e-6, 1)
        net = costs.applied(net, {})
    for operator in net.operators:
        assert operator.cost == pytest.approx(5e-6, rel=0.3), operator.name


def test_one_that_is_dear_does_not_make_all_others_of_its_kind_look_dear():
    """A row costs a 0.25 microseconds an operator, b (which ran last) a hundred times that; c never ran."""
    more = "CREATE QUERY b AS SELECT v, k FROM s WHERE k > 1; CREATE QUERY c AS SELECT k FROM s WHERE v = k;"
    net = Plan.of(Script.parse(SCRIPT + more), never).network
    costs = CostModel()
    runs = [("a", 2.5e-7, 40_000), ("a", 2.5e-7, 400_000), ("b", 2.5e-5, 4_000), ("b", 2.5e-5, 40_000)]
    for query, each, rows in runs * 40 + [("b", 2.5e-5, 40_000)] * 20:
        taken = {op.name: rows for op in net.operators if net.users[op.name] == (query,)}
        costs.record(net, Outcome({}, taken, taken, 0), rows, SETUP_S + UNIT_S + rows * 2 * each, 1)
        net = costs.applied(net, {})
    for operator in net.operators:
        if net.users[operator.name] == ("c",):
            assert operator.cost == pytest.approx(2.5e-6, rel=0.5)


def test_too_few_jobs_say_nothing():
    assert learnt([(1, 0, 10, 5.0)] * 4).setup_s == SETUP_S


@pytest.mark.parametrize(
    ("kind", "keys", "left"),
    [
        (pa.int32(), pa.chunked_array([pa.array([1, None, 3], pa.int32())]), [0, 2]),
        (pa.int32(), pa.chunked_array([pa.array([3, 2**40], pa.int64())]), [2]),  # INT = BIGINT
        (pa.int32(), pa.chunked_array([pa.array(["1"], pa.string())]), [0, 1, 2, 3]),  # left to Spark
        (pa.int32(), pa.chunked_array([], pa.int32()), []),
    ],
)
def test_only_rows_that_can_match_are_sent(kind, keys, left):
    window = pa.table({"k": pa.array([1, 2, 3, None], kind), "place": [0, 1, 2, 3]})
    assert matching(window, {"k": keys})["place"].to_pylist() == left
