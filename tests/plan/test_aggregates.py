"""Aggregates in a plan: what queries share, which of them are a group, and how large panes are."""

import pytest

from penstock.language import Script
from penstock.plan.aggregates import kept
from penstock.plan.plan import Plan
from penstock.plan.steps import Aggregate, Call, Close, Lookup, Order

PACKETS = "CREATE STREAM packets (src STRING, bytes INT, x DOUBLE) FROM poisson WITH (rate = 10);\n"
SECOND = 1_000_000


def planned(*selects: str, streams: str = PACKETS) -> Plan:
    queries = (f"CREATE QUERY q{number} AS {select};" for number, select in enumerate(selects))
    return Plan.of(Script.parse(streams + "\n".join(queries)))


def steps_of_kind(plan: Plan, kind: type) -> list:
    return [plan.steps[op.name] for op in plan.network.operators if isinstance(plan.steps[op.name], kind)]


def window(size: int, slide: int) -> str:
    return f"[RANGE {size} SECONDS SLIDE {slide} SECONDS]"


def test_queries_with_other_aggregates_share_panes():
    plan = planned(
        f"SELECT src, count(*) AS n FROM packets {window(10, 10)} GROUP BY src",
        f"SELECT sum(bytes) AS b, src FROM packets {window(4, 2)} GROUP BY src HAVING max(x) > 1",
    )
    [panes] = steps_of_kind(plan, Aggregate)
    assert panes.pane == 2 * SECOND
    assert [call.sql for call in panes.calls] == ["count(*)", "max(`x`)", "sum(`bytes`)"]
    assert [step.window.size for step in steps_of_kind(plan, Close)] == [10 * SECOND, 4 * SECOND]


def test_the_order_of_keys_does_not_matter_but_filters_do():
    together = planned(
        f"SELECT count(*) AS n FROM packets {window(1, 1)} GROUP BY src, bytes",
        f"SELECT count(*) AS n, min(x) AS m FROM packets {window(1, 1)} GROUP BY bytes, src",
    )
    assert len(steps_of_kind(together, Aggregate)) == 1
    apart = planned(
        f"SELECT count(*) AS n FROM packets {window(1, 1)} GROUP BY src",
        f"SELECT min(x) AS n FROM packets {window(1, 1)} WHERE bytes IS NULL GROUP BY src",
    )
    assert len(steps_of_kind(apart, Aggregate)) == 2


def test_panes_that_are_too_different_are_not_shared():
    plan = planned(
        f"SELECT count(*) AS n FROM packets {window(60, 60)}",
        "SELECT max(x) AS m FROM packets [RANGE 7 MILLISECONDS SLIDE 7 MILLISECONDS]",
    )
    assert sorted(step.pane for step in steps_of_kind(plan, Aggregate)) == [7_000, 60 * SECOND]


def test_windows_of_rows_and_of_time_have_panes_of_their_own():
    plan = planned(
        f"SELECT count(*) AS n FROM packets {window(1, 1)}",
        "SELECT max(x) AS m FROM packets [ROWS 100 SLIDE 40]",
    )
    assert {(step.by, step.pane) for step in steps_of_kind(plan, Aggregate)} == {("range", SECOND), ("rows", 20)}


def test_queries_that_differ_only_in_windows_are_a_group_without_constants_for_rows():
    plan = planned(*(f"SELECT src, count(*) AS n FROM packets {window(n, 1)} GROUP BY src" for n in (1, 2, 5)))
    [group] = plan.groups.values()
    assert len(group.members) == 3
    assert [step.pane for step in steps_of_kind(plan, Aggregate)] == [SECOND]
    assert [step.table.name for step in steps_of_kind(plan, Lookup)] == ["group 1"]


def test_equal_constants_for_rows_are_one_variant():
    selects = [
        f"SELECT count(*) AS n FROM packets {window(size, 1)} WHERE bytes > {low} HAVING count(*) > {least}"
        for size, low, least in ((1, 5, 1), (2, 5, 9), (3, 70, 1), (4, 5, 1))
    ]
    plan = planned(*selects)
    [group] = plan.groups.values()
    assert [(member.number, member.variant) for member in group.members.values()] == [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 0),
    ]
    assert [variant.values for variant in group.variants.values()] == [(5,), (70,)]
    below, above = steps_of_kind(plan, Lookup)
    assert below.table.name == "group 1 variants"
    assert above.table.name == "group 1"


def test_a_group_gets_smaller_panes_when_a_query_joins_it():
    script = Script.parse(
        PACKETS
        + "".join(f"CREATE QUERY q{n} AS SELECT count(*) AS n FROM packets {window(n, n)};" for n in (4, 8, 6))
    )
    first, second, third = script.queries.values()
    plan = Plan().with_query(first).with_query(second).with_query(third)
    [group] = plan.groups.values()
    assert list(group.members) == ["q8", "q6"]  # the first goes on alone
    assert plan.pane_of("aggregate.1") == 2 * SECOND
    left = plan.without_query("q6").without_query("q8")
    assert left.groups == {}
    assert len(left.steps) == 3


def test_a_query_does_not_join_a_group_whose_panes_would_become_too_small():
    odd = "[RANGE 1001 MILLISECONDS SLIDE 1001 MILLISECONDS]"
    plan = planned(*(f"SELECT count(*) AS n FROM packets {each}" for each in (window(1, 1), window(2, 1), odd)))
    assert [len(group.members) for group in plan.groups.values()] == [2, 1]


def test_derived_streams_are_operators_that_queries_share():
    streams = PACKETS + "CREATE STREAM big AS SELECT src, bytes FROM packets WHERE bytes > 9;\n"
    plan = planned("SELECT src FROM big", "SELECT bytes FROM big WHERE src = 'a'", streams=streams)
    [order] = steps_of_kind(plan, Order)
    assert plan.network.operator("big").inputs == ("project.2",)
    assert order.branches == (("src", "bytes"),)
    assert [stream.name for stream in plan.network.streams] == ["packets"]
    assert plan.type_of("big", "bytes") == "INT"


@pytest.mark.parametrize(
    ("function", "kind", "made"),
    [
        ("sum", "INT", ["sum(CAST(`x` AS BIGINT))"]),
        ("sum", "BIGINT", ["sum(shiftright(`x`, 32))", "sum(`x` & 4294967295L)"]),
        ("sum", "DECIMAL(9,2)", ["sum(`x`)"]),
        ("avg", "DOUBLE", ["sum(CAST(`x` AS DOUBLE))", "count(`x`)"]),
        ("count", "STRING", ["count(`x`)"]),
        ("approx_count_distinct", "DATE", ["hll_sketch_agg(CAST(`x` AS STRING))"]),
    ],
)
def test_how_aggregates_are_kept(function, kind, made):
    assert [part.made for part in kept(Call(function, ("`x`",)), [kind]).parts] == made


def test_filter_is_part_of_every_aggregate_that_is_kept():
    parts = kept(Call("avg", ("`x`",), "`f`"), ["INT"]).parts
    assert all(part.made.endswith(" FILTER (WHERE (`f`))") for part in parts)
    [deviation] = kept(Call("var_pop", ("`x`",), "`f`"), ["INT"]).parts
    assert deviation.made.count("FILTER (WHERE (`f`))") == 4
