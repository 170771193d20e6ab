"""Aggregates: what keys, calls, HAVING and results become, and that the manual lists them."""

import re
from pathlib import Path

import pytest

from penstock.language.aggregates import ALIASES, COUNT_IF, COUNT_IF_ABOUT, FUNCTIONS, NAMES, UNSUPPORTED
from penstock.language.functions import FUNCTIONS as OF_ROWS
from penstock.language.functions import INSTEAD
from penstock.language.statements import GROUPED
from tests.language.asking import query, refused
from tests.language.grouped import bound, calls, having, keys, outputs, sql, written

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts.md"

# What a query becomes -----------------------------------------------------------------------------------------


def test_the_example_of_the_design():
    select = (
        "SELECT src, count(*) AS n, sum(bytes) AS volume, window_start, window_end FROM PACKETS WHERE bytes > 9 "
        "GROUP BY src HAVING count(*) > 100"
    )
    assert keys(select) == ["f0.`src`"]
    assert calls(select) == [("count",), ("sum", "f0.`bytes`")]
    assert having(select) == ["g.`a0` > 100"]
    assert outputs(select) == {
        "src": "g.`k0`",
        "n": "g.`a0`",
        "volume": "g.`a1`",
        "window_start": "g.`window_start`",
        "window_end": "g.`window_end`",
    }
    assert [sql(condition) for condition in bound(select).conditions] == ["f0.`bytes` > 9"]


def test_a_query_without_aggregates_has_no_aggregation():
    assert query("SELECT src FROM packets").aggregation is None


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("count(*)", ("count",)),
        ("Count( * )", ("count",)),
        ("count(1)", ("count",)),
        ("count('x')", ("count",)),
        ("count(TRUE)", ("count",)),
        ("count(x)", ("count", "f0.`x`")),
        ("count(ALL x)", ("count", "f0.`x`")),
        ("`count`(x)", ("count", "f0.`x`")),
        ("count((x))", ("count", "f0.`x`")),
        ("count(n + 1)", ("count", "f0.`n` + 1")),
        ("count(DISTINCT x)", ("count_distinct", "f0.`x`")),
        ("count(DISTINCT x, t, ts)", ("count_distinct", "f0.`x`", "f0.`t`", "f0.`ts`")),
        ("approx_count_distinct(t)", ("approx_count_distinct", "f0.`t`")),
        ("sum(d)", ("sum", "f0.`d`")),
        ("SUM(n * 2)", ("sum", "f0.`n` * 2")),
        ("sum(mod(n, 7) + 1)", ("sum", "(f0.`n` % 7) + 1")),
        ("avg(x)", ("avg", "f0.`x`")),
        ("mean(x)", ("avg", "f0.`x`")),
        ("min(t)", ("min", "f0.`t`")),
        ("max(ts)", ("max", "f0.`ts`")),
        ("max(raw)", ("max", "f0.`raw`")),
        ("min(ok)", ("min", "f0.`ok`")),
        ("std(x)", ("stddev_samp", "f0.`x`")),
        ("stddev(x)", ("stddev_samp", "f0.`x`")),
        ("stddev_samp(x)", ("stddev_samp", "f0.`x`")),
        ("stddev_pop(x)", ("stddev_pop", "f0.`x`")),
        ("variance(x)", ("var_samp", "f0.`x`")),
        ("var_samp(x)", ("var_samp", "f0.`x`")),
        ("var_pop(x)", ("var_pop", "f0.`x`")),
        ("min_by(t, x)", ("min_by", "f0.`t`", "f0.`x`")),
        ("max_by(t, ts)", ("max_by", "f0.`t`", "f0.`ts`")),
        ("first(t)", ("first", "f0.`t`")),
        ("first_value(t)", ("first", "f0.`t`")),
        ("last(t)", ("last", "f0.`t`")),
        ("last_value(t)", ("last", "f0.`t`")),
        ("bool_and(ok)", ("bool_and", "f0.`ok`")),
        ("every(n > 3)", ("bool_and", "f0.`n` > 3")),
        ("bool_or(ok)", ("bool_or", "f0.`ok`")),
        ("some(ok)", ("bool_or", "f0.`ok`")),
        ("any(ok)", ("bool_or", "f0.`ok`")),
        ("any(ok AND n > 3)", ("bool_or", "f0.`ok` AND f0.`n` > 3")),
        ("count_if(n > 3)", ("count", "IF f0.`n` > 3")),
        ("count_if(n > 3) FILTER (WHERE ok)", ("count", "IF (f0.`n` > 3) AND (f0.`ok`)")),
        ("count_if(n > 3 OR ok) FILTER (WHERE ok OR x > 1)",
         ("count", "IF (f0.`n` > 3 OR f0.`ok`) AND (f0.`ok` OR f0.`x` > 1)")),
        ("count(*) FILTER (WHERE n > 3)", ("count", "IF f0.`n` > 3")),
        ("sum(n) FILTER(WHERE (ok) AND n > 3)", ("sum", "f0.`n`", "IF (f0.`ok`) AND f0.`n` > 3")),
        ("min_by(t, x) FILTER (WHERE x IS NOT NULL)", ("min_by", "f0.`t`", "f0.`x`", "IF NOT f0.`x` IS NULL")),
        ("sum(NULLIF(n, 0))", ("sum", "NULLIF(f0.`n`, 0)")),
        ("sum(CASE WHEN ok THEN n DIV 2 ELSE 0 END)", ("sum", "CASE WHEN f0.`ok` THEN f0.`n` DIV 2 ELSE 0 END")),
        ("max(CAST(t AS INT))", ("max", "CAST(f0.`t` AS INT)")),
    ],
)  # fmt: skip
def test_calls(call, found):
    assert calls(f"SELECT {call} AS v FROM KINDS") == [found]
    assert outputs(f"SELECT {call} AS v FROM KINDS") == {"v": "g.`a0`"}
    assert outputs(f"SELECT {call} FROM KINDS") == {call: "g.`a0`"}


