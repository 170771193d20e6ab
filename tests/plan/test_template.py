"""Query templates: which queries have the same one, and the types of its slots."""

from decimal import Decimal

import pytest

from penstock.plan.template import template_of
from tests.language.asking import plan, query

TWO = "FROM packets [ROWS 5] p, replies [ROWS 6] r WHERE p.src = r.host"

ALIKE = [
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > -40"),
    ("SELECT src FROM packets WHERE bytes > 1 AND dst = 'x'",
     "SELECT src FROM packets WHERE dst = 'y' AND bytes > 2"),
    ("SELECT src FROM packets WHERE bytes BETWEEN 1 AND 2", "SELECT src FROM packets WHERE bytes BETWEEN 5 AND 9"),
    ("SELECT src FROM packets WHERE bytes IN (1, 2)", "SELECT src FROM packets WHERE bytes IN (4, 4)"),
    ("SELECT bytes + 1 AS b FROM packets", "SELECT bytes + 20 AS b FROM packets"),
    ("SELECT 'low' AS rule, src FROM packets", "SELECT 'high' AS rule, src FROM packets"),
    ("SELECT src FROM packets WHERE bytes > (7)", "SELECT src FROM packets WHERE bytes > (8)"),
    ("SELECT owner FROM packets JOIN hosts ON src = ip WHERE floor = 1",
     "SELECT owner FROM packets, hosts WHERE floor = 2 AND src = ip"),
    (f"SELECT code {TWO} AND bytes > 1", f"SELECT code {TWO} AND bytes > 2"),
    ("SELECT n FROM kinds WHERE d > 5", "SELECT n FROM kinds WHERE d > 1234567"),
    ("SELECT n FROM kinds WHERE x > 1e3", "SELECT n FROM kinds WHERE x > 2.5e1"),
    ("SELECT n FROM kinds WHERE d > 1.25", "SELECT n FROM kinds WHERE d > -9.99"),
]  # fmt: skip

UNLIKE = [
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes >= 1"),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src AS s FROM packets WHERE bytes > 1"),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > 3000000000"),
    ("SELECT src FROM packets WHERE bytes > 1", "SELECT src FROM packets WHERE bytes > 1.5"),
    ("SELECT src FROM packets WHERE bytes > 1.5", "SELECT src FROM packets WHERE bytes > 1.55"),
    ("SELECT src FROM packets WHERE bytes IN (1, 2)", "SELECT src FROM packets WHERE bytes IN (1, 2, 3)"),
    ("SELECT src FROM packets WHERE bytes > 1 AND src LIKE 'a%'",
     "SELECT src FROM packets WHERE bytes > 1 AND src LIKE 'b%'"),
    ("SELECT src FROM packets WHERE bytes > 1 AND LEFT(src, 1) = 'a'",
     "SELECT src FROM packets WHERE bytes > 1 AND LEFT(src, 2) = 'a'"),
    ("SELECT src FROM packets WHERE bytes > 1 AND at > at - INTERVAL 1 SECOND",
     "SELECT src FROM packets WHERE bytes > 1 AND at > at - INTERVAL 2 SECONDS"),
    (f"SELECT code {TWO} AND bytes > 1", f"SELECT code {TWO.replace('ROWS 5', 'ROWS 4')} AND bytes > 1"),
    ("SELECT n FROM kinds WHERE d * 2 > 5.0", "SELECT n FROM kinds WHERE d * 3 > 5.0"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_other_constants_give_the_same_template(one, other):
    (template, _), (same, _) = template_of(query(one)), template_of(query(other))
    assert template == same
    made = plan(one, other)
    [only] = made.network.queries
    assert made.served_by(only.name) == ("q0", "q1")


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_any_other_difference_gives_another_template(one, other):
    assert template_of(query(one))[0] != template_of(query(other))[0]
    assert plan(one, other).groups == {}


@pytest.mark.parametrize(
    ("select", "types", "values"),
    [
        ("SELECT src FROM packets WHERE bytes > -5", ["INT"], [-5]),
        ("SELECT src FROM packets WHERE bytes > 2147483648", ["BIGINT"], [2**31]),
        ("SELECT n FROM kinds WHERE d > 0.05", ["DECIMAL(2,2)"], [Decimal("0.05")]),
        ("SELECT n FROM kinds WHERE d > 12.50", ["DECIMAL(4,2)"], [Decimal("12.50")]),
        ("SELECT n FROM kinds WHERE n > 99999999999999999999", ["DECIMAL(20,0)"], [Decimal(99999999999999999999)]),
        ("SELECT n FROM kinds WHERE x > 1e3", ["DOUBLE"], [1000.0]),
        ("SELECT 'it''s' AS t FROM packets", ["STRING"], ["it's"]),
        ("SELECT src FROM packets WHERE dst = 'x' AND bytes > 1", ["INT", "STRING"], [1, "x"]),
        ("SELECT src AS query FROM packets WHERE bytes > 1", ["INT"], [1]),
    ],
)
def test_slots_have_the_types_that_spark_gives_literals(select, types, values):
    template, found = template_of(query(select))
    assert (list(template.types), list(found)) == (types, values)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT src FROM packets",  # nothing could differ
        "SELECT src FROM packets WHERE dst LIKE 'a%'",
        "SELECT p.src FROM packets [ROWS 5] p, packets [ROWS 5] q WHERE p.bytes * q.bytes = p.bytes AND 1 < 2",
    ],
)
def test_queries_that_stay_alone(select):
    assert template_of(query(select)) is None
