"""Statements other than queries: streams, tables, options, types, settings, drops."""

import pytest

from penstock.language import Script
from penstock.language.source_options import STREAMS, TABLES
from tests.language.asking import DECLARED, refusal

STREAM = "CREATE STREAM s (a INT, at TIMESTAMP) FROM {} WITH ({})"


def stream(text):
    [found] = Script.parse(text).streams.values()
    return found


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("BOOLEAN", "BOOLEAN"),
        ("byte", "TINYINT"),
        ("short", "SMALLINT"),
        ("Integer", "INT"),
        ("long", "BIGINT"),
        ("real", "FLOAT"),
        ("double", "DOUBLE"),
        ("text", "STRING"),
        ("VARCHAR(20)", "STRING"),
        ("date", "DATE"),
        ("timestamp", "TIMESTAMP"),
        ("binary", "BINARY"),
        ("decimal", "DECIMAL(10,0)"),
        ("numeric(5)", "DECIMAL(5,0)"),
        ("decimal(38, 38)", "DECIMAL(38,38)"),
    ],
)
def test_types(written, name):
    [column] = stream(f"CREATE STREAM s (a {written}) FROM poisson WITH (rate = 1)").columns
    assert column.type.name == name


@pytest.mark.parametrize(
    ("written", "says", "marked"),
    [
        ("INTT", "expected the type of column a, not 'INTT'. Did you mean 'int'?", "INTT"),
        ("", "expected the type of column a, not ')'", ")"),
        ("'INT'", "expected the type of column a, not 'INT'", "'INT'"),
        ("`INT`", "expected the type of column a, not 'INT'", "`INT`"),
        ("ARRAY<INT>", "column a is an array, but a generated stream has only simple values", "a ARRAY<INT>"),
        ("STRING PATH 'b.c'", "PATH applies to data that is read", "a STRING PATH 'b.c'"),
        ("STRING PATH b", "expected a path in quotes after PATH, as in a STRING PATH 'id.orig_h'", "b"),
        ("STRING PATH 'b..c'", "'b..c' is not a path", "'b..c'"),
        ("ARRAY", "expected < after ARRAY, as in ARRAY<INT>, not ')'", ")"),
        ("ARRAY<INTT>", "expected the type of the elements of column a, not 'INTT'. Did you mean 'int'?", "INTT"),
        ("ARRAY<INT", "expected > at the end of the type of column a, not ')'", ")"),
        ("MAP<STRING>", "expected , between the types of keys and values of column a, not '>'", ">"),
        ("MAP<ARRAY<INT>, INT>", "the keys of a map cannot be arrays", "ARRAY<INT>"),
        ("STRUCT<>", "expected < after STRUCT, as in STRUCT<host: STRING, port: INT>, not '<>'", "<>"),
        ("STRUCT<b: INT, B: INT>", "column a has two fields named 'B'", "B"),
        ("STRUCT<s: INT, ſ: INT>", "column a has two fields named 'ſ'", "ſ"),
        ("STRUCT<b: >", "expected the type of field b, not '>'", ">"),
        ("ARRAY<" * 25 + "INT" + ">" * 25, "is nested too deeply: at most 20 levels", "ARRAY"),
        ("INT(5)", "INT takes no numbers in parentheses", "INT(5)"),
        ("VARCHAR(5, 6)", "STRING takes one number in parentheses", "VARCHAR(5, 6)"),
        ("DECIMAL(1, 2, 3)", "DECIMAL takes two numbers in parentheses", "DECIMAL(1, 2, 3)"),
        ("DECIMAL(39)", "DECIMAL has 1 to 38 digits", "DECIMAL(39)"),
        ("DECIMAL(5, 6)", "DECIMAL has 1 to 38 digits", "DECIMAL(5, 6)"),
        ("DECIMAL(x)", "expected a whole number, not 'x'", "x"),
        ("DECIMAL(²)", "expected a whole number, not '²'", "²"),
        ("DECIMAL(1.5)", "expected a whole number, not '1.5'", "1.5"),
        ("DECIMAL(5", "expected ) after the type of column a, not 'FROM'", "FROM"),
        ("INT b INT", "expected , or ) after column a, not 'b'", "b"),
        ("INT, a INT", "stream s has two columns named 'a'", "a"),
        ("INT, A INT", "stream s has two columns named 'A'", "A"),
        ("INT, __b INT", "must not begin with two underscores", "__b"),
        ("INT, `` INT", "expected the name of a column, not ''", "``"),
        ("INT, `__b` INT", "must not begin with two underscores", "`__b`"),
        ("INT, größe INT, GRÖßE INT", "stream s has two columns named 'GRÖßE'", "GRÖßE"),
        ("INT, é INT, e\u0301 INT", "stream s has two columns named", "e\u0301"),
        ("INT, 5 INT", "expected the name of a column, not '5'", "5"),
        ("INT, 'b' INT", "expected the name of a column, not 'b'", "'b'"),
        (f"INT, {'ü' * 101} INT", "the name of a column is too long: at most 200 bytes", "ü" * 101),
    ],
)
def test_columns_that_cannot_be(written, says, marked):
    text = f"CREATE STREAM s (a {written}) FROM poisson WITH (rate = 1)"
    found = refusal(text.replace("5) FROM", "5 FROM") if written == "DECIMAL(5" else text)
    assert says in found.message
    assert found.marked == marked