def test_every_function_is_tried_and_known_to_the_parser():
    [mark] = test_calls.pytestmark
    tried = {found[0] for _, found in mark.args[1]}
    assert tried == FUNCTIONS.keys()
    names = {re.match(r"`?(\w+)", call)[1].lower() for call, _ in mark.args[1]}
    assert names == NAMES - UNSUPPORTED.keys()
    assert set(ALIASES.values()) <= FUNCTIONS.keys()
    assert not NAMES & (OF_ROWS.keys() | INSTEAD.keys())


def test_equal_calls_appear_once():
    select = (
        "SELECT count(*) AS a, COUNT(1) + sum(n) AS b, sum( n ) AS c, sum(n) FILTER (WHERE ok) AS d, "
        "Sum((N)) FILTER (WHERE ok) AS e, mean(x) AS f FROM KINDS HAVING avg(x) > count(*) AND max(t) > 'a'"
    )
    assert calls(select) == [
        ("count",),
        ("sum", "f0.`n`"),
        ("sum", "f0.`n`", "IF f0.`ok`"),
        ("avg", "f0.`x`"),
        ("max", "f0.`t`"),
    ]
    assert outputs(select) == {
        "a": "g.`a0`",
        "b": "g.`a0` + g.`a1`",
        "c": "g.`a1`",
        "d": "g.`a2`",
        "e": "g.`a2`",
        "f": "g.`a3`",
    }
    assert having(select) == ["g.`a3` > g.`a0`", "g.`a4` > 'a'"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("round(sum(n) / count(*), 2)", "ROUND(g.`a0` / g.`a1`, 2)"),
        ("CASE WHEN count(*) > 3 THEN min(t) ELSE 'x' END", "CASE WHEN g.`a0` > 3 THEN g.`a1` ELSE 'x' END"),
        ("sum(n) DIV 3", "g.`a0` DIV 3"),
        ("sum(n)::STRING || t", "CAST(g.`a0` AS STRING) || g.`k0`"),
        ("max(ts) + INTERVAL 1 DAY", "g.`a0` + INTERVAL '1' DAY"),
        ("upper(t) || min(t)", "UPPER(g.`k0`) || g.`a0`"),
        ("any(ok) AND NOT every(ok)", "g.`a0` AND NOT g.`a1`"),
        ("min(n) BETWEEN 1 AND 3", "g.`a0` BETWEEN 1 AND 3"),
        ("1 + 1", "1 + 1"),
        ("year(window_start)", "YEAR(g.`window_start`)"),
        ("unix_timestamp(WINDOW_END) - unix_timestamp(window_start)",
         "UNIX_TIMESTAMP(g.`window_end`) - UNIX_TIMESTAMP(g.`window_start`)"),
    ],
)  # fmt: skip
def test_expressions_around_aggregates(expression, found):
    assert outputs(f"SELECT {expression} AS v FROM KINDS GROUP BY t") == {"v": found}


