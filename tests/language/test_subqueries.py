"""Subqueries in FROM, WITH and UNION ALL: the streams that they become, their windows and names, and refusals."""

import pytest

from penstock.language.compose import MOST_NESTED
from penstock.language.statements import WindowDef
from tests.language.asking import DECLARED, refusal, refused
from tests.language.composed import MINUTES, composed, reading, script, sql, types

NARROW = "SELECT src FROM packets"


def nested(depth, window=""):
    """A query with subqueries inside subqueries; each has a window of its own size."""
    query = "packets"
    for level in range(depth):
        query = f"(SELECT * FROM {query}) {window.format(level + 1)} AS x{level}"
    return f"SELECT src FROM {query}"


# Subqueries -------------------------------------------------------------------------------------------------


def test_a_subquery_is_a_stream():
    query, streams = composed(
        "SELECT code, count(*) AS n FROM (SELECT p.src, r.code FROM packets [RANGE 5 SECONDS] AS p, "
        f"replies [ROWS 100] AS r WHERE p.src = r.host) {MINUTES} AS x GROUP BY code"
    )
    [stream] = streams.values()
    [branch] = stream.branches
    assert (stream.name, stream.source, types(stream)) == ("q.x", "derived", {"src": "STRING", "code": "INT"})
    assert query.items[0].relation is stream
    assert (query.items[0].alias, query.items[0].window) == ("x", WindowDef("range", 60_000_000, 60_000_000))
    assert reading(branch) == [("p", "packets", "[RANGE 5000000 MICROSECONDS]"), ("r", "replies", "[ROWS 100]")]
    assert (branch.name, sql(branch.conditions)) == ("q.x", ["f0.`src` = f1.`host`"])
    assert branch.sql.startswith("SELECT p.src, r.code FROM")
    assert branch.sql.endswith("WHERE p.src = r.host")


def test_aggregates_of_aggregates():
    query, streams = composed(
        "SELECT max(n) AS most FROM (SELECT src, count(*) AS n FROM packets [RANGE 1 SECOND SLIDE 1 SECOND] "
        f"GROUP BY src HAVING n > 3) {MINUTES} AS x"
    )
    [branch] = streams["q.x"].branches
    assert [call.function for call in branch.aggregation.calls] == ["count"]
    assert sql(branch.aggregation.having) == ["g.`a0` > 3"]
    assert [call.function for call in query.aggregation.calls] == ["max"]
    assert branch.items[0].window == WindowDef("range", 1_000_000, 1_000_000)


def test_the_windows_of_a_stream_and_of_its_results():
    query, _ = composed(
        f"SELECT x.window_end AS inner_end, max(x.n) AS n, window_end FROM "
        f"(SELECT count(*) AS n, window_end FROM packets [ROWS 5 SLIDE 5]) {MINUTES} AS x GROUP BY x.window_end"
    )
    assert sql(query.aggregation.keys) == ["f0.`window_end`"]


def test_windows_are_found_at_every_depth():
    query, streams = composed(nested(MOST_NESTED, "[ROWS {}]"))
    found = [(item.alias, item.window.size) for item in query.items]
    found += [
        (item.alias, item.window and item.window.size) for s in streams.values() for item in s.branches[0].items
    ]
    assert found[0] == ("x7", 8)
    assert found[1:] == [("packets", None), *((f"x{level}", level + 1) for level in range(7))]
    assert list(streams) == ["q." + ".".join(f"x{each}" for each in range(7, n - 1, -1)) for n in range(8)]


def test_the_same_window_at_several_places():
    query, streams = composed(
        "SELECT p.src FROM packets [ROWS 1] p, "
        "(SELECT p.src FROM packets [ROWS 2] p, replies [ROWS 3] r) [ROWS 4] x, "
        "(SELECT host FROM replies [ROWS 5]) [ROWS 6] AS y "
        "JOIN (SELECT host FROM replies) [ROWS 7] AS z ON y.host = z.host"
    )
    assert [item.window.size for item in query.items] == [1, 4, 6, 7]
    inside = [[item.window and item.window.size for item in s.branches[0].items] for s in streams.values()]
    assert inside == [[2, 3], [5], [None]]
    assert sql(query.conditions) == ["f2.`host` = f3.`host`"]


