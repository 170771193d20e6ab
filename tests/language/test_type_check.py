"""Types: what fits, and what is said, at which place, of what does not."""

import pytest

from tests.language.asking import DECLARED, plan, query, refused

GOOD = [
    # Literals
    "1", "1.5", "1e10", "-1", ".5", "9223372036854775808", "9" * 38, "0." + "9" * 38,
    "1e308", "'x'", "\"x\"", "'a' 'b'", "TRUE",
    # Truth
    "ok AND n > 1", "ok OR NOT ok", "!ok", "NOT NOT ok", "ok AND NULL", "ok = TRUE", "ok <> (n > 1)",
    "ok IS TRUE", "ok IS NOT FALSE", "NULL IS NULL", "n IS NULL", "raw IS NOT NULL", "(n > 1) IS NULL",
    # Comparison
    "n = x", "n <=> d", "n <> 1", "n == 1", "n != 1", "t < 'x'", "ts = day", "ts >= '2026-01-31'", "day < '2026'",
    "'2026-01-31 12:00' < ts", "raw = raw", "n = NULL", "NULL = NULL", "n IS DISTINCT FROM x",
    "ts - day > INTERVAL '1' HOUR", "ts - ts < INTERVAL '1 day 2 hours'",
    "n BETWEEN 1 AND x", "ts BETWEEN '2026-01-01' AND '2026-02-01'", "n NOT BETWEEN NULL AND 2",
    "n IN (1, 2.5, 2, NULL)", "t NOT IN ('a')", "ts IN ('2026-01-01', ts)", "ok IN (TRUE, n > 1)",
    # Numbers
    "n + x * d - 1", "n / 2", "n % 2", "n DIV 2", "mod(n, 2)", "n & 1 | 2 ^ 3", "~n", "-n", "- -n", "n + NULL",
    "ROUND(x)", "round(x, 2)", "floor(x, 1)", "pow(x, 2)", "ln(x)", "log(x)", "abs(-n)", "sign(n)",
    "sqrt(x)", "cbrt(x)", "exp(x)", "ceil(x)",
    # Strings
    "t || 'x'", "concat(t, 'x', t)", "concat_ws(',', t, 'x')", "upper(lower(t))", "trim(t)", "ltrim(t)",
    "trim(BOTH 'x' FROM t)", "substring(t, 2)", "substr(t, 2, 3)", "left(t, 1)", "right(t, n)", "initcap(t)",
    "replace(t, 'a')", "replace(t, 'a', 'b')",
    "regexp_replace(t, 'a', 'b')", "regexp_extract(t, '(a)')",
    "regexp_extract(t, 'a', 0)", "startswith(t, 'a')", "endswith(t, 'a')",
    "contains(t, 'a')", "length(t)", "md5(t)", "sha1(t)", "reverse(t)",
    "t LIKE '%a'", "t NOT LIKE '%a'", "t ILIKE 'a_'",
    "t RLIKE '^a'", "regexp_like(t, 'a')", "t LIKE '!%' ESCAPE '!'",
    # Times
    "ts + INTERVAL '1' DAY", "INTERVAL 2 HOURS + ts",
    "day - INTERVAL '1-2' YEAR TO MONTH", "ts - INTERVAL '1.5' SECOND",
    "ts + INTERVAL '1' DAY - INTERVAL '2' HOURS", "ts - (INTERVAL '1' DAY + INTERVAL '2' HOURS)",
    "year(ts)", "month(day)", "day(ts)",
    "dayofmonth(ts)", "dayofweek(ts)", "dayofyear(ts)", "hour(ts)",
    "minute(ts)", "second(ts)",
    "EXTRACT(YEAR FROM ts)", "extract(dow FROM day)", "date_trunc('hour', ts)", "date_trunc('MM', day)",
    "trunc(day, 'MONTH')", "DATE '2026-01-31'", "TIMESTAMP '2026-01-31 12:00:00'", "ts > TIMESTAMP '2026-01-31'",
    # Either
    "CASE WHEN ok THEN 1 END",
    "CASE n WHEN 1 THEN 'a' WHEN 2 THEN t ELSE NULL END", "CASE WHEN ok THEN ts ELSE '2026' END",
    "IF(ok, 1, x)", "coalesce(n, x, 0)", "nvl(t, 'x')", "ifnull(n, 0)",
    "nullif(n, 0)", "greatest(n, x)", "least(t, 'a')",
    "CAST(t AS INT)", "t::INT", "TRY_CAST(t AS DECIMAL(5,2))", "CAST(n AS STRING)",
    "CAST(ts AS DATE)", "int(t)",
    "CAST(t AS VARCHAR(3))", "CAST(NULL AS INT)", "CAST(ts AS DOUBLE) - CAST(day AS DOUBLE)",
    "CAST(t AS TIMESTAMP)",
]  # fmt: skip

