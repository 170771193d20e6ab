"""Derived streams: their columns and types, who reads them, and DROP STREAM."""

import re
from pathlib import Path

import pytest

from penstock import ScriptError
from penstock.language.derived import derived_streams, is_anonymous
from penstock.language.statements import Drop, WindowDef
from penstock.language.types import ColumnType
from tests.language.asking import DECLARED, refusal
from tests.language.composed import MINUTES, composed, derived_types, reading, script, sql, types

ALARMS = "CREATE STREAM alarms AS SELECT src, bytes FROM packets WHERE bytes > 1200;\n"


def test_a_derived_stream_has_the_results_of_its_query():
    stream = script(ALARMS).streams["alarms"]
    [query] = stream.branches
    assert (stream.is_derived, stream.source, stream.options) == (True, "derived", {})
    assert types(stream) == {"src": "STRING", "bytes": "INT"}
    assert (query.name, reading(query)) == ("alarms", [("packets", "packets", None)])
    assert sql(query.conditions) == ["f0.`bytes` > 1200"]
    assert query.sql == "SELECT src, bytes FROM packets WHERE bytes > 1200"


def test_its_rows_have_the_time_of_the_results_and_no_column_is_that():
    stream = script("CREATE STREAM s AS SELECT at, src FROM packets;").streams["s"]
    assert (stream.timestamp, stream.time_column, stream.lateness_us, stream.idle_us) == (None, None, 0, None)
    assert script("").streams["packets"].time_column == "at"


def test_it_is_read_like_any_stream():
    made = script(
        f"""{ALARMS}
        CREATE QUERY plain AS SELECT * FROM Alarms;
        CREATE QUERY pairs AS SELECT a.src FROM alarms [RANGE 5 SECONDS] AS a, replies [ROWS 10] AS r
          WHERE a.src = r.host;
        CREATE QUERY counted AS SELECT src, count(*) AS n FROM alarms [ROWS 10 SLIDE 5] GROUP BY src;
        CREATE QUERY owned AS SELECT owner FROM alarms LEFT JOIN hosts ON src = ip;
        """
    )
    read = {name: reading(query) for name, query in made.queries.items()}
    assert read == {
        "plain": [("alarms", "alarms", None)],
        "pairs": [("a", "alarms", "[RANGE 5000000 MICROSECONDS]"), ("r", "replies", "[ROWS 10]")],
        "counted": [("alarms", "alarms", "[ROWS 10 SLIDE 5]")],
        "owned": [("alarms", "alarms", None), ("hosts", "hosts", None)],
    }
    assert all(query.items[0].relation is made.streams["alarms"] for query in made.queries.values())


def test_names_that_other_streams_may_have():
    made = script("CREATE STREAM _x AS SELECT src FROM packets; CREATE QUERY q AS SELECT * FROM _X;")
    assert (list(made.derived), made.queries["q"].items[0].relation.name) == (["_x"], "_x")
    columns = "CREATE STREAM s AS SELECT bytes + 1, src AS `a.b` FROM packets;"
    assert script(f"{columns} CREATE QUERY q AS SELECT `bytes + 1`, `A.b` FROM s;").queries["q"].outputs[1].name


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("n", "BIGINT"),
        ("(d)", "DECIMAL(10,2)"),
        ("day", "DATE"),
        ("raw", "BINARY"),
        ("CAST(n AS DECIMAL(7, 3))", "DECIMAL(7,3)"),
        ("CAST(n AS DECIMAL)", "DECIMAL(10,0)"),
        ("CAST(n AS DECIMAL(4))", "DECIMAL(4,0)"),
        ("TRY_CAST(t AS DATE)", "DATE"),
        ("n::integer", "INT"),
        ("CAST(n AS FLOAT)", "FLOAT"),
        ("CAST(n AS REAL)", "FLOAT"),
        ("CAST(ts AS STRING)", "STRING"),
        ("upper(t)", "STRING"),
        ("t || 'x'", "STRING"),
        ("'x'", "STRING"),
        ("n > 3", "BOOLEAN"),
        ("t LIKE 'a%' AND ok", "BOOLEAN"),
        ("unbase64(t)", "BINARY"),
        ("split(t, ',')", "ARRAY<STRING>"),
        ("get(split(t, ','), 0)", "STRING"),
        ("split(t, ',')[0]", "STRING"),
        ("CASE WHEN ok THEN t END", "STRING"),
        ("n + 1", "NUMBER"),
        ("5", "NUMBER"),
        ("length(t)", "NUMBER"),
        ("coalesce(n, x)", "NUMBER"),
        ("CASE WHEN ok THEN n ELSE d END", "NUMBER"),
        ("ts + INTERVAL 1 DAY", "TIME"),
        ("to_date(t)", "TIME"),
    ],
)
def test_types_of_columns(expression, found):
    assert derived_types(f"SELECT {expression} AS v FROM kinds") == {"v": found}