def test_types_of_results_are_known_outside():
    """min(x) is what x is, whole: of an array it has elements, of a struct fields."""
    select = "SELECT first(id).PORT + 1 AS a, upper(last(tags)[0]) AS b, max_by(id, rows).`A b`.c AS c FROM LOGS"
    assert outputs(select) == {
        "a": "g.`a0`['port'] + 1",
        "b": "UPPER(g.`a1`[0])",
        "c": "g.`a2`['a b']['c']",
    }


# Keys ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("count(*) AS n FROM PACKETS GROUP BY src", ["f0.`src`"]),
        ("count(*) AS n FROM PACKETS GROUP BY SRC, packets.dst", ["f0.`src`", "f0.`dst`"]),
        ("count(*) AS n FROM PACKETS GROUP BY (src), ((dst))", ["f0.`src`", "f0.`dst`"]),
        ("count(*) AS n FROM PACKETS GROUP BY src, src, upper(src)", ["f0.`src`", "UPPER(f0.`src`)"]),
        ("count(*) AS n FROM PACKETS GROUP BY bytes + 1, bytes > 3", ["f0.`bytes` + 1", "f0.`bytes` > 3"]),
        ("count(*) AS n FROM PACKETS GROUP BY date_trunc('hour', at)", ["DATE_TRUNC('HOUR', f0.`at`)"]),
        ("count(*) AS n FROM PACKETS GROUP BY IF(bytes > 3, 1, 2)", ["IF(f0.`bytes` > 3, 1, 2)"]),
        # Positions
        ("upper(src) AS u, count(*) AS n FROM PACKETS GROUP BY 1", ["UPPER(f0.`src`)"]),
        ("count(*) AS n, src, dst || 'x' FROM PACKETS GROUP BY (3), 2", ["f0.`dst` || 'x'", "f0.`src`"]),
        # Aliases
        ("upper(src) AS U, count(*) AS n FROM PACKETS GROUP BY u", ["UPPER(f0.`src`)"]),
        (
            "dst AS d, upper(src) `u v`, count(*) AS n FROM PACKETS GROUP BY `U v`, d",
            ["UPPER(f0.`src`)", "f0.`dst`"],
        ),
        ("upper(src) AS src, count(*) AS n FROM PACKETS GROUP BY src", ["f0.`src`"]),  # the column
        # What is the same in all rows of a window
        ("count(*) AS n FROM PACKETS GROUP BY src, window_start, Window_End", ["f0.`src`"]),
        ("count(*) AS n FROM PACKETS GROUP BY window_start", []),
        ("count(*) AS n FROM PACKETS GROUP BY date_trunc('DAY', window_start), src", ["f0.`src`"]),
        ("date_trunc('DAY', window_end) AS d, count(*) AS n FROM PACKETS GROUP BY d, src", ["f0.`src`"]),
        ("'x' AS k, 1 AS one, count(*) AS n FROM PACKETS GROUP BY k, src, 2", ["f0.`src`"]),
    ],
)
def test_keys(select, found):
    assert keys(f"SELECT {select}") == found


def test_without_group_by_there_is_one_group_for_each_window():
    assert keys("SELECT count(*) FROM PACKETS") == []
    assert having("SELECT 1 AS one FROM PACKETS HAVING count(*) > 3") == ["g.`a0` > 3"]


def test_group_by_without_aggregates():
    assert (keys("SELECT src FROM PACKETS GROUP BY src, dst"), calls("SELECT src FROM PACKETS GROUP BY src")) == (
        ["f0.`src`", "f0.`dst`"],
        [],
    )