BAD = [
    # Literals
    ("9" * 39, "this number is out of range: at most 38 digits", "9" * 39),
    ("0." + "0" * 38 + "1", "this number is out of range", "0." + "0" * 38 + "1"),
    ("1e309", "this number is out of range", "1e309"),
    ("٣", "there is no column '٣'", "٣"),
    ("X'1F'", "unknown function or expression", "X'1F'"),
    ("0x1F", "unknown function or expression '0x1F'", "0x1F"),
    ("r'\\d'", "unknown function or expression", "r'\\d'"),
    (":p", "unknown function or expression ':p'", ":p"),
    ("?", "unknown function or expression '?'", "?"),
    # Truth
    ("NOT n", "NOT needs a condition, but this is a number", "n"),
    ("ok AND t", "AND needs a condition, but this is a string. Use a cast such as CAST", "t"),
    ("n OR ok", "OR needs a condition, but this is a number", "n"),
    ("n IS TRUE", "IS TRUE needs a condition, but this is a number", "n"),
    ("n IS 5", "IS must be followed by NULL, TRUE or FALSE", "n IS 5"),
    ("ok = 1", "a condition and a number cannot be compared", "ok = 1"),
    ("ok = NOT ok", "put this condition in parentheses", "NOT ok"),
    ("n = 1 = ok", "put this condition in parentheses", "n = 1"),
    ("n NOT IN (1) < ok", "put this condition in parentheses", "n NOT IN (1)"),
    ("ok = n IN (1, 2)", "put this condition in parentheses", "n IN (1, 2)"),
    # Comparison
    ("n = '1'", "a number and a string cannot be compared. Use a cast such as CAST(… AS INT)", "n = '1'"),
    ("t > 5", "a string and a number cannot be compared", "t > 5"),
    ("ts = t", "a time and a string cannot be compared. Use a cast such as CAST(… AS TIMESTAMP)", "ts = t"),
    ("ts = 5", "a time and a number cannot be compared", "ts = 5"),
    ("ts = 'abc'", "'abc' is not a time: write it as '2026-01-31 12:00:00'", "'abc'"),
    ("ts > '12:00'", "'12:00' is not a time", "'12:00'"),
    ("ts BETWEEN '2026' AND t", "a time and a string cannot be compared", "ts BETWEEN '2026' AND t"),
    ("raw = 'a'", "binary data and a string cannot be compared", "raw = 'a'"),
    ("ts - ts > 5", "an interval and a number cannot be compared", "ts - ts > 5"),
    ("n BETWEEN 1 AND 'x'", "a number and a string cannot be compared", "n BETWEEN 1 AND 'x'"),
    ("n IN (1, 'x')", "a number and a string cannot be compared", "n IN (1, 'x')"),
    ("n IN ()", "IN needs a value in its parentheses", "n IN ()"),
    ("n IN x", "IN must be followed by values in parentheses", "n IN x"),
    ("(n, x) = (1, 2)", "unknown function or expression '(n, x)'", "(n, x)"),
    # Numbers
    ("n + t", "arithmetic needs numbers, but this is a string. Use a cast such as CAST(… AS INT)", "t"),
    ("ok * 2", "arithmetic needs numbers, but this is a condition", "ok"),
    ("ts * 2", "arithmetic needs numbers, but this is a time", "ts"),
    ("-t", "- needs a number, but this is a string", "t"),
    ("round(t)", "ROUND needs a number, but this is a string", "t"),
    ("round(x, 1, 2)", "ROUND takes 1 to 2 arguments, not 3", "round(x, 1, 2)"),
    ("ceil(x, 1, 2)", "CEIL takes 1 to 2 arguments, not 3", "ceil(x, 1, 2)"),
    ("and(ok, ok)", "unknown function or expression 'and'", "and(ok, ok)"),
    ("n << 2", "unknown function or expression 'n << 2'", "n << 2"),
    ("log(2, x, 1)", "LOG takes 1 to 2 arguments, not 3", "log(2, x, 1)"),
    ("sqr(x)", "unknown function or expression 'sqr'. Did you mean 'sqrt'?", "sqr(x)"),
    # Strings
    ("t || n", "a concatenation needs a string, but this is a number", "n"),
    ("concat(t, 1)", "CONCAT needs a string, but this is a number", "1"),
    ("upper(n)", "UPPER needs a string, but this is a number", "n"),
    ("Uper(t)", "unknown function or expression 'Uper'. Did you mean 'upper'?", "Uper(t)"),
    ("substr(t, 'a')", "SUBSTR needs a number, but this is a string", "'a'"),
    ("substring(t)", "SUBSTRING takes 2 to 3 arguments, not 1", "substring(t)"),
    ("regexp_replace(t, 'a')", "REGEXP_REPLACE takes 3 arguments, not 2", "regexp_replace(t, 'a')"),
    ("initcap(t, '-')", "INITCAP takes 1 argument, not 2", "initcap(t, '-')"),
    ("length(raw)", "LENGTH needs a string, but this is binary data", "raw"),
    ("n LIKE 'x'", "LIKE needs a string, but this is a number", "n"),
    ("t RLIKE 5", "RLIKE needs a string, but this is a number", "5"),
    ("regexp_like(t, 'a', 'i')", "RLIKE takes a string and a pattern", "regexp_like(t, 'a', 'i')"),
    ("t LIKE 'x' ESCAPE 'ab'", "ESCAPE needs one character in quotes", "t LIKE 'x' ESCAPE 'ab'"),
    ("t LIKE ANY ('a', 'b')", "unknown function or expression 'ANY'", "ANY ('a', 'b')"),
    ("t COLLATE UTF8_LCASE", "unknown function or expression", "t COLLATE UTF8_LCASE"),
    # Times
    ("ts + 1", "a time and a number cannot be added or subtracted", "ts + 1"),
    ("ts + ts", "a time and a time cannot be added or subtracted", "ts + ts"),
    ("ts + INTERVAL n DAY", "INTERVAL needs a number or a string, not an expression", "INTERVAL n DAY"),
    ("ts + INTERVAL rand() DAY", "INTERVAL needs a number or a string", "INTERVAL rand() DAY"),
    ("ts + INTERVAL '1' DAYZ", "INTERVAL does not know 'DAYZ'. Did you mean 'DAY'?", "INTERVAL '1' DAYZ"),
    ("ts + INTERVAL 'x' DAY", "'x' is not a number of day", "INTERVAL 'x' DAY"),
    ("ts - INTERVAL 1 DAY 2 HOURS", "put this sum in parentheses", "INTERVAL 1 DAY 2 HOURS"),
    ("year()", "YEAR takes 1 argument, not 0", "year()"),
    ("year(n)", "YEAR needs a time, but this is a number", "n"),
    ("hour(t)", "HOUR needs a time, but this is a string", "t"),
    ("EXTRACT(YEER FROM ts)", "EXTRACT does not know 'YEER'. Did you mean 'YEAR'?", "EXTRACT(YEER FROM ts)"),
    ("EXTRACT(YEAR FROM n)", "EXTRACT needs a time, but this is a number", "n"),
    ("date_trunc('hours', ts)", "DATE_TRUNC does not know 'HOURS'. Did you", "date_trunc('hours', ts)"),
    ("date_trunc(t, ts)", "DATE_TRUNC does not know 'T'", "date_trunc(t, ts)"),
    ("date_trunc('hour', x)", "DATE_TRUNC needs a time, but this is a number", "x"),
    ("trunc(day, 'HOUR')", "TRUNC does not know 'HOUR'", "trunc(day, 'HOUR')"),
    ("DATE '2026-02-31'", "'2026-02-31' is not a time", "'2026-02-31'"),
    ("CAST('now' AS TIMESTAMP)", "'now' is not a time", "'now'"),
    ("ts AT TIME ZONE 'UTC'", "unknown function or expression", "ts AT TIME ZONE 'UTC'"),
    # Either
    ("CASE WHEN n THEN 1 END", "WHEN needs a condition, but this is a number", "n"),
    ("CASE n WHEN 'x' THEN 1 END", "a number and a string cannot be compared", "CASE n WHEN 'x' THEN 1 END"),
    ("CASE WHEN ok THEN 1 ELSE 'x' END", "cannot be results of one CASE", "CASE WHEN ok THEN 1 ELSE 'x' END"),
    ("IF(n, 1, 2)", "IF needs a condition, but this is a number", "n"),
    ("IF(ok, 1)", "IF needs three parts: a condition and two results", "IF(ok, 1)"),
    ("IF(ok, 1, 'x')", "a number and a string cannot be results of one IF", "IF(ok, 1, 'x')"),
    ("coalesce(n, 'x')", "a number and a string cannot be compared", "coalesce(n, 'x')"),
    ("CAST(n AS DECIMAL(50,2))", "DECIMAL has 1 to 38 digits", "CAST(n AS DECIMAL(50,2))"),
    ("CAST(n AS DECIMAL(3,2,1))", "DECIMAL has 1 to 38 digits", "CAST(n AS DECIMAL(3,2,1))"),
    ("TRY_CAST(n AS DECIMAL(3,4))", "DECIMAL has 1 to 38 digits", "TRY_CAST(n AS DECIMAL(3,4))"),
    ("ts - INTERVAL 99999999999 DAYS < ts", "at most 106,751,991 days", "INTERVAL 99999999999 DAYS"),
    ("ts - INTERVAL '200000000' YEAR < ts", "at most 178,956,970 year", "INTERVAL '200000000' YEAR"),
    ("CAST(n AS INTT)", "this is not valid SQL", "INTT"),
    ("CAST(n AS LONGTEXT)", "there is no type 'TEXT' to cast to", "CAST(n AS LONGTEXT)"),
    ("CAST(n AS ARRAY<INT>)", "there is no type 'ARRAY<INT>' to cast to", "CAST(n AS ARRAY<INT>)"),
    ("CAST(t AS TIMESTAMP_NTZ)", "there is no type 'TIMESTAMP_NTZ'", "CAST(t AS TIMESTAMP_NTZ)"),
    ("CAST(ts - ts AS INT)", "an interval cannot be cast", "CAST(ts - ts AS INT)"),
    ("struct(n)", "unknown function or expression 'struct'", "struct(n)"),
    ("array(1)[0]", "unknown function or expression 'array'", "array(1)"),
    ("n[0]", "parts in […]: only arrays, maps and structs have parts, but this is a number", "n[0]"),
    ("t.x", "field 'x': only arrays, maps and structs have parts, but this is a string", "t.x"),
]  # fmt: skip


@pytest.mark.parametrize("expression", GOOD)
def test_what_fits(expression):
    select = f"SELECT {expression} AS v FROM kinds"
    assert [output.name for output in query(select).outputs] == ["v"]
    assert plan(select).network.queries


@pytest.mark.parametrize(("expression", "says", "marked"), BAD)
def test_what_does_not_fit(expression, says, marked):
    found = refused(f"SELECT\n  {expression}\nAS v FROM kinds")
    assert says in found.message
    assert found.marked == marked
    assert (found.line, found.column) == (DECLARED.count("\n") + 2, 3 + expression.index(marked))


@pytest.mark.parametrize(("expression", "says", "marked"), BAD)
def test_what_does_not_fit_does_not_fit_in_a_condition_either(expression, says, marked):
    found = refused(f"SELECT n FROM kinds WHERE ok AND ({expression}) IS NULL")
    assert says in found.message
    assert found.marked == marked


def test_checking_takes_no_longer_than_the_expression():
    nested = "coalesce(" * 35 + "ts" + ", '2026')" * 35
    assert len(query(f"SELECT {nested} AS v FROM kinds").outputs) == 1
