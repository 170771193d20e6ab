"""What is said, at which place, of aggregates that do not fit; and any text is a query or an error."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock import ScriptError
from tests.language.asking import DECLARED, refusal, refused
from tests.language.grouped import SPELLED, bound, calls, having, keys, written

_OUTSIDE = "neither in GROUP BY nor inside an aggregate: add it to GROUP BY, or write"
_WHERE = "a condition on groups is HAVING, and FILTER (WHERE …) is one on the rows of an aggregate"
REFUSED = [
    # Mixtures
    ("SELECT src, bytes, count(*) FROM PACKETS GROUP BY src",
     f"column bytes is {_OUTSIDE} max(bytes), for example", "bytes"),
    ("SELECT p.bytes + 1, count(*) FROM PACKETS AS p", f"column p.bytes is {_OUTSIDE} max(p.bytes)", "p.bytes"),
    ("SELECT tags, count(*) FROM LOGS", f"column tags is {_OUTSIDE} first(tags), for example", "tags"),
    ("SELECT floor, count(*) FROM PACKETS, hosts GROUP BY src", "column floor is neither", "floor"),
    ("SELECT upper(src), count(*) FROM PACKETS GROUP BY lower(src)", "column src is neither", "src"),
    ("SELECT count(*) FROM PACKETS HAVING bytes > 3", f"column bytes is {_OUTSIDE} max(bytes)", "bytes"),
    ("SELECT src AS s FROM PACKETS GROUP BY src HAVING dst = 'x'", "column dst is neither", "dst"),
    ("SELECT *, count(*) FROM PACKETS", "a star cannot be selected with aggregates or GROUP BY", "*"),
    ("SELECT p.* FROM PACKETS p GROUP BY src", "a star cannot be selected with aggregates", "p.*"),
    # Where aggregates cannot be
    ("SELECT src FROM packets WHERE min(bytes) > 1", f"MIN is an aggregate and cannot be in WHERE: {_WHERE}",
     "min(bytes)"),
    ("SELECT count(*) FROM PACKETS WHERE count(*) > 3", f"COUNT is an aggregate and cannot be in WHERE: {_WHERE}",
     "count(*)"),
    ("SELECT src FROM packets JOIN hosts ON max(bytes) = floor", "MAX is an aggregate and cannot be in ON",
     "max(bytes)"),
    ("SELECT 1 AS a FROM PACKETS GROUP BY max(bytes) + 1", "MAX is an aggregate and cannot be in GROUP BY",
     "max(bytes) + 1"),
    ("SELECT count(*) AS n FROM PACKETS GROUP BY n", "COUNT is an aggregate and cannot be in GROUP BY", "n"),
    ("SELECT src, count(*) AS n FROM PACKETS GROUP BY 2", "COUNT is an aggregate and cannot be in GROUP BY", "2"),
    ("SELECT sum(1 + max(bytes)) FROM PACKETS", "MAX is an aggregate and cannot be in SUM: aggregates do not "
     "contain others", "max(bytes)"),
    ("SELECT sum(bytes) FILTER (WHERE max(bytes) > 1) FROM PACKETS", "MAX is an aggregate and cannot be in FILTER",
     "max(bytes)"),
    ("SELECT count_if(max(bytes) > 1) FROM PACKETS", "MAX is an aggregate and cannot be in COUNT_IF",
     "max(bytes)"),
    ("SELECT exists(tags, t -> max(rows) > 3) FROM LOGS",
     "an aggregate cannot be inside a condition on elements, x -> …", "max(rows)"),
    ("SELECT count(*) FROM PACKETS WHERE bytes > (SELECT max(bytes) FROM packets)",
     "a subquery can only be in FROM: join with FROM (SELECT …) AS x", "(SELECT max(bytes) FROM packets)"),
    ("SELECT count((SELECT 1)) FROM PACKETS", "a subquery can only be in FROM", "(SELECT 1)"),
    # Arguments
    ("SELECT sum(src) FROM PACKETS", "SUM needs a number, but this is a string. Use a cast such as CAST", "src"),
    ("SELECT avg(at) FROM PACKETS", "AVG needs a number, but this is a time", "at"),
    ("SELECT stddev(TRUE) FROM PACKETS", "STDDEV needs a number, but this is a condition", "stddev(TRUE)"),
    ("SELECT bool_and(bytes) FROM PACKETS", "BOOL_AND needs a condition, but this is a number", "bytes"),
    ("SELECT any(bytes) FROM PACKETS", "ANY needs a condition, but this is a number", "bytes"),
    ("SELECT count_if(bytes) FROM PACKETS", "COUNT_IF needs a condition, but this is a number", "bytes"),
    ("SELECT count(*) FILTER (WHERE bytes) FROM PACKETS", "FILTER needs a condition, but this is a number",
     "bytes"),
    ("SELECT min(id) FROM LOGS", "MIN compares simple values, but this is a struct", "id"),
    ("SELECT count(DISTINCT tags) FROM LOGS", "COUNT compares simple values, but this is an array", "tags"),
    ("SELECT min_by(rows, m) FROM LOGS", "MIN_BY compares simple values, but this is a map", "m"),
    ("SELECT first(m) FROM LOGS", "FIRST cannot return a map: take a value of it, as in m['key'], or to_json(m)",
     "m"),
    ("SELECT max(at - at) FROM PACKETS", "an interval cannot be aggregated or grouped", "at - at"),
    ("SELECT max(NULL) FROM PACKETS", "NULL alone has no type: write CAST(NULL AS INT)", "max(NULL)"),
    ("SELECT sum(srx) FROM PACKETS", "there is no column 'srx' in packets. Did you mean 'src'?", "srx"),
    ("SELECT sum() FROM PACKETS", "SUM takes 1 argument, not 0", "sum()"),
    ("SELECT sum(bytes, 3) FROM PACKETS", "SUM takes 1 argument, not 2", "sum(bytes, 3)"),
    ("SELECT min_by(src) FROM PACKETS", "MIN_BY takes 2 arguments, not 1", "min_by(src)"),
    ("SELECT max_by(src, at, 3) FROM PACKETS", "MAX_BY takes 2 arguments, not 3", "max_by(src, at, 3)"),
    ("SELECT approx_count_distinct(src, 0.1) FROM PACKETS", "APPROX_COUNT_DISTINCT takes 1 argument, not 2",
     "approx_count_distinct(src, 0.1)"),
    ("SELECT count_if(bytes > 1, 3) FROM PACKETS", "COUNT_IF takes 1 argument, not 2", "count_if(bytes > 1, 3)"),
    ("SELECT first(src, TRUE) FROM PACKETS", "FIRST takes 1 argument, not 2. FILTER (WHERE … IS NOT NULL) leaves "
     "NULLs out", "first(src, TRUE)"),
    ("SELECT count() FROM PACKETS", "COUNT takes * or 1 argument, not 0", "count()"),
    ("SELECT count(src, dst) FROM PACKETS",
     "COUNT takes * or 1 argument, not 2. FILTER (WHERE x IS NOT NULL AND y "
     "IS NOT NULL) counts rows with both", "count(src, dst)"),
    ("SELECT count(p.*) FROM PACKETS p", "a star cannot be an argument: write count(*), or name", "count(p.*)"),
    ("SELECT count(DISTINCT *) FROM PACKETS", "a star cannot be an argument: write count(*)", "count(DISTINCT *)"),
    ("SELECT sum(*) FROM PACKETS", "a star cannot be an argument: only count(*) has a star", "sum(*)"),
    ("SELECT count(DISTINCT (src, dst)) FROM PACKETS", "write the arguments without parentheses around them",
     "count(DISTINCT (src, dst))"),
    ("SELECT sum(DISTINCT bytes) FROM PACKETS", "DISTINCT in SUM is not supported: only count(DISTINCT x) has it",
     "sum(DISTINCT bytes)"),
    ("SELECT max(DISTINCT bytes) FROM PACKETS",
     "DISTINCT in MAX is not supported: leave it out, it changes nothing",
     "max(DISTINCT bytes)"),
    ("SELECT first(src ORDER BY at) FROM PACKETS",
     "ORDER BY inside an aggregate is not supported: min_by(x, k) and "
     "max_by(x, k) choose by k", "first(src ORDER BY at)"),
    ("SELECT count(DISTINCT src ORDER BY at) FROM PACKETS", "ORDER BY inside an aggregate", "count(DISTINCT src "
     "ORDER BY at)"),
    ("SELECT first(src LIMIT 1) FROM PACKETS", "LIMIT inside an aggregate is not supported", "first(src LIMIT 1)"),
    ("SELECT first(src) IGNORE NULLS FROM PACKETS", "IGNORE NULLS is not supported: FILTER (WHERE",
     "first(src) IGNORE NULLS"),
    ("SELECT first(src IGNORE NULLS) FROM PACKETS", "IGNORE NULLS is not supported", "first(src IGNORE NULLS)"),
    ("SELECT last(src) RESPECT NULLS FROM PACKETS", "RESPECT NULLS is not supported: leave it out",
     "last(src) RESPECT NULLS"),
    ("SELECT sum(bytes) WITHIN GROUP (ORDER BY bytes) FROM PACKETS", "WITHIN GROUP is not supported",
     "sum(bytes) WITHIN GROUP (ORDER BY bytes)"),
    ("SELECT sum(bytes) OVER () FROM PACKETS", "OVER is not supported: window functions", "sum(bytes) OVER ()"),
    ("SELECT count(*), sum(bytes) FILTER (WHERE bytes > 1) OVER () FROM PACKETS", "OVER is not supported",
     "sum(bytes) FILTER (WHERE bytes > 1) OVER ()"),
    ("SELECT upper(src) FILTER (WHERE bytes > 1) FROM packets", "FILTER must follow an aggregate",
     "upper(src) FILTER (WHERE bytes > 1)"),
    # Around aggregates
    ("SELECT count(*) + 'x' AS a FROM PACKETS", "arithmetic needs numbers, but this is a string", "'x'"),
    ("SELECT min(src) + 1 AS a FROM PACKETS", "arithmetic needs numbers, but this is a string", "min(src)"),
    ("SELECT max(at) + 1 AS a FROM PACKETS", "a time and a number cannot be added", "max(at) + 1"),
    ("SELECT window_start + 1 AS a, count(*) FROM PACKETS", "a time and a number cannot", "window_start + 1"),
    ("SELECT max(at) - min(at) AS a FROM PACKETS", "a result column cannot be an interval",
     "max(at) - min(at) AS a"),
    ("SELECT NULL AS a, count(*) FROM PACKETS", "NULL alone has no type", "NULL AS a"),
    ("SELECT first(id).prt FROM LOGS", "there is no field 'prt' in this struct. Did you mean 'port'?", "prt"),
    ("SELECT count(*), COUNT(*) FROM PACKETS", "two result columns are named 'COUNT(*)'", "COUNT(*)"),
    ("SELECT count(*) FROM PACKETS HAVING count(*)", "HAVING needs a condition, but this is a number", "count(*)"),
    ("SELECT sum(bytes) AS n FROM PACKETS HAVING n", "HAVING needs a condition, but this is a number", "n"),
    ("SELECT upper(src) AS src FROM PACKETS GROUP BY src HAVING src = 'A'",
     "'src' is a column of GROUP BY and another in SELECT: rename that one", "src"),
    # GROUP BY
    ("SELECT count(*) FROM LOGS GROUP BY tags", "GROUP BY needs simple values, but this is an array", "tags"),
    ("SELECT count(*) FROM LOGS GROUP BY id", "GROUP BY needs simple values, but this is a struct", "id"),
    ("SELECT count(*) FROM LOGS GROUP BY m", "GROUP BY needs simple values, but this is a map", "m"),
    ("SELECT count(*) FROM PACKETS GROUP BY at - at", "an interval cannot be aggregated or grouped", "at - at"),
    ("SELECT count(*) FROM PACKETS GROUP BY srx", "there is no column 'srx' in packets. Did you mean", "srx"),
    ("SELECT count(*) FROM PACKETS GROUP BY src + 1", "arithmetic needs numbers, but this is a string", "src"),
    ("SELECT src, 1 AS b FROM PACKETS GROUP BY 3",
     "a position in GROUP BY is a number from 1 to 2, the columns of "
     "SELECT", "3"),
    ("SELECT src, 1 AS b FROM PACKETS GROUP BY 0", "a position in GROUP BY is a number from 1 to 2", "0"),
    ("SELECT src, 1 AS b FROM PACKETS GROUP BY -1", "a position in GROUP BY is a number from 1 to 2", "-1"),
    ("SELECT count(*) FROM PACKETS GROUP BY 'src'", "this is a constant, which groups nothing", "'src'"),
    ("SELECT count(*) FROM PACKETS GROUP BY 1.5", "this is a constant, which groups nothing", "1.5"),
    ("SELECT count(*) FROM PACKETS GROUP BY (src, dst)", "write the columns of GROUP BY without parentheses",
     "(src, dst)"),
    ("SELECT count(*) FROM PACKETS GROUP BY *", "write the columns of GROUP BY by name: it has no star", "*"),
    ("SELECT count(*) FROM PACKETS GROUP BY src || CAST(window_start AS STRING)",
     "GROUP BY cannot mix columns with window_start or window_end in one expression",
     "src || CAST(window_start AS STRING)"),
    ("SELECT count(*) FROM PACKETS GROUP BY ROLLUP(src)", "ROLLUP is not supported yet: write one query",
     "ROLLUP"),
    ("SELECT count(*) FROM PACKETS GROUP BY src WITH ROLLUP", "ROLLUP is not supported yet", "ROLLUP"),
    ("SELECT count(*) FROM PACKETS GROUP BY src, CUBE(src, dst)", "CUBE is not supported yet", "CUBE"),
    ("SELECT count(*) FROM PACKETS GROUP BY src WITH CUBE", "CUBE is not supported yet", "CUBE"),
    ("SELECT count(*) FROM PACKETS GROUP BY GROUPING SETS ((src), ())", "GROUPING SETS is not supported yet",
     "GROUPING SETS"),
    ("SELECT count(*) FROM PACKETS GROUP BY src GROUPING SETS ((src), ())", "GROUPING SETS is not supported yet",
     "GROUPING SETS"),
    ("SELECT count(*) FROM PACKETS group  by ALL", "GROUP BY ALL is not supported", "group  by"),
    ("SELECT count(*) FROM PACKETS GROUP BY DISTINCT src", "GROUP BY DISTINCT is not supported", "GROUP BY"),
    ("SELECT count(*) FROM PACKETS GROUP BY", "something is missing after this", "GROUP BY"),
    ("SELECT count(*) FROM PACKETS GROUP BY src, HAVING count(*) > 3",
     "something is missing after this comma", ","),
    ("SELECT count(*) FROM PACKETS HAVING", "something is missing after this", "HAVING"),
    # DISTINCT
    ("SELECT DISTINCT src, count(*) FROM PACKETS", "DISTINCT is not supported with aggregates, GROUP BY or HAVING",
     "DISTINCT"),
    ("SELECT DISTINCT src FROM PACKETS GROUP BY src", "DISTINCT is not supported with aggregates", "DISTINCT"),
    ("SELECT DISTINCT src FROM PACKETS HAVING src > 'a'", "DISTINCT is not supported with aggregates", "DISTINCT"),
    ("SELECT DISTINCT ON (src) src, dst FROM PACKETS", "DISTINCT ON is not supported: GROUP BY its columns",
     "DISTINCT"),
    ("SELECT DISTINCT tags FROM LOGS", "DISTINCT needs simple values, but this is an array", "tags"),
    ("SELECT DISTINCT at - at FROM PACKETS", "a result column cannot be an interval", "at - at"),
    ("SELECT DISTINCT (src, dst) FROM PACKETS", "unknown function or expression '(src, dst)'", "(src, dst)"),
    # The window's names
    ("SELECT max(window_start) FROM PACKETS", "window_start cannot be in MAX: a row may be in several windows. It "
     "can be in SELECT and HAVING", "window_start"),
    ("SELECT count(*) FILTER (WHERE at > Window_End) FROM PACKETS", "window_end cannot be in FILTER",
     "Window_End"),
    ("SELECT count(*) FROM PACKETS WHERE window_start > at", "window_start cannot be in WHERE", "window_start"),
    ("SELECT p.window_start, count(*) FROM PACKETS p",
     "there is no column 'window_start' in packets. A query with "
     "aggregates has it, without an alias before it", "p.window_start"),
    ("SELECT window_start FROM packets", "there is no column 'window_start' in packets. A query with aggregates",
     "window_start"),
    # Aggregates that are not there
    ("SELECT median(bytes) FROM packets", "MEDIAN is not supported: this aggregate is not implemented. There are "
     "avg(x), min(x) and max(x)", "median(bytes)"),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes) FROM PACKETS", "PERCENTILE_CONT is not supported",
     "percentile_cont(0.5) WITHIN GROUP (ORDER BY bytes)"),
    ("SELECT percentile(bytes, 0.5) FROM PACKETS", "PERCENTILE is not supported", "percentile(bytes, 0.5)"),
    ("SELECT mode(bytes) FROM PACKETS", "MODE is not supported: this aggregate is not implemented. GROUP BY x and "
     "count(*)", "mode(bytes)"),
    ("SELECT collect_list(src) AS a FROM packets", "COLLECT_LIST is not supported: this aggregate is not "
     "implemented. SELECT DISTINCT returns each value as a row", "collect_list(src)"),
    ("SELECT collect_set(src) FROM PACKETS", "COLLECT_SET is not supported", "collect_set(src)"),
    ("SELECT array_agg(src) FROM PACKETS", "ARRAY_AGG is not supported", "array_agg(src)"),
    ("SELECT string_agg(src, ',') FROM PACKETS", "STRING_AGG is not supported", "string_agg(src, ',')"),
    ("SELECT listagg(src) FROM PACKETS", "LISTAGG is not supported", "listagg(src)"),
    ("SELECT corr(bytes, bytes) FROM PACKETS", "CORR is not supported: this aggregate is not implemented",
     "corr(bytes, bytes)"),
    ("SELECT covar_pop(bytes, bytes) FROM PACKETS", "COVAR_POP is not supported", "covar_pop(bytes, bytes)"),
    ("SELECT skewness(bytes) FROM PACKETS", "SKEWNESS is not supported", "skewness(bytes)"),
    ("SELECT kurtosis(bytes) FROM PACKETS", "KURTOSIS is not supported", "kurtosis(bytes)"),
    ("SELECT sum_distinct(bytes) FROM PACKETS", "SUM_DISTINCT is not supported", "sum_distinct(bytes)"),
    ("SELECT any_value(src) FROM PACKETS", "ANY_VALUE is not supported: this aggregate is not implemented. Write "
     "first(x) or max(x)", "any_value(src)"),
    ("SELECT arg_max(src, at) FROM PACKETS", "Write max_by(x, k)", "arg_max(src, at)"),
    ("SELECT 1 + rank() AS a FROM packets", "RANK is not supported: window functions are not implemented yet",
     "rank()"),
    ("SELECT count(*) FROM PACKETS HAVING median(bytes) > 3", "MEDIAN is not supported", "median(bytes)"),
    ("SELECT src FROM packets WHERE src LIKE ANY ('a', 'b')", "unknown function or expression 'ANY'",
     "ANY ('a', 'b')"),
    ("SELECT count(*) FROM PACKETS ORDER BY 1", "ORDER BY is not supported", "ORDER BY"),
    ("SELECT count(*) FROM PACKETS LIMIT 1", "LIMIT is not supported", "LIMIT"),
]  # fmt: skip


@pytest.mark.parametrize(("select", "says", "marked"), REFUSED)
def test_what_is_refused(select, says, marked):
    whole = written(select)
    found = refused(f"\n{whole}")
    assert says in found.message
    assert found.marked == marked
    assert found.line == DECLARED.count("\n") + 2
    assert found.column in {match.start() + 1 for match in re.finditer(re.escape(marked), whole)}


def test_a_long_list_of_conditions_is_no_deep_tree():
    chain = " OR ".join(f"count(*) = {number}" for number in range(3_000))
    [condition] = having(f"SELECT src FROM PACKETS GROUP BY src HAVING {chain}")
    assert condition.count("g.`a0`") == 3_000


def test_deep_nesting_is_refused():
    nested = "abs(" * 200 + "count(*)" + ")" * 200
    found = refusal(f"{DECLARED}CREATE QUERY q AS {written(f'SELECT {nested} AS v FROM PACKETS')};")
    assert "nested too deeply" in found.message


VALID = (
    "SELECT upper(src) AS u, count(*) AS n, sum(bytes + 1) FILTER (WHERE bytes > 1), window_start, "
    "min_by(src, at), count(DISTINCT src, dst), any(bytes > 3), hash(max(at)) "
    f"FROM {SPELLED['PACKETS']} AS p, hosts WHERE src = ip AND bytes > 1 "
    "GROUP BY upper(src), 1, u, window_end HAVING n > 3 AND max(bytes) > 1 OR NOT u = 'a'"
)
TOKENS = re.findall(r"\w+|'[^']*'|\s+|.", VALID)
WORDS = sorted({*TOKENS, *(each for select, _, _ in REFUSED for each in re.findall(r"\w+|'[^']*'|\W", select))})


def test_the_query_that_is_mutated_is_valid():
    assert (len(keys(VALID)), len(calls(VALID)), len(having(VALID))) == (1, 7, 1)


def is_query_or_error(select):
    try:
        bound(select)
    except ScriptError as error:
        said = str(error)
        assert len(said) < 2000


@given(st.data())
def test_mutations_of_tokens(data):
    tokens = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 6))):
        place, other = (data.draw(st.integers(0, len(tokens) - 1)) for _ in range(2))
        match data.draw(st.sampled_from(["delete", "swap", "replace", "copy"])):
            case "delete":
                del tokens[place]
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "copy":
                tokens[place:place] = tokens[min(place, other) : min(place, other) + 12]
            case "replace":
                tokens[place] = data.draw(st.sampled_from(WORDS))
    is_query_or_error("".join(tokens))


@given(
    st.lists(st.sampled_from(WORDS), max_size=12),
    st.lists(st.sampled_from(WORDS), max_size=8),
    st.sampled_from(["", "DISTINCT "]),
)
@example(["count", "(", "*", ")", "FILTER", "(", ")"], [], "")
@example(["count", "(", "DISTINCT", ")"], ["src"], "")
@example(["any", "(", ")"], ["GROUPING", "SETS", "(", ")"], "DISTINCT ")
def test_token_soup(words, group, distinct):
    select, by = " ".join(words), " ".join(group)
    is_query_or_error(f"SELECT {distinct}{select} FROM PACKETS GROUP BY {by} HAVING {select}")
    is_query_or_error(f"SELECT {distinct}{select} FROM LOGS")