@pytest.mark.parametrize(
    ("expression", "group", "found"),
    [
        ("bytes + 1", "bytes + 1", "g.`k0`"),
        ("(bytes + 1) * 2", "bytes + 1", "(g.`k0`) * 2"),
        ("bytes + 1 + 2", "(bytes + 1)", "g.`k0` + 2"),
        ("bytes  +  1", "packets.BYTES + 1", "g.`k0`"),
        ("bytes + 1", "bytes", "g.`k0` + 1"),
        ("bytes + 1", "bytes, bytes + 1", "g.`k1`"),
        ("bytes + bytes", "bytes", "g.`k0` + g.`k0`"),
        ("UPPER(src)", "upper(src)", "g.`k0`"),
        ("upper(src) || lower(src)", "lower(src), upper(src)", "g.`k1` || g.`k0`"),
        ("CASE WHEN src = 'a' THEN dst END", "src, dst", "CASE WHEN g.`k0` = 'a' THEN g.`k1` END"),
        ("src LIKE 'a%' AND bytes > 3", "src, bytes > 3", "g.`k0` LIKE 'a%' AND g.`k1`"),
    ],
)
def test_the_largest_part_that_equals_a_key_becomes_its_column(expression, group, found):
    assert outputs(f"SELECT {expression} AS v FROM PACKETS GROUP BY {group}") == {"v": found}
    assert having(f"SELECT 1 AS a FROM PACKETS GROUP BY {group} HAVING ({expression}) IS NULL") in (
        [f"({found}) IS NULL"],
        [f"(({found})) IS NULL"],
    )


@pytest.mark.parametrize(("expression", "group"), [("'a' || src", "'A' || src"), ("bytes + 1.0", "bytes + 1")])
def test_what_is_only_alike_is_not_a_key(expression, group):
    assert (
        "neither in GROUP BY"
        in refused(written(f"SELECT {expression} AS v FROM PACKETS GROUP BY {group}")).message
    )


def test_fields_and_elements_are_keys():
    select = "SELECT id.Port AS p, tags[0] || 'x' AS t FROM LOGS GROUP BY ID.port, tags[0]"
    assert keys(select) == ["f0.`id`['port']", "f0.`tags`[0]"]
    assert outputs(select) == {"p": "g.`k0`", "t": "g.`k1` || 'x'"}
    assert list(outputs("SELECT id.PORT, id.`a b`.c FROM LOGS GROUP BY 1, 2")) == ["port", "c"]


def test_equal_lambdas_are_equal_whatever_their_variables_are_called():
    one, other = "exists(tags, {0} -> {0} LIKE 'a%')", "forall(ns, {0} -> {0} > 3)"
    group = f"{other.format('x')}, {one.format('y')}"
    select = f"SELECT {one.format('v')} AND {other.format('v')} AS b FROM LOGS GROUP BY {group}"
    assert outputs(select) == {"b": "g.`k1` AND g.`k0`"}
    inside = "SELECT exists(tags, t -> t = `user agent`) AS b FROM LOGS GROUP BY `user agent`, tags[0]"
    assert "column tags is neither in GROUP BY" in refused(written(inside)).message


def test_tables_may_be_joined():
    select = "SELECT h.owner, count(*) AS n FROM PACKETS AS p JOIN hosts h ON p.src = h.ip GROUP BY owner"
    assert keys(select) == ["f1.`owner`"]
    assert [sql(each) for each in bound(select).conditions] == ["f0.`src` = f1.`ip`"]


# DISTINCT -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "grouped", "found"),
    [
        ("SELECT DISTINCT src, dst FROM PACKETS", ["f0.`src`", "f0.`dst`"], {"src": "g.`k0`", "dst": "g.`k1`"}),
        ("SELECT DISTINCT bytes + 1 AS b FROM PACKETS", ["f0.`bytes` + 1"], {"b": "g.`k0`"}),
        ("SELECT DISTINCT src, src AS s FROM PACKETS", ["f0.`src`"], {"src": "g.`k0`", "s": "g.`k0`"}),
        (
            "SELECT DISTINCT src, window_start, 3 AS three FROM PACKETS",
            ["f0.`src`"],
            {"src": "g.`k0`", "window_start": "g.`window_start`", "three": "3"},
        ),
        ("SELECT DISTINCT window_end FROM PACKETS", [], {"window_end": "g.`window_end`"}),
        (
            "SELECT DISTINCT h.* FROM PACKETS, hosts h",
            ["f1.`ip`", "f1.`owner`", "f1.`floor`"],
            {"ip": "g.`k0`", "owner": "g.`k1`", "floor": "g.`k2`"},
        ),
        (
            "SELECT DISTINCT window_start, window_end FROM TIMES",
            ["f0.`window_start`"],
            {"window_start": "g.`k0`", "window_end": "g.`window_end`"},
        ),
    ],
)
def test_distinct(select, grouped, found):
    assert (keys(select), calls(select), outputs(select)) == (grouped, [], found)