def test_a_thousand_columns_and_no_more():
    columns = [f"c{number} INT" for number in range(1001)]
    text = "CREATE STREAM s ({}) FROM poisson WITH (rate = 1)"
    assert len(stream(text.format(", ".join(columns[:1000]))).columns) == 1000
    assert refusal(text.format(", ".join(columns))).marked == "c1000"


def test_columns_may_be_called_like_words_of_sql():
    names = (
        "at",
        "time",
        "order",
        "select",
        "from",
        "date",
        "timestamp",
        "interval",
        "case",
        "end",
        "not",
        "rows",
    )
    columns = ", ".join(f"`{name}` INT" for name in names)
    outputs = ", ".join(f"`{name}`" for name in names)
    text = f"CREATE STREAM s ({columns}) FROM poisson WITH (rate = 1); CREATE QUERY q AS SELECT {outputs} FROM s"
    made = Script.parse(text).queries["q"]
    assert tuple(output.name for output in made.outputs) == names
    plain = "CREATE STREAM s (at INT, time INT, order INT) FROM poisson WITH (rate = 1)"
    assert [column.name for column in stream(plain).columns] == ["at", "time", "order"]


@pytest.mark.parametrize(
    ("kind", "options", "found"),
    [
        ("poisson", "rate = 5", {"rate": 5}),
        ("poisson", "RATE = 0.5, seed = 7, rows = 10, seconds = 1.5, speed = 2", {"rate": 0.5, "speed": 2}),
        ("poisson", "rate = 1, a_low = -5, A_high = -1.5, a_distinct = 3, a_zipf = 1.1", {"a_low": -5}),
        (
            "bursty",
            "rate = 5, flows = 2, on_alpha = 1.4, off_alpha = 1.2, mean_on = 1, mean_off = 2",
            {"flows": 2},
        ),
        ("trace", "path = 'x', repeat = true, column = 'at'", {"repeat": True}),
        ("files", "path = 'x', format = 'JSON', timestamp = 'AT'", {"format": "json", "timestamp": "at"}),
        (
            "files",
            "path = 'x', format = 'csv', lateness = '5 s', idle = 2",
            {"lateness": 5_000_000},
        ),
        ("files", "path = 'x', format = 'csv', header = false, delimiter = ';'", {"header": False}),
        ("socket", "port = 65535, host = 'h', listen = TRUE, format = 'csv'", {"port": 65535, "listen": True}),
        (
            "structured",
            "format = 'kafka', kafka.bootstrap.servers = 'h:1', 'a b' = 5",
            {"format": "kafka", "kafka.bootstrap.servers": "h:1", "a b": 5},
        ),
    ],
)
def test_options_of_streams(kind, options, found):
    made = stream(STREAM.format(kind, options))
    assert made.source == kind
    assert found.items() <= made.options.items()