def test_types_of_parts_of_columns():
    parts = "id.port AS a, seen[0].hops AS b, m['x'] AS c, deep[1] AS d, id AS e, map_keys(m) AS f, seen.at AS g"
    assert derived_types(f"SELECT {parts} FROM logs") == {
        "a": "INT",
        "b": "INT",
        "c": "INT",
        "d": "ARRAY<STRING>",
        "e": "STRUCT<`orig_h`:STRING,`port`:INT,`a b`:STRUCT<`c`:DOUBLE>>",
        "f": "ARRAY<STRING>",
        "g": "ARRAY<TIMESTAMP>",
    }


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("t", "STRING"),
        ("window_start", "TIMESTAMP"),
        ("window_end", "TIMESTAMP"),
        ("count(*)", "BIGINT"),
        ("count(x)", "BIGINT"),
        ("count(DISTINCT t, n)", "BIGINT"),
        ("count_if(ok)", "BIGINT"),
        ("approx_count_distinct(t)", "BIGINT"),
        ("min(day)", "DATE"),
        ("max(t)", "STRING"),
        ("first(d)", "DECIMAL(10,2)"),
        ("last(raw)", "BINARY"),
        ("min_by(ts, n)", "TIMESTAMP"),
        ("max_by(x, n)", "DOUBLE"),
        ("max(n + 1)", "NUMBER"),
        ("sum(n)", "BIGINT"),
        ("sum(CAST(n AS TINYINT))", "BIGINT"),
        ("sum(d)", "DECIMAL(20,2)"),
        ("sum(CAST(d AS DECIMAL(35,4)))", "DECIMAL(38,4)"),
        ("sum(x)", "DOUBLE"),
        ("sum(CAST(n AS FLOAT))", "DOUBLE"),
        ("sum(n + 1)", "NUMBER"),
        ("avg(n)", "DOUBLE"),
        ("mean(x)", "DOUBLE"),
        ("avg(d)", "DECIMAL(14,6)"),
        ("avg(CAST(d AS DECIMAL(38,36)))", "DECIMAL(38,38)"),
        ("avg(n * 2)", "NUMBER"),
        ("stddev(n)", "DOUBLE"),
        ("var_pop(d)", "DOUBLE"),
        ("bool_or(ok)", "BOOLEAN"),
        ("sum(n) / count(*)", "NUMBER"),
        ("CAST(sum(n) AS INT)", "INT"),
        ("sum(n) > 3", "BOOLEAN"),
    ],
)
def test_types_of_aggregates(expression, found):
    assert derived_types(f"SELECT {expression} AS v FROM kinds {MINUTES} GROUP BY t") == {"v": found}


def test_types_of_structs_in_aggregates():
    assert derived_types(f"SELECT first(id).port AS v, last(ns) AS w FROM logs {MINUTES}") == {
        "v": "INT",
        "w": "ARRAY<INT>",
    }


def test_what_is_known_of_a_type():
    kinds = [ColumnType(name) for name in ("NUMBER", "TIME", "INT", "DECIMAL(10,2)", "ARRAY<INT>")]
    assert [kind.is_exact for kind in kinds] == [False, False, True, True, True]
    assert [kind.family for kind in kinds[:2]] == ["number", "time"]
    assert [kind.bytes for kind in kinds[:2]] == [8, 8]
    assert [kind.is_nested for kind in kinds[:2]] == [False, False]


def test_types_go_on_from_stream_to_stream():
    made = script(
        f"""CREATE STREAM a AS SELECT n, n + 1 AS m, ts FROM kinds;
        CREATE STREAM b AS SELECT m, sum(n) AS s, sum(m) AS u, max(ts) AS last FROM a {MINUTES} GROUP BY m;"""
    )
    assert types(made.streams["b"]) == {"m": "NUMBER", "s": "BIGINT", "u": "NUMBER", "last": "TIMESTAMP"}


# The streams of a script ------------------------------------------------------------------------------------