def test_elements_of_arrays_in_subqueries_are_no_windows():
    query, _ = composed("SELECT v[rows + 1] AS w FROM (SELECT tags AS v, rows FROM logs WHERE ns[rows] > 1) AS x")
    assert sql(each.expression for each in query.outputs) == ["f0.`v`[f0.`rows` + 1]"]


def test_subqueries_with_tables_and_stars():
    query, streams = composed("SELECT x.*, h.owner FROM (SELECT * FROM packets) x JOIN hosts h ON x.src = h.ip")
    assert [output.name for output in query.outputs] == ["src", "dst", "bytes", "at", "owner"]
    assert types(streams["q.x"]) == {"src": "STRING", "dst": "STRING", "bytes": "INT", "at": "TIMESTAMP"}


def test_a_union_inside_a_subquery():
    _, streams = composed(
        f"SELECT * FROM ({NARROW} UNION ALL SELECT z.host FROM (SELECT host FROM replies) z) AS x"
    )
    assert list(streams) == ["q.x#2.z", "q.x"]
    assert [branch.name for branch in streams["q.x"].branches] == ["q.x#1", "q.x#2"]


# WITH -------------------------------------------------------------------------------------------------------


def test_names_of_with_are_streams():
    query, streams = composed(
        "WITH big AS (SELECT src, bytes FROM packets WHERE bytes > 9), "
        f"n AS (SELECT src, count(*) AS n FROM big {MINUTES} "
        "GROUP BY src) SELECT b.src FROM big [ROWS 5] AS b, N [ROWS 6], big [ROWS 7] WHERE b.src = n.src"
    )
    assert reading(query) == [("b", "q.big", "[ROWS 5]"), ("N", "q.n", "[ROWS 6]"), ("big", "q.big", "[ROWS 7]")]
    assert query.items[0].relation is query.items[2].relation
    assert reading(streams["q.n"].branches[0])[0][:2] == ("big", "q.big")
    assert query.sql.startswith("WITH big AS")


def test_names_of_with_hide_streams_and_tables():
    query, streams = composed(
        "WITH packets AS (SELECT src AS s FROM packets), hosts AS (SELECT s FROM packets) SELECT * FROM Hosts"
    )
    assert reading(query) == [("Hosts", "q.hosts", None)]
    assert [reading(streams[name].branches[0])[0][1] for name in ("q.packets", "q.hosts")] == [
        "packets",
        "q.packets",
    ]
    assert types(streams["q.hosts"]) == {"s": "STRING"}


def test_names_of_with_end_with_their_query():
    made = script(
        "CREATE QUERY q AS WITH hosts AS (SELECT src FROM packets) SELECT * FROM hosts; "
        "CREATE QUERY r AS SELECT owner FROM packets JOIN hosts ON src = ip"
    )
    assert [item.is_stream for item in made.queries["r"].items] == [True, False]


def test_names_of_with_inside_subqueries():
    query, streams = composed(
        "WITH a AS (SELECT src FROM packets) "
        "SELECT * FROM (WITH b AS (SELECT src AS s FROM a), a AS (SELECT s FROM b) "
        "SELECT s FROM a) AS x"
    )
    assert [output.name for output in query.outputs] == ["s"]
    read = {name: reading(stream.branches[0])[0][1] for name, stream in streams.items()}
    assert read == {"q.a": "packets", "q.x.b": "q.a", "q.x.a": "q.x.b", "q.x": "q.x.a"}


def test_with_before_a_union():
    query, streams = composed(
        "WITH a AS (SELECT src, dst FROM packets) SELECT src FROM a UNION ALL SELECT dst FROM a"
    )
    assert list(streams) == ["q.a", "q.union"]
    assert [reading(branch)[0][1] for branch in streams["q.union"].branches] == ["q.a", "q.a"]
    assert " UNION ALL ".join(branch.sql for branch in streams["q.union"].branches) == query.sql