def test_times_and_lateness_of_a_stream():
    made = stream(
        STREAM.format("files", "path = 'x', format = 'csv', timestamp = 'At', lateness = '1 ms', idle = 3")
    )
    assert (made.timestamp, made.lateness_us, made.idle_us) == ("at", 1_000, 3_000_000)
    plain = stream(STREAM.format("poisson", "rate = 1"))
    assert (plain.timestamp, plain.lateness_us, plain.idle_us, plain.row_bytes) == (None, 0, None, 12)


@pytest.mark.parametrize(
    ("kind", "options", "says", "marked"),
    [
        ("poisson", "", "poisson needs the option 'rate': WITH (rate = …)", "poisson"),
        ("poisson", "rate = 0", "option 'rate' of poisson: must be above 0", "rate = 0"),
        ("poisson", "rate = -5", "must be above 0", "rate = -5"),
        ("poisson", "rate = 1e999", "must be at most 1e+15", "rate = 1e999"),
        ("poisson", "rate = 1e-300", "is too small", "rate = 1e-300"),
        ("poisson", "rate = '5'", "must be a number", "rate = '5'"),
        ("poisson", "rate = true", "must be a number", "rate = true"),
        ("poisson", "rate = 5L", "expected , or ) after option rate", "5L"),
        ("poisson", "rate = x", "expected a number, a string in quotes, true or false, not 'x'", "x"),
        ("poisson", "rate = -true", "expected a number, a string in quotes, true or false, not 'true'", "true"),
        ("poisson", "rate = ", "expected a number, a string in quotes, true or false, not ')'", ")"),
        ("poisson", "rate 5", "expected = after option rate, not '5'", "5"),
        ("poisson", "rate = 5 seed = 1", "expected , or ) after option rate, not 'seed'", "seed"),
        ("poisson", "rate = 5, Rate = 6", "option 'Rate' is given twice", "Rate"),
        ("poisson", "rate = 5, sed = 6", "poisson has no option 'sed'. Did you mean 'seed'?", "sed = 6"),
        ("poisson", "rate = 5, b_low = 6", "poisson has no option 'b_low'. Did you mean 'a_low'?", "b_low = 6"),
        ("poisson", "rate = 5, seed = 1.5", "must be a whole number", "seed = 1.5"),
        ("poisson", "rate = 5, seed = -1", "must be at least 0", "seed = -1"),
        ("poisson", "rate = 5, a_low = 'x'", "must be a number", "a_low = 'x'"),
        ("poisson", "rate = 5, a_low = 1e999", "must be a number", "a_low = 1e999"),
        ("bursty", "rate = 5, on_alpha = 1", "must be above 1", "on_alpha = 1"),
        ("trace", "rate = 5", "trace needs the option 'path'", "trace"),
        ("files", "path = 'x'", "files needs the option 'format'", "files"),
        ("files", "path = '', format = 'csv'", "must be a string in quotes", "path = ''"),
        ("files", "path = 'x', format = 'jsn'", "Did you mean 'json'?", "format = 'jsn'"),
        ("files", "path = 'x', format = 'csv', header = 'x'", "must be true or false", "header = 'x'"),
        ("files", "path = 'x', format = 'csv', lateness = '5 x'", "'x' is not a unit of time", "lateness = '5 x'"),
        ("files", "path = 'x', format = 'csv', lateness = -5", "-5 s is out of range", "lateness = -5"),
        ("files", "path = 'x', format = 'csv', timestamp = 'b'", "stream s has no column 'b'", "s"),
        ("files", "path = 'x', format = 'csv', timestamp = 'a'", "must be a TIMESTAMP, but a is INT", "s"),
        ("socket", "port = 65536", "must be at most 65535", "port = 65536"),
        ("socket", "port = 0", "must be at least 1", "port = 0"),
        ("structured", "landing = 'x'", "structured needs the option 'format'", "structured"),
        ("poison", "rate = 1", "there is no kind of stream 'poison'. Did you mean 'poisson'?", "poison"),
        ("csv", "path = 'x'", "there is no kind of stream 'csv'. There are bursty", "csv"),
        ("kafka", "topic = 'x'", "Write FROM structured WITH (format = 'kafka', `kafka.bootstrap.serv", "kafka"),
    ],
)
def test_options_that_cannot_be(kind, options, says, marked):
    found = refusal(STREAM.format(kind, options))
    assert says in found.message
    assert found.marked == marked


