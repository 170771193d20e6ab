"""Groups without Spark: whose rows are whose, and what a group's priority stands for."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock.language import Script
from penstock.plan.columns import numbers
from penstock.plan.plan import Plan
from penstock.policies import POLICIES, units_of
from penstock.runtime.group_rows import constants_of, named_rows, seen_by_members, split
from penstock.runtime.query_state import QueryState
from penstock.runtime.recorder import Recorder

SCRIPT = """
    CREATE STREAM s (k INT, v INT) FROM poisson WITH (rate = 10);
    CREATE QUERY a AS SELECT v, 'x' AS rule FROM s WHERE v > 1;
    CREATE QUERY b AS SELECT v, 'y' AS rule FROM s WHERE v > 2;
    CREATE QUERY c AS SELECT v, 'z' AS rule FROM s WHERE v > 3;
"""


def group():
    [found] = Plan.of(Script.parse(SCRIPT)).groups.values()
    return found


def test_the_table_of_constants():
    assert constants_of(group()).to_pylist() == [
        {"c0": 1, "c1": "x", "__q": 0},
        {"c0": 2, "c1": "y", "__q": 1},
        {"c0": 3, "c1": "z", "__q": 2},
    ]


@pytest.mark.parametrize("seed", range(20))
def test_rows_go_to_the_members_that_see_them(seed):
    """Against a loop over the rows: starts, ends, members that failed or have left."""
    random = Random(seed)
    whole = group()
    gone = random.choice([None, *whole.members])
    there = whole if gone is None else whole.without(gone)
    states = {name: QueryState(query, {"s": 0}) for name, query in Script.parse(SCRIPT).queries.items()}
    for state in states.values():
        state.starts["s"] = random.choice([0, 0, 20])
        state.ends = random.choice([None, {"s": 70}])
        state.status = random.choice(["running", "running", "running", "failed"])
    rows = [(random.randrange(3), number, 1_000_000 + random.randrange(100)) for number in range(100)]
    table = pa.table(
        {
            "v": pa.array([number for _, number, _ in rows], pa.int32()),
            "__q": pa.array([member for member, _, _ in rows], pa.int32()),
            "__seq0": [number for _, number, _ in rows],
            "__a": [arrival for _, _, arrival in rows],
        }
    )
    wanted = {name: [] for name in states}
    waited = {name: [] for name in states}
    for member, number, arrival in rows:
        name = "abc"[member]
        state = states[name]
        end = 1000 if state.ends is None else state.ends["s"]
        if name != gone and state.live and state.starts["s"] <= number < end:
            wanted[name].append(number)
            waited[name].append((2_000_000 - arrival) / 1e6)
    seen, members = seen_by_members(there, states, table)
    got = {name: part["v"].to_pylist() for name, part in split(named_rows(there, seen, members))}
    assert got == {name: numbers for name, numbers in wanted.items() if numbers}
    recorder = Recorder()
    for name in states:
        recorder.query_created(name)
    recorder.group_results(there, members, (2_000_000 - numbers(seen, "__a")) / 1e6, 0.5)
    for name, recorded in recorder.queries.items():
        assert recorded.response.count == len(wanted[name])
        if wanted[name]:
            assert recorded.response.mean == pytest.approx(np.mean(waited[name]))
            assert recorded.response.most == pytest.approx(max(waited[name]))
            assert recorded.slowdown.l2 == pytest.approx(np.sqrt(np.sum(np.square(waited[name]))) / 0.5)


@pytest.mark.parametrize("policy", ["hnr", "hr", "bsd"])
def test_a_group_has_the_priority_of_its_queries_that_share_an_operator(policy):
    """SCLP08 (9): the sum of the members' gains ÷ what the set costs. The join with the constants is shared."""
    shares, join, project = [0.01, 0.02, 0.3], 5e-6, 2e-6
    build = ps.NetworkBuilder()
    build.stream("s")
    build.operator("join", "s", cost=join)
    for place, share in enumerate(shares):
        build.operator(f"own{place}", "join", cost=1e-15, selectivity=share)
        build.operator(f"project{place}", f"own{place}", cost=project)
        build.query(f"q{place}", f"project{place}")
    entry = next(unit for unit in units_of(build.build(), POLICIES[policy].shared("sum")) if unit.name == "s→join")
    plan = Plan.of(Script.parse(SCRIPT))
    measured = plan.network.measured(
        costs={"lookup.1": join, "project.2": project}, selectivities={"lookup.1": sum(shares)}
    )
    group_unit = next(unit for unit in units_of(measured, POLICIES[policy]) if unit.name == "s→lookup.1")
    assert group_unit.static == pytest.approx(entry.static, rel=1e-6)
    pdt = next(unit for unit in units_of(build.build(), POLICIES[policy].shared("pdt")) if unit.name == "s→join")
    assert group_unit.static == pytest.approx(pdt.static, rel=1e-6)