# HAVING and the names of the window ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("count(*) AS n FROM PACKETS HAVING n > 3 AND (N < 9 AND sum(bytes) > 1)",
         ["g.`a0` > 3", "g.`a0` < 9", "g.`a1` > 1"]),
        ("count(*) * 2 AS n FROM PACKETS HAVING n * 2 > 3", ["(g.`a0` * 2) * 2 > 3"]),
        ("upper(src) AS u FROM PACKETS GROUP BY u HAVING u LIKE 'A%'", ["g.`k0` LIKE 'A%'"]),
        ("src AS u FROM PACKETS GROUP BY src HAVING u = src", ["g.`k0` = g.`k0`"]),
        ("src AS src FROM PACKETS GROUP BY src HAVING src = 'a'", ["g.`k0` = 'a'"]),
        ("max(bytes) AS bytes FROM PACKETS HAVING bytes > 3", ["g.`a0` > 3"]),
        ("max(bytes) AS bytes FROM PACKETS HAVING min(bytes) > 3", ["g.`a1` > 3"]),
        ("count(*) > 3 AND max(bytes) > 1 AS b FROM PACKETS HAVING b", ["g.`a0` > 3", "g.`a1` > 1"]),
        ("1 AS one FROM PACKETS HAVING window_end > '2026-01-31'", ["g.`window_end` > '2026-01-31'"]),
        ("count(*) AS n FROM PACKETS HAVING count(*) > 3 OR NULL", ["g.`a0` > 3 OR NULL"]),
    ],
)  # fmt: skip
def test_having(select, found):
    assert having(f"SELECT {select}") == found


@pytest.mark.parametrize(
    ("select", "found"),
    [
        ("window_start AS w, max(window_start) AS m FROM TIMES", ("g.`window_start`", [], "f0.`window_start`")),
        (
            "window_start AS w, max(v) AS m FROM TIMES GROUP BY window_start",
            ("g.`k0`", ["f0.`window_start`"], "f0.`v`"),
        ),
        (
            "times.window_start AS w, max(v) AS m FROM TIMES GROUP BY window_start",
            ("g.`k0`", ["f0.`window_start`"], "f0.`v`"),
        ),
        (
            "year(window_start) AS w, max(v) AS m FROM TIMES GROUP BY year(window_start)",
            ("g.`k0`", ["YEAR(f0.`window_start`)"], "f0.`v`"),
        ),
        (
            "window_start AS w, max(v) AS m FROM TIMES GROUP BY host",
            ("g.`window_start`", ["f0.`host`"], "f0.`v`"),
        ),
    ],
)
def test_a_column_that_is_called_like_the_window(select, found):
    [call] = calls(f"SELECT {select}")
    assert (outputs(f"SELECT {select}")["w"], keys(f"SELECT {select}"), call[1]) == found


def test_trees_carry_no_places():
    made = bound(
        "SELECT upper(src) AS u, sum(bytes) FILTER (WHERE bytes > 1) AS s FROM PACKETS GROUP BY 1 HAVING s > 1"
    )
    grouping = made.aggregation
    [call] = grouping.calls
    trees = [
        *grouping.keys,
        *call.arguments,
        call.condition,
        *grouping.having,
        *(o.expression for o in made.outputs),
    ]
    assert [node.meta for tree in trees for node in tree.walk() if node.meta] == []


def test_results_read_groups_alone():
    made = bound(
        "SELECT src || max(dst) AS a, window_end FROM PACKETS GROUP BY src HAVING src > 'a' AND min(dst) > 'b'"
    )
    trees = (*made.aggregation.having, *(output.expression for output in made.outputs))
    columns = [column for tree in trees for column in tree.find_all(type(made.aggregation.keys[0]))]
    assert {column.table for column in columns} == {GROUPED}
    assert all(column.this.quoted for column in columns)


# The manual ------------------------------------------------------------------------------------------


def test_the_manual_lists_the_aggregates():
    _, _, behind = SCRIPTS.read_text().partition("\n### Aggregate functions\n")
    table = behind.strip().split("\n\n")[0]
    rows = [(each.written, each.about) for each in FUNCTIONS.values()] + [COUNT_IF_ABOUT]
    names = ("`, `".join(re.findall(r"\w+\([^)]*\)", shown)) for shown, _ in rows)
    listed = [f"| `{shown}` | {about} |" for shown, (_, about) in zip(names, rows, strict=True)]
    assert [line for line in table.splitlines() if line.startswith("| `")] == listed
    assert COUNT_IF in NAMES