def test_every_kind_says_what_it_needs():
    for kind, each in STREAMS.items():
        for name in each.required:
            others = ", ".join(f"{other} = 'csv'" for other in each.required if other != name)
            assert f"'{name}'" in refusal(STREAM.format(kind, others)).message


@pytest.mark.parametrize("kind", TABLES)
def test_tables(kind):
    script = Script.parse(f"CREATE TABLE t (a INT) FROM {kind} WITH (path = 'x')")
    assert script.tables["t"].source == kind
    assert "needs the option 'path'" in refusal(f"CREATE TABLE t (a INT) FROM {kind}").message


@pytest.mark.parametrize(
    ("text", "says", "marked"),
    [
        ("CREATE TABLE t (a INT) FROM poisson WITH (rate = 1)", "there is no kind of table 'poisson'", "poisson"),
        ("CREATE TABLE t (a INT)", "expected FROM after the columns of table t, not the end of the statement", ""),
        ("CREATE TABLE t FROM csv", "expected ( with the columns after the name of table t, not 'FROM'", "FROM"),
        ("CREATE TABLE t (a INT) FROM csv WITH path = 'x'", "expected ( after WITH, not 'path'", "path"),
        (
            "CREATE TABLE t (a INT) FROM csv WITH (path = 'x') b",
            "expected ; at the end of the statement, not 'b'",
            "b",
        ),
        ("CREATE TABLE t (a INT) FROM csv WITH (path = 'x'", "expected , or ) after option path, not the end", ""),
        (
            "CREATE STREAM packets (a INT) FROM poisson WITH (rate = 1)",
            "there is already a stream or table",
            "packets",
        ),
        (
            "CREATE TABLE Packets (a INT) FROM csv WITH (path = 'x')",
            "there is already a stream or table",
            "Packets",
        ),
        ("CREATE VIEW v", "expected STREAM, TABLE or QUERY after CREATE, not 'VIEW'", "VIEW"),
        ("CREATE `QUERY` v", "expected STREAM, TABLE or QUERY after CREATE, not 'QUERY'", "`QUERY`"),
        (
            "CREAT STREAM v",
            "expected CREATE, DROP or SET at the start of a statement, not 'CREAT'",
            "CREAT",
        ),
        ("CREATE QUERY q", "expected AS after CREATE QUERY q, not the end of the statement", ""),
        ("CREATE QUERY q AS", "expected SELECT after AS, not the end of the statement", ""),
        (
            "CREATE QUERY `a/b` AS SELECT 1",
            "expected the name of a query, not 'a/b': letters",
            "`a/b`",
        ),
        ("CREATE QUERY `..` AS SELECT 1", "expected the name of a query, not '..'", "`..`"),
        ("CREATE QUERY a.b AS SELECT 1", "expected AS after CREATE QUERY a, not '.'", "."),
        ("CREATE QUERY 'a' AS SELECT 1", "expected the name of a query, not 'a'", "'a'"),
        (f"CREATE QUERY {'q' * 201} AS SELECT 1", "the name of a query is too long", "q" * 147),
        ("DROP QUERY nobody", "there is no query 'nobody' to drop", "DROP QUERY nobody"),
        ("DROP TABLE hosts", "expected QUERY or STREAM after DROP, not 'TABLE'", "TABLE"),
        ("DROP STREAM packets", "packets has rows of its own: only derived", "DROP STREAM packets"),
        ("DROP QUERY", "expected the name of a query, not the end of the statement", ""),
        ("SET polcy = 'x'", "there is no setting 'polcy'. Did you mean 'policy'?", "polcy"),
        ("SET policy = 5", "setting 'policy': must be the name of a policy, in quotes", "policy"),
        ("SET qos = 5", "setting 'qos': must be a string in quotes", "qos"),
        ("SET memory = '5 x'", "setting 'memory': 'x' is not a unit of memory", "memory"),
        ("SET chunk_rows = 0", "setting 'chunk_rows': must be a whole number, 1 or more", "chunk_rows"),
        ("SET chunk_rows = 1.5", "must be a whole number, 1 or more", "chunk_rows"),
        ("SET chunk_time = '5 x'", "'x' is not a unit of time", "chunk_time"),
        ("SET policy 'x'", "expected = after SET policy, not 'x'", "'x'"),
        ("SET policy = 'x' 'y'", "expected ; at the end of the statement, not 'y'", "'y'"),
        ("SET policy =", "the statement ends too early", ""),
        ("SET = 5", "expected the name of a setting, not '='", "="),
        ("SELECT 1", "expected CREATE, DROP or SET at the start of a statement, not 'SELECT'", "SELECT"),
    ],
)
def test_statements_that_cannot_be(text, says, marked):
    found = refusal(DECLARED + text)
    assert says in found.message
    assert found.marked == marked
    assert found.line == DECLARED.count("\n") + 1