def test_a_name_that_nothing_reads_is_checked_and_left_out():
    assert composed(f"WITH a AS (SELECT src FROM packets) {NARROW}")[1] == {}
    assert "no column 'srx'" in refused(f"WITH a AS (SELECT srx FROM packets) {NARROW}").message


# UNION ALL --------------------------------------------------------------------------------------------------


def test_a_query_of_several_selects():
    select = (
        f"{NARROW} UNION ALL SELECT r.host FROM packets [ROWS 1] p, replies [ROWS 2] r "
        "UNION ALL SELECT upper(owner) FROM packets, hosts"
    )
    query, streams = composed(select)
    [stream] = streams.values()
    assert reading(query) == [("q", "q.union", None)]
    assert {output.name: sql([output.expression]) for output in query.outputs} == {"src": ["f0.`src`"]}
    assert (query.conditions, query.sql) == ((), select)
    assert [branch.name for branch in stream.branches] == ["q.union#1", "q.union#2", "q.union#3"]
    assert [len(branch.items) for branch in stream.branches] == [1, 2, 2]
    assert " UNION ALL ".join(branch.sql for branch in stream.branches) == select


@pytest.mark.parametrize(
    "select",
    [
        f"({NARROW}) UNION ALL (SELECT host FROM replies) UNION ALL {NARROW}",
        f"{NARROW} UNION ALL ((SELECT host FROM replies) UNION ALL ({NARROW}))",
        f"(({NARROW} UNION ALL SELECT host FROM replies)) UNION ALL {NARROW}",
    ],
)
def test_parentheses_in_unions(select):
    [stream] = composed(select)[1].values()
    assert [reading(branch)[0][0] for branch in stream.branches] == ["packets", "replies", "packets"]


def test_one_select_in_parentheses():
    query, streams = composed(f"({NARROW})")
    assert (reading(query), streams, query.sql) == ([("packets", "packets", None)], {}, f"({NARROW})")


def test_a_derived_stream_of_several_selects():
    stream = script(
        f"""CREATE STREAM s AS SELECT src, count(*) AS n FROM packets {MINUTES} GROUP BY src
        UNION ALL SELECT host, CAST(code AS BIGINT) FROM replies;"""
    ).streams["s"]
    assert [branch.name for branch in stream.branches] == ["s#1", "s#2"]
    assert types(stream) == {"src": "STRING", "n": "BIGINT"}


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("n", "n", "BIGINT"),
        ("n", "x", "NUMBER"),
        ("d", "CAST(n AS DECIMAL(12,2))", "NUMBER"),
        ("n", "n + 1", "NUMBER"),
        ("n + 1", "n + 1", "NUMBER"),
        ("ts", "ts", "TIMESTAMP"),
        ("ts", "day", "TIME"),
        ("t", "upper(t)", "STRING"),
        ("ok", "n > 3", "BOOLEAN"),
        ("split(t, ',')", "split(t, ';')", "ARRAY<STRING>"),
    ],
)
def test_types_of_unions(one, other, found):
    [stream] = composed(f"SELECT {one} AS v FROM kinds UNION ALL SELECT {other} FROM kinds")[1].values()
    assert types(stream) == {"v": found}


def test_many_selects():
    select = " UNION ALL ".join(f"SELECT src FROM packets WHERE bytes = {n}" for n in range(300))
    [stream] = composed(select)[1].values()
    assert sql(stream.branches[299].conditions) == ["f0.`bytes` = 299"]


# Refusals ---------------------------------------------------------------------------------------------------