def test_sources_and_derived_streams():
    made = script(
        f"""{ALARMS}
        CREATE QUERY early AS SELECT * FROM (SELECT * FROM alarms) AS x;
        CREATE STREAM late AS WITH a AS (SELECT * FROM alarms) SELECT src FROM a UNION ALL SELECT dst FROM packets;
        CREATE QUERY both AS SELECT src FROM late UNION ALL SELECT host FROM replies;"""
    )
    assert list(made.sources) == ["packets", "replies", "kinds", "logs"]
    assert list(made.streams) == ["packets", "replies", "kinds", "logs", "alarms", "late"]
    assert list(made.derived) == ["alarms", "late:a", "late", "early.x", "both.union"]
    assert [is_anonymous(stream) for stream in made.derived.values()] == [False, True, False, True, True]


def test_a_stream_that_is_read_twice_is_found_once():
    query, streams = composed(
        "WITH a AS (SELECT src FROM packets), b AS (SELECT src FROM a), c AS (SELECT src FROM a) "
        "SELECT b.src FROM b [ROWS 1], c [ROWS 2], a [ROWS 3]"
    )
    assert list(streams) == ["q.a", "q.b", "q.c"]
    assert [item.relation for item in query.items] == [streams[name] for name in ("q.b", "q.c", "q.a")]
    assert list(derived_streams([query.items[1].relation])) == [streams["q.a"], streams["q.c"]]


def test_long_chains_of_streams():
    chain = "".join(f"CREATE STREAM s{n + 1} AS SELECT src FROM s{n};\n" for n in range(2000))
    made = script(f"CREATE STREAM s0 AS SELECT src FROM packets;\n{chain}CREATE QUERY q AS SELECT * FROM s2000;")
    assert list(made.derived) == [f"s{n}" for n in range(2001)]
    names = ", ".join(f"a{n + 1} AS (SELECT src FROM a{n})" for n in range(500))
    _, streams = composed(f"WITH a0 AS (SELECT src FROM packets), {names} SELECT * FROM a500")
    assert len(streams) == 501


def test_names_of_subqueries_and_streams_do_not_collide():
    made = script(
        """CREATE STREAM s AS SELECT * FROM (SELECT src FROM packets) AS x;
        CREATE QUERY s AS WITH x AS (SELECT * FROM s) SELECT * FROM (SELECT * FROM x) AS x;
        CREATE QUERY t AS WITH `union` AS (SELECT * FROM s) SELECT src FROM `union` UNION ALL SELECT src FROM s;"""
    )
    assert list(made.derived) == ["s:x", "s", "s.x", "s.x (2)", "t.union (2)", "t.union"]


# DROP STREAM ------------------------------------------------------------------------------------------------


def test_a_derived_stream_is_dropped():
    made = script(ALARMS)
    statements = list(made.read_statements("DROP STREAM Alarms"))
    assert statements == [Drop("Alarms", what="stream")]
    assert list(made.with_statements(statements).streams) == ["packets", "replies", "kinds", "logs"]


def test_a_name_can_be_used_again():
    made = script(f"{ALARMS} DROP STREAM alarms; CREATE STREAM ALARMS AS SELECT host FROM replies;")
    assert types(made.derived["ALARMS"]) == {"host": "STRING"}


def test_a_stream_is_dropped_after_its_readers():
    readers = "CREATE QUERY q AS SELECT * FROM alarms; CREATE STREAM t AS SELECT * FROM alarms;"
    made = script(f"{ALARMS}{readers}DROP QUERY q; DROP STREAM t; DROP STREAM alarms;")
    assert (list(made.derived), list(made.queries)) == ([], [])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("DROP STREAM packets", "packets has rows of its own: only derived streams can be dropped"),
        ("DROP STREAM Hosts", "hosts is a stored table: only derived streams can be dropped"),
        ("DROP STREAM alarm", "there is no stream 'alarm' to drop. Did you mean 'alarms'?"),
        ("DROP STREAM zzz", "there is no stream 'zzz' to drop."),
        (
            "CREATE QUERY q AS SELECT * FROM alarms; DROP STREAM alarms",
            "stream alarms cannot be dropped while it is read: query q reads it: drop that first",
        ),
        (
            "CREATE QUERY q AS SELECT * FROM (SELECT * FROM alarms) AS x; DROP STREAM alarms",
            "query q reads it: drop that first",
        ),
        (
            "CREATE QUERY q AS SELECT src FROM packets UNION ALL SELECT src FROM alarms; DROP STREAM alarms",
            "query q reads it: drop that first",
        ),
        (
            "CREATE STREAM t AS SELECT * FROM alarms; CREATE QUERY q AS SELECT * FROM t; DROP STREAM alarms",
            "stream t reads it: drop that first",
        ),
        (
            "CREATE STREAM t AS WITH a AS (SELECT * FROM alarms) SELECT * FROM a; DROP STREAM alarms",
            "stream t reads it: drop that first",
        ),
    ],
)
def test_streams_that_cannot_be_dropped(text, says):
    found = refusal(DECLARED + ALARMS + text)
    assert says in found.message
    assert found.marked == text.split("; ")[-1]


