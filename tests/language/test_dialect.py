"""What Spark is given means what was written: no part is lost, regrouped or read another way."""

import pytest
from sqlglot import exp

from penstock import ScriptError
from penstock.language.dialect import DIALECT
from tests.language.asking import plan, query, refused
from tests.language.test_type_check import GOOD


def given(expression):
    """The SQL that Spark is given for an expression."""
    [*_, project] = plan(f"SELECT {expression} AS v FROM kinds").steps.values()
    [(sql, _)] = project.columns
    return sql


@pytest.mark.parametrize("expression", GOOD)
def test_reading_what_was_written_gives_it_again(expression):
    sql = given(expression)
    [tree] = DIALECT.parse(f"SELECT {sql}")
    assert DIALECT.generate(tree.expressions[0]) == sql
    [written] = DIALECT.parse(f"SELECT {sql}")
    assert tree == written


@pytest.mark.parametrize(
    "around", ["NOT {}", "-{}", "~{}", "1 - {}", "2 * {} * 3", "{} || t", "ok = {}", "{} IS NULL"]
)
def test_parts_keep_together_in_a_larger_expression(around):
    """Where sqlglot writes a function as an operator, as it does MOD, what is around it may not take it apart."""
    for expression in GOOD:
        try:
            tree = query(f"SELECT {around.format(expression)} AS v FROM kinds").outputs[0].expression
        except ScriptError:
            continue  # it does not fit there
        again = DIALECT.parse(f"SELECT {DIALECT.generate(tree)}")[0].expressions[0]
        assert repr(again) == repr(tree) or expression == "'a' 'b'"


@pytest.mark.parametrize(
    ("written", "sql"),
    [
        # Strings: a doubled quote is a quote since Spark 4, and a backslash escapes
        ("'it''s'", r"'it\'s'"),
        ("'it\\'s'", r"'it\'s'"),
        ('"say ""a"""', "'say \"a\"'"),
        ('"it\'s"', r"'it\'s'"),
        ("''", "''"),
        ("''''", r"'\''"),
        (r"'a\nb'", r"'a\nb'"),
        (r"'\\d+'", r"'\\d+'"),
        (r"'\d+'", "'d+'"),
        (r"'100\%'", r"'100\\%'"),
        (r"'\101'", "'A'"),
        ("'a' 'b'", "CONCAT('a', 'b')"),
        ("'ünï 🙂'", "'ünï 🙂'"),
        # Numbers
        ("1e3", "1e3"),
        (".5", "0.5"),
        ("1.50", "1.50"),
        ("- -n", "- -`n`"),
        ("n - -1", "`n` - -1"),
        ("mod(n + 1, 2) * 3", "((`n` + 1) % 2) * 3"),
        ("~mod(n, 2)", "~(`n` % 2)"),
        ("3 * mod(n, 2)", "3 * (`n` % 2)"),
        ("div(n, 2)", "(`n` DIV 2)"),
        ("n DIV 2", "`n` DIV 2"),
        ("1 - (2 - n)", "1 - (2 - `n`)"),
        # Casts
        ("n::STRING", "CAST(`n` AS STRING)"),
        ("int(t)", "CAST(`t` AS INT)"),
        ("CAST(t AS INT)", "CAST(`t` AS INT)"),
        ("TRY_CAST(t AS INT)", "TRY_CAST(`t` AS INT)"),
        ("CAST(t AS VARCHAR(3))", "CAST(`t` AS STRING)"),
        ("CAST(n AS NUMERIC(5, 2))", "CAST(`n` AS DECIMAL(5, 2))"),
        ("DATE '2026-01-31'", "CAST('2026-01-31' AS DATE)"),
        # Conditions
        ("n IS NOT NULL", "NOT `n` IS NULL"),
        ("t NOT LIKE 'a'", "`t` NOT LIKE 'a'"),
        ("t NOT LIKE '!a' ESCAPE '!'", "`t` NOT LIKE '!a' ESCAPE '!'"),
        ("NOT (ok AND n > 1)", "NOT (`ok` AND `n` > 1)"),
        ("(NOT ok) = ok", "(NOT `ok`) = `ok`"),
        ("n <=> 1", "`n` IS NOT DISTINCT FROM 1"),
        ("t RLIKE 'a'", "`t` RLIKE 'a'"),
        ("t ILIKE 'a'", "`t` ILIKE 'a'"),
        # Functions
        ("nvl(n, 0)", "NVL(`n`, 0)"),
        ("log(x)", "LOG(`x`)"),
        ("regexp_extract(t, 'a')", "REGEXP_EXTRACT(`t`, 'a')"),
        ("regexp_extract(t, 'a', 0)", "REGEXP_EXTRACT(`t`, 'a', 0)"),
        ("trim(LEADING 'x' FROM t)", "TRIM(LEADING 'x' FROM `t`)"),
        ("ltrim('x', t)", "LTRIM('x', `t`)"),
        ("date_trunc('hour', ts)", "DATE_TRUNC('HOUR', `ts`)"),
        ("year(ts)", "YEAR(`ts`)"),
        ("ts - INTERVAL 90 MINUTES", "`ts` - INTERVAL '90' MINUTES"),
        ("ts - INTERVAL '1 day 2 hours'", "`ts` - INTERVAL '1 day 2 hours'"),
        ("coalesce(n /* a comment */, 0) -- more", "COALESCE(`n`, 0)"),
    ],
)
def test_what_spark_is_given(written, sql):
    expression = written.replace("-- more", "/* more */")
    assert given(expression) == sql


@pytest.mark.parametrize("written", ["7L", "10S", "3Y", "1.5D", "1.5F", "1.5BD", "7l"])
def test_a_letter_behind_a_number_is_refused(written):
    """Spark counts the digits of 7L where it meets a DECIMAL; CAST(7 AS BIGINT), as sqlglot writes it, has 20."""
    found = refused(f"SELECT d / {written} AS v FROM kinds")
    assert "a letter after a number is not supported" in found.message
    assert found.marked == written


def test_every_part_of_a_tree_knows_its_place():
    sql = "SELECT upper(a) || CASE WHEN b IN (1, 2) THEN CAST(c AS INT) END FROM t LEFT JOIN u ON (a = b)"
    parts = {
        sql[node.meta["start"] : node.meta["end"] + 1]
        for node in DIALECT.parse(sql)[0].walk()
        if "start" in node.meta and not isinstance(node, exp.Identifier)
    }
    assert parts >= {
        "upper(a)",
        "CASE WHEN b IN (1, 2) THEN CAST(c AS INT) END",
        "b IN (1, 2)",
        "CAST(c AS INT)",
        "LEFT JOIN u ON (a = b)",
        "(a = b)",
        "t",
    }