REFUSED = [
    # Subqueries
    (f"SELECT src FROM ({NARROW})", "a subquery needs an alias: (SELECT …) AS x", f"({NARROW})"),
    (f"SELECT src FROM ({NARROW}) [ROWS 5]", "a subquery needs an alias", f"({NARROW})"),
    (f"SELECT src FROM (({NARROW})) AS x",
     "write one pair of parentheses around a subquery", f"(({NARROW})) AS x"),
    (f"SELECT src FROM (({NARROW}) AS y) AS x", "write one pair of parentheses", f"(({NARROW}) AS y) AS x"),
    (f"SELECT s FROM ({NARROW}) AS x (s)", "an alias is a single name: rename columns in", f"({NARROW}) AS x (s)"),
    (f"SELECT src FROM ({NARROW}) AS `a b`",
     "'a b' cannot be the alias of a subquery: write letters, digits and _, "
     "a letter first", "`a b`"),
    (f"SELECT src FROM ({NARROW}) AS __x", "'__x' cannot be the alias of a subquery", "__x"),
    (f"SELECT src FROM ({NARROW}) AS `1x`", "'1x' cannot be the alias of a subquery", "`1x`"),
    (f"SELECT src FROM ({NARROW}) AS {'x' * 201}",
     "the alias of a subquery is too long: at most 200 bytes", "x" * 100),
    (f"SELECT src FROM ({NARROW}) AS x TABLESAMPLE (5 ROWS)",
     "a subquery can only have a window and an alias behind it, not TABLESAMPLE",
     f"({NARROW}) AS x TABLESAMPLE (5 ROWS)"),
    ("SELECT src FROM (packets) AS x", "parentheses in FROM are not supported", "(packets) AS x"),
    ("SELECT src FROM (FROM packets) AS x", "expected SELECT and its columns before FROM", "FROM"),
    (f"{NARROW} UNION ALL FROM packets", "expected SELECT and its columns before FROM", "FROM"),
    ("SELECT src FROM (VALUES (1)) AS x", "VALUES is not supported: store constant rows", "VALUES"),
    ("SELECT src FROM (SELECT srx FROM packets) AS x", "there is no column 'srx' in packets. Did you mean", "srx"),
    ("SELECT srx FROM (SELECT src FROM packets) AS x",
     "there is no column 'srx' in q.x. Did you mean 'src'?", "srx"),
    ("SELECT x.dst FROM (SELECT src FROM packets) AS x", "there is no column 'dst' in q.x", "x.dst"),
    ("SELECT p.src FROM packets p, (SELECT p.src) AS x", "a query needs FROM and the name of a stream",
     "SELECT p.src"),
    ("SELECT p.src FROM packets p, (SELECT p.src FROM replies) AS x", "nothing in FROM is named 'p'", "p"),
    (f"SELECT x.src FROM ({NARROW}) AS x, ({NARROW}) AS X", "two items of FROM are named 'X'", f"({NARROW}) AS X"),
    ("SELECT owner FROM (SELECT owner FROM hosts) AS x", "a query must read at least one stream", "hosts"),
    ("SELECT src FROM (SELECT src FROM packets ORDER BY src) AS x", "ORDER BY is not supported", "ORDER BY"),
    ("SELECT src FROM (SELECT src FROM packets LIMIT 5) AS x", "LIMIT is not supported", "LIMIT"),
    ("SELECT src FROM (SELECT src, src FROM packets) AS x", "two result columns are named 'src'", "src"),
    ("SELECT src FROM (SELECT src FROM packets, ) AS x", "something is missing after this comma", ","),
    ("SELECT src FROM packets, (SELECT src FROM pakets) AS x", "there is no stream or table 'pakets'", "pakets"),
    ("SELECT src FROM packets, (SELECT src + FROM packets) AS x", "something is missing after this", "FROM"),
    (nested(MOST_NESTED + 1), f"subqueries are nested too deeply: at most {MOST_NESTED} levels",
     "(SELECT * FROM packets)"),
    # Windows
    (f"SELECT src FROM packets [ROWS 1] p, ({NARROW}) AS x",
     "stream q.x is joined with another stream and needs a window: (SELECT …) [RANGE 5 SECONDS] or",
     f"({NARROW})"),
    ("SELECT 1 AS a FROM (SELECT p.src FROM packets p, replies [ROWS 1] r) AS x",
     "stream packets is joined with another stream and needs a window: packets [RANGE 5 SECONDS]", "packets"),
    (f"SELECT src FROM ({NARROW}) x [ROWS 5]", "a window must follow the name of a stream", "[ROWS 5]"),
    (f"SELECT src FROM ({NARROW} [ROWS 5] WHERE bytes > 1 [ROWS 6]) x",
     "a window must follow the name", "[ROWS 6]"),
    (f"SELECT src FROM (({NARROW}) [ROWS 5]) x", "a window must follow the name of a stream", "[ROWS 5]"),
    (f"({NARROW}) [ROWS 5] UNION ALL ({NARROW})", "a window must follow the name of a stream", "[ROWS 5]"),
    (f"SELECT count(*) AS n FROM ({NARROW}) x",
     "COUNT needs windows: (SELECT …) [RANGE 10 SECONDS SLIDE", f"({NARROW})"),
    (f"SELECT count(*) AS n FROM ({NARROW}) [ROWS 7] x",
     "COUNT needs windows with a SLIDE: (SELECT …) [ROWS 7 SLIDE 7]",
     "[ROWS 7]"),
    (f"SELECT src FROM ({NARROW}) [ROWS 5 SLIDE 5] x", "SLIDE is for aggregates", "[ROWS 5 SLIDE 5]"),
    (f"SELECT src FROM ({NARROW} [ROWS 5 SLIDE 5]) x", "SLIDE is for aggregates", "[ROWS 5 SLIDE 5]"),
    ("SELECT src FROM (SELECT ip FROM packets, hosts [ROWS 4]) x",
     "hosts is a stored table and cannot", "[ROWS 4]"),
    (f"SELECT src FROM ({NARROW}) [ROWS 0] x", "ROWS needs a whole number between 1 and", "0"),
    (f"SELECT count(*) AS n FROM ({NARROW}) [ROWS 5] x, ({NARROW}) [ROWS 6] y",
     "COUNT needs one stream, not a join "
     "of streams: join them in a derived stream or in a subquery with a window, FROM (SELECT …) [RANGE 1 MINUTE "
     "SLIDE 1 MINUTE] AS j", "count(*)"),
    ("WITH a AS (SELECT src FROM packets) SELECT count(*) AS n FROM a",
     "COUNT needs windows: a [RANGE 10 SECONDS", "a"),
    # Elsewhere
    ("SELECT src FROM packets WHERE src IN (SELECT host FROM replies)", "a subquery can only be in FROM",
     "src IN (SELECT host FROM replies)"),
    ("SELECT src FROM packets JOIN hosts ON ip = (SELECT 'x')", "a subquery can only be in FROM", "(SELECT 'x')"),
    ("SELECT src FROM packets JOIN hosts ON EXISTS (SELECT 1)",
     "a subquery can only be in FROM", "EXISTS (SELECT 1)"),
    ("SELECT src FROM packets WHERE bytes > (SELECT 1 FROM packets [ROWS 3])", "a subquery can only be in FROM",
     "(SELECT 1 FROM packets [ROWS 3])"),
    # WITH
    ("WITH RECURSIVE a AS (SELECT src FROM packets) SELECT * FROM a", "WITH RECURSIVE is not supported: recursive "
     "queries are not supported", "WITH RECURSIVE a AS (SELECT src FROM packets)"),
    ("WITH a AS (SELECT * FROM a) SELECT * FROM a",
     "a cannot read itself: recursive queries are not supported", "a"),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM packets) SELECT * FROM a",
     "b comes later in WITH: write it "
     "first", "b"),
    ("WITH a AS (SELECT * FROM packets), A AS (SELECT * FROM a) SELECT * FROM a",
     "WITH has two queries named 'A'", "A"),
    ("WITH a (s) AS (SELECT src FROM packets) SELECT * FROM a", "a name of WITH has no list of columns", "a (s"),
    ("WITH `a b` AS (SELECT src FROM packets) SELECT * FROM `a b`", "'a b' cannot be a name of WITH", "`a b`"),
    ("WITH a AS (DROP TABLE x) SELECT * FROM a", "expected a SELECT in parentheses after a AS", "a"),
    ("WITH a AS (VALUES (1)) SELECT * FROM a", "VALUES is not supported: store constant rows", "VALUES"),
    ("WITH a AS (SELECT src FROM packets) INSERT INTO x SELECT 1", "expected a SELECT in this query", "WITH"),
    ("WITH a AS MATERIALIZED (SELECT src FROM packets) SELECT * FROM a", "MATERIALIZED is not supported in",
     "a"),
    ("WITH a AS (TABLE packets) SELECT * FROM a", "expected a SELECT in parentheses after a AS", "a"),
    (f"{NARROW} UNION ALL (WITH a AS (SELECT src FROM packets) SELECT * FROM a)",
     "WITH is supported only before the first SELECT of a query or of a subquery",
     "WITH a AS (SELECT src FROM packets)"),
    ("WITH a AS (SELECT srx FROM packets) SELECT * FROM a", "there is no column 'srx' in packets", "srx"),
    ("WITH abc AS (SELECT src FROM packets) SELECT * FROM abd",
     "no stream or table 'abd'. Did you mean 'abc'?", "abd"),
    ("WITH a AS (SELECT src FROM packets) SELECT dst FROM a", "there is no column 'dst' in q.a", "dst"),
    # UNION
    (f"{NARROW} UNION SELECT host FROM replies", "UNION is not supported: to remove repetitions, it would have to "
     "keep all rows. Write UNION ALL; SELECT DISTINCT over windows removes repetitions", "UNION"),
    (f"{NARROW} UNION DISTINCT SELECT host FROM replies", "UNION is not supported", "UNION"),
    (f"{NARROW} UNION ALL {NARROW} UNION {NARROW}", "UNION is not supported", "UNION"),
    (f"{NARROW} INTERSECT {NARROW}", "INTERSECT is not supported: join the streams instead", "INTERSECT"),
    (f"{NARROW} EXCEPT ALL {NARROW}", "EXCEPT is not supported: a continuous query has no end", "EXCEPT"),
    (f"SELECT * FROM ({NARROW} UNION {NARROW}) AS x", "UNION is not supported", "UNION"),
    (f"{NARROW} UNION ALL BY NAME {NARROW}", "UNION ALL takes columns by position", "UNION"),
    (f"{NARROW} UNION ALL SELECT host FROM replies ORDER BY host", "ORDER BY is not supported", "ORDER BY"),
    (f"{NARROW} UNION ALL SELECT host FROM replies LIMIT 3", "LIMIT is not supported", "LIMIT"),
    (f"({NARROW} LIMIT 3) UNION ALL {NARROW}", "LIMIT is not supported", "LIMIT"),
    (f"{NARROW} UNION ALL SELECT code FROM replies",
     "column 'src' of UNION ALL is STRING in a SELECT before and INT here: write a CAST", "code"),
    ("SELECT bytes AS b FROM packets UNION ALL SELECT code + 1 FROM replies UNION ALL SELECT at FROM replies",
     "column 'b' of UNION ALL is a number in a SELECT before and TIMESTAMP here", "at"),
    ("SELECT tags AS t FROM logs UNION ALL SELECT ns FROM logs",
     "is ARRAY<STRING> in a SELECT before and ARRAY<INT>",
     "ns"),
    ("SELECT src, bytes FROM packets UNION ALL SELECT * FROM replies",
     "each SELECT of UNION ALL needs as many columns as the first: 2, not 3", "SELECT * FROM replies"),
    (f"{NARROW} UNION ALL", "something is missing after this", "ALL"),
    (f"{NARROW} UNION ALL SELECT src, FROM packets", "something is missing after this comma", ","),
]  # fmt: skip


@pytest.mark.parametrize(("select", "says", "marked"), REFUSED)
def test_what_is_refused(select, says, marked):
    found = refused(f"\n{select}")
    assert says in found.message
    assert found.marked.startswith(marked) if len(marked) == 100 else found.marked == marked
    assert found.line == DECLARED.count("\n") + 2


def test_subqueries_of_streams_have_names_of_their_own():
    found = refusal(f"{DECLARED}CREATE STREAM s AS SELECT dst FROM (SELECT src FROM packets) AS x;")
    assert found.message == "there is no column 'dst' in s:x."