def test_readers_are_known_when_statements_are_added():
    made = script(f"{ALARMS}CREATE QUERY q AS SELECT * FROM alarms;")
    with pytest.raises(ScriptError, match="query q reads it"):
        list(made.read_statements("DROP STREAM alarms"))
    assert len(list(made.read_statements("DROP QUERY q; DROP STREAM alarms"))) == 2


# What is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says", "marked"),
    [
        ("CREATE STREAM s AS", "expected SELECT after AS, not the end of the statement", ""),
        ("CREATE STREAM s AS packets", "expected SELECT after AS, not 'packets'", "packets"),
        ("CREATE STREAM s AS SELECT * FROM s", "there is no stream or table 's'", "s"),
        ("CREATE STREAM s AS SELECT owner FROM hosts", "a query must read at least one stream", "hosts"),
        ("CREATE STREAM s AS SELECT src, dst AS SRC FROM packets", "two result columns are named 'SRC'", "dst AS"),
        ("CREATE STREAM s AS SELECT src AS __a FROM packets", "'__a' cannot be a column name", "src AS __a"),
        ("CREATE STREAM s AS SELECT NULL AS a FROM packets", "NULL alone has no type", "NULL AS a"),
        ("CREATE STREAM s AS SELECT src FROM packets LIMIT 3", "LIMIT is not supported", "LIMIT"),
        ("CREATE STREAM packets AS SELECT host FROM replies", "there is already a stream or table", "packets"),
        ("CREATE STREAM hosts AS SELECT host FROM replies", "there is already a stream or table 'hosts'", "hosts"),
        ("CREATE STREAM `a#1` AS SELECT host FROM replies", "expected the name of a stream, not 'a#1'", "`a#1`"),
        ("CREATE STREAM `a.b` AS SELECT host FROM replies", "expected the name of a stream", "`a.b`"),
        (
            "CREATE STREAM s (a STRING) AS SELECT src FROM packets",
            "a derived stream has the columns of its SELECT: write CREATE STREAM s AS SELECT",
            "AS",
        ),
        (
            "CREATE TABLE t AS SELECT src FROM packets",
            "a stored table is read from files. CREATE STREAM has the results of a query: CREATE STREAM … AS",
            "AS",
        ),
        ("CREATE STREAM s AS SELECT src FROM packets WITH (rate = 3)", "expected ) here", "="),
    ],
)
def test_streams_that_cannot_be_derived(text, says, marked):
    found = refusal(DECLARED + text)
    assert says in found.message
    assert found.marked.startswith(marked) if marked == "dst AS" else found.marked == marked


def test_rows_of_a_stream_with_lateness_are_put_in_order_before_they_are_counted():
    options = "path = 'x', format = 'json', timestamp = 'at', lateness = '5 s'"
    late = f"CREATE STREAM f (a INT, at TIMESTAMP) FROM files WITH ({options});"
    [item] = script(f"{late} CREATE QUERY q AS SELECT sum(a) AS s FROM f [ROWS 10 SLIDE 5];").queries["q"].items
    assert (item.window, item.relation.name) == (WindowDef("rows", 10, 5), "f in order")
    [branch] = item.relation.branches
    assert [each.relation.name for each in branch.items] == ["f"]
    assert [output.name for output in branch.outputs] == ["a", "at"]


def test_the_examples_of_the_manual_are_valid():
    manual = (Path(__file__).parents[2] / "docs" / "scripts.md").read_text()
    section = manual[manual.index("## Queries over queries") : manual.index("## Functions")]
    examples = re.findall(r"```sql\n(.*?)```", section, re.DOTALL)
    assert [len(script(example).streams) - len(script("").streams) for example in examples] == [0, 0, 1]