def test_settings():
    script = Script.parse(
        "SET Policy = 'bsd'; SET memory = '512MB'; SET qos = ''; SET chunk_rows = 5; SET chunk_time = '10 ms';"
        "SET memory = 1000; SET batch_rows = 7"
    )
    assert script.settings == {
        "policy": "bsd",
        "memory": 1000,
        "qos": "",
        "chunk_rows": 5,
        "chunk_time": 10_000,
        "batch_rows": 7,
    }


@pytest.mark.parametrize("roll", ["64MB", "1 min", "64 MiB, 90 s", "1 h,1GB"])
def test_when_files_are_rolled(roll):
    assert Script.parse(f"SET roll = '{roll}'").settings == {"roll": roll}


@pytest.mark.parametrize(
    ("roll", "says"),
    [
        ("64", "must be a size, a time or both, such as '64MB', '1 min' or '64MB, 1 min'"),
        ("'64'", "must be a size, a time or both"),
        ("''", "must be a size, a time or both"),
        ("true", "must be a size, a time or both"),
        ("'64MB,'", "must be a size, a time or both"),
        ("'64MB, 1 GB'", "has two sizes"),
        ("'1 s, 64MB, 1 min'", "has two times"),
        ("'0 s'", "the time must be above 0"),
        ("'0MB'", "is not a number of bytes"),
        ("'64 parsecs'", "'parsecs' is not a unit"),
    ],
)
def test_files_that_cannot_be_rolled_so(roll, says):
    found = refusal(f"SET roll = {roll}").message
    assert "setting 'roll'" in found
    assert says in found


@pytest.mark.parametrize(
    ("one", "other"),
    [("straße", "STRASSE"), ("\u00e5ngstr", "\u212bngstr"), ("\ud55c", "\u1112\u1161\u11ab"), ("is", "i\u017f")],
)
def test_queries_that_would_share_a_folder_where_case_is_ignored(one, other):
    """In Unicode: sharp s, the sign for angstrom, a Korean syllable composed and in parts, long s."""
    first, second = (f"CREATE QUERY {name} AS SELECT src FROM packets;" for name in (one, other))
    text = f"{DECLARED}{first}\n{second}"
    found = refusal(text)
    assert "would share the folder" in found.message or "already a query" in found.message
    assert (found.line, found.column) == (text.count("\n") + 1, 1)
    assert list(Script.parse(f"{DECLARED}{first}DROP QUERY {one};{second}").queries) == [other]


def test_queries_whose_folders_would_be_taken_for_ours():
    found = refusal(f"{DECLARED}CREATE QUERY _groups AS SELECT src FROM packets")
    assert "the name of a query must not begin with _" in found.message


def test_a_query_can_be_dropped_and_made_anew():
    made = "CREATE QUERY q AS SELECT src FROM packets;"
    script = Script.parse(f"{DECLARED}{made} DROP QUERY Q; CREATE QUERY Q AS SELECT bytes FROM packets;")
    assert list(script.queries) == ["Q"]
    assert (
        "there is already a query 'Q'"
        in refusal(f"{DECLARED}{made} CREATE QUERY Q AS SELECT 1 AS a FROM packets").message
    )
    assert (
        "Did you mean 'query'?" in refusal(f"{DECLARED}{made.replace(' q ', ' query ')} DROP QUERY quary").message
    )
