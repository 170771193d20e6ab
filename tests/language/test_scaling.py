"""`CREATE QUERY q WITH (scaled = true)`: which calls are scaled, and what is said of queries that cannot be."""

import pytest

from penstock.language import Script
from penstock.plan.group_differences import differences
from penstock.plan.plan import Plan
from penstock.plan.steps import Aggregate
from tests.language.asking import DECLARED, refusal
from tests.language.grouped import written

_NEEDS = "scaled = true needs a query with count, sum or avg: only these are scaled"
_DERIVED = "scaled = true is not supported over a subquery or a derived stream"
REFUSED = [
    ("scaled = true", "SELECT src FROM packets", _NEEDS, "scaled = true"),
    ("scaled = true", "SELECT DISTINCT src FROM PACKETS", _NEEDS, "scaled = true"),
    ("scaled = true", "SELECT max(bytes) AS m, count(DISTINCT src) AS n FROM PACKETS", _NEEDS, "scaled = true"),
    ("scaled = true", "SELECT src FROM packets UNION ALL SELECT dst FROM packets", _NEEDS, "scaled = true"),
    ("Scaled = TRUE", "SELECT count(*) AS n FROM (SELECT src FROM packets) [RANGE 1 SECOND SLIDE 1 SECOND] AS x",
     _DERIVED, "Scaled = TRUE"),
    ("scaled = true", "SELECT count(*) AS n FROM KINDS", "[ROWS n] counts the rows that were kept",
     "scaled = true"),
    ("scaled = 1", "SELECT count(*) AS n FROM PACKETS", "option scaled must be true or false", "scaled = 1"),
    ("scaled = 'true'", "SELECT count(*) AS n FROM PACKETS", "option scaled must be true or false",
     "scaled = 'true'"),
    ("scale = true", "SELECT count(*) AS n FROM PACKETS", "a query has no option 'scale'. Did you mean 'scaled'?",
     "scale = true"),
    ("weight = 3", "SELECT count(*) AS n FROM PACKETS", "a query has no option 'weight'. There is scaled",
     "weight = 3"),
    ("scaled = true, scaled = true", "SELECT count(*) AS n FROM PACKETS", "option 'scaled' is given twice",
     "scaled"),
    ("scaled = true scaled", "SELECT count(*) AS n FROM PACKETS", "expected , or ) after option scaled", "scaled"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "select", "says", "marked"), REFUSED)
def test_what_is_refused(options, select, says, marked):
    found = refusal(f"{DECLARED}CREATE QUERY q WITH ({options})\nAS {written(select)};")
    assert says in found.message
    assert found.marked == marked
    assert found.line == DECLARED.count("\n") + 1


def test_as_is_still_expected():
    assert refusal("CREATE QUERY q SELECT 1;").message == "expected AS after CREATE QUERY q, not 'SELECT'"
    assert "expected AS after CREATE QUERY q" in refusal("CREATE QUERY q WITH (scaled = true) SELECT 1;").message


def of(*queries: str) -> Script:
    texts = (f"CREATE QUERY q{number} {written(query)};\n" for number, query in enumerate(queries))
    return Script.parse(DECLARED + "".join(texts))


def test_counts_sums_and_averages_are_scaled_and_nothing_else():
    select = (
        "AS SELECT src, count(*) AS a, count_if(bytes > 3) AS b, sum(bytes) FILTER (WHERE bytes > 1) AS c, "
        "max(bytes) AS d, stddev(bytes) AS e, count(DISTINCT dst) AS f FROM PACKETS GROUP BY src "
        "HAVING avg(bytes) > 2"
    )
    script = of(f"WITH (scaled = true) {select}", select, f"WITH (scaled = false) {select}")
    scaled, plain, off = script.queries.values()
    assert [(call.function, call.scaled) for call in scaled.aggregation.calls] == [
        ("count", True),
        ("count", True),
        ("sum", True),
        ("max", False),
        ("stddev_samp", False),
        ("count_distinct", False),
        ("avg", True),
    ]
    assert scaled.sql == plain.sql == off.sql
    assert not any(call.scaled for query in (plain, off) for call in query.aggregation.calls)


def test_scaled_and_other_calls_share_panes_but_no_columns():
    select = "AS SELECT src, count(*) AS n, max(bytes) AS m FROM PACKETS GROUP BY src"
    plan = Plan.of(of(f"WITH (scaled = true) {select}", select))
    [panes] = [step for step in plan.steps.values() if isinstance(step, Aggregate)]
    assert [call.sql for call in panes.calls] == ["count(*)", "max(`bytes`)", "scaled count(*)"]
    assert len({call.name for call in panes.calls}) == 3


def test_groups_have_only_scaled_queries_or_only_others():
    select = "AS SELECT count(*) AS n FROM PACKETS WHERE bytes > "
    scaled = f"WITH (scaled = true) {select}"
    plan = Plan.of(of(f"{scaled}1", f"{select}1", f"{scaled}2", f"{select}2"))
    assert [sorted(group.members) for group in plan.groups.values()] == [["q0", "q2"], ["q1", "q3"]]
    [found] = differences(plan.queries, plan.templates)
    assert (found.what, {found.here, found.there}) == ("option scaled", {"true", "false"})
