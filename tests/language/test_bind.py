"""Names in a query, and everything that is not supported by its name, with the reason."""

import pytest

from tests.language.asking import plan, query, refused

PACKETS = ("src", "dst", "bytes", "at")


def names(select):
    return tuple(output.name for output in query(select).outputs)


@pytest.mark.parametrize(
    ("select", "outputs"),
    [
        ("SELECT * FROM packets", PACKETS),
        ("SELECT p.* FROM packets p", PACKETS),
        ("SELECT P.*, bytes + 1 AS more FROM packets AS p", (*PACKETS, "more")),
        ("SELECT * FROM packets, owners", (*PACKETS, "name", "boss")),
        ("SELECT h.*, src FROM packets, hosts h", ("ip", "owner", "floor", "src")),
        ("SELECT SRC, Bytes b FROM PACKETS", ("src", "b")),
        ("SELECT (src) FROM packets", ("src",)),
        ("SELECT `src`, packets.dst FROM `packets`", ("src", "dst")),
        ("SELECT bytes + 1, bytes  +\n 2 FROM packets", ("bytes + 1", "bytes + 2")),
        ("SELECT upper(src), CAST(bytes AS STRING) FROM packets", ("upper(src)", "CAST(bytes AS STRING)")),
        ("SELECT CASE WHEN bytes > 1 THEN 1 END FROM packets", ("CASE WHEN bytes > 1 THEN 1 END",)),
        ("SELECT bytes::STRING, 5, 'x' FROM packets", ("bytes::STRING", "5", "'x'")),
        ("SELECT src AS `a b`, dst AS `c.d/e`, at AS `f``g` FROM packets", ("a b", "c.d/e", "f`g")),
        ('SELECT src AS `select`, dst AS "it\'s" FROM packets', ("select", "it's")),
        ("SELECT src AS ünï FROM packets", ("ünï",)),
        ("SELECT ALL src FROM packets", ("src",)),
    ],
)
def test_columns_of_the_result(select, outputs):
    assert names(select) == outputs


@pytest.mark.parametrize(
    "select",
    [
        "SELECT q.src FROM packets [ROWS 5] AS p, packets [ROWS 6] AS q WHERE p.src = q.dst",
        "SELECT packets.src FROM packets JOIN hosts ON src = ip",
        "SELECT src FROM packets INNER JOIN hosts ON packets.src = hosts.ip JOIN owners ON owner = name",
        "SELECT src FROM packets CROSS JOIN hosts",
        "SELECT src FROM packets JOIN hosts WHERE src = ip",
        "SELECT src FROM packets FINAL",
    ],
)
def test_ways_to_write_from(select):
    assert names(select) == ("src",)


def test_names_keep_the_case_of_the_declaration():
    [select, project] = plan("SELECT SRC FROM Packets P WHERE p.BYTES > 1").steps.values()
    assert (select.sql, project.sql) == ("(`bytes` > 1)", "`src` AS `src`")


def test_a_name_in_the_result_cannot_end_its_quotes():
    made = plan("SELECT src AS `a``, ``b` FROM packets", "SELECT src AS `a`, dst AS `b` FROM packets")
    assert [step.sql for step in made.steps.values()] == ["`src` AS `a``, ``b`", "`src` AS `a`, `dst` AS `b`"]


@pytest.mark.parametrize(
    ("select", "says", "marked"),
    [
        ("SELECT srx FROM packets", "there is no column 'srx' in packets. Did you mean 'src'?", "srx"),
        ("SELECT p.srx FROM packets p", "there is no column 'srx' in packets. Did you mean", "p.srx"),
        ("SELECT srx FROM packets, hosts", "there is no column 'srx' in packets or hosts", "srx"),
        ("SELECT 'a' + srx FROM packets", "there is no column 'srx'", "srx"),
        ("SELECT q.src FROM packets p", "nothing in FROM is named 'q'", "q"),
        ("SELECT packets.src FROM packets p", "nothing in FROM is named 'packets'", "packets"),
        ("SELECT hsts.ip FROM packets, hosts", "nothing in FROM is named 'hsts'. Did you mean 'hosts'?", "hsts"),
        ("SELECT z.* FROM packets", "nothing in FROM is named 'z'", "z"),
        ("SELECT a.b.c FROM packets", "nothing in FROM is named 'a'", "a"),
        ("SELECT src FROM pakets", "there is no stream or table 'pakets'. Did you mean 'packets'?", "pakets"),
        (
            "SELECT at FROM packets [ROWS 1] p, replies [ROWS 1] r",
            "column 'at' is in p and r: write p.at, for example",
            "at",
        ),
        (
            "SELECT src FROM packets [ROWS 1], packets [ROWS 1]",
            "two items of FROM are named 'packets': rename one with AS",
            "packets",
        ),
        (
            "SELECT src FROM packets [ROWS 1] p, replies [ROWS 1] P",
            "two items of FROM are named 'P'",
            "replies [ROWS 1] P",
        ),
        ("SELECT src, SRC FROM packets", "two result columns are named 'src'", "SRC"),
        ("SELECT *, src FROM packets", "two result columns are named 'src'", "src"),
        ("SELECT src, dst AS Src FROM packets", "two result columns are named 'Src'", "dst AS Src"),
        ("SELECT src AS `` FROM packets", "'' cannot be a column name", "src AS ``"),
        ("SELECT src AS __t FROM packets", "'__t' cannot be a column name", "src AS __t"),
        (f"SELECT src AS {'n' * 201} FROM packets", "cannot be a column name", "src AS " + "n" * 128),
        (
            "SELECT * EXCEPT (src) FROM packets",
            "write a star as * or p.*, with nothing after it",
            "* EXCEPT (src)",
        ),
        ("SELECT src FROM packets p WHERE p.* = 1", "a star can only be an item of SELECT", "p.*"),
        (
            "SELECT owner FROM hosts",
            "a query must read at least one stream; this one reads only stored tables",
            "hosts",
        ),
        ("SELECT src FROM packets WHERE bytes", "WHERE needs a condition, but this is a number", "bytes"),
        ("SELECT src FROM packets JOIN hosts ON ip", "ON needs a condition, but this is a string", "ip"),
        ("SELECT src FROM packets p WHERE bytes > 1 AND p.src", "WHERE needs a condition, but this is a", "p.src"),
        (
            "SELECT at - at AS a FROM packets",
            "a result column cannot be an interval: CAST the times AS DOUBLE",
            "at - at AS a",
        ),
        ("SELECT NULL AS a FROM packets", "NULL alone has no type: write CAST(NULL AS INT)", "NULL AS a"),
        ("SELECT NULLIF(NULL, NULL) AS a FROM packets", "NULL alone has no type", "NULLIF(NULL, NULL) AS a"),
        ("SELECT src FROM packets AS p (a, b)", "an alias is a single name", "packets AS p (a, b)"),
        ("SELECT src AS (a, b) FROM packets", "unknown function or expression", "src AS (a, b"),
    ],
)
def test_names_that_cannot_be(select, says, marked):
    found = refused(select)
    assert says in found.message
    assert found.marked == marked


def test_nine_streams_are_too_many():
    items = ", ".join(f"packets [ROWS 1] p{number}" for number in range(9))
    found = refused(f"SELECT p1.src FROM {items}")
    assert found.message == "a query can join at most 8 streams; this one joins 9"
    assert len(plan(f"SELECT p1.src FROM {items.rsplit(',', 1)[0]}").steps) == 2


@pytest.mark.parametrize(
    ("select", "says", "marked"),
    [
        (
            "SELECT src FROM packets ORDER BY src",
            "ORDER BY is not supported: a continuous query has no end",
            "ORDER BY",
        ),
        (
            "SELECT src FROM packets SORT BY src",
            "SORT BY is not supported: a continuous query has no end",
            "SORT BY",
        ),
        ("SELECT src FROM packets CLUSTER BY src", "CLUSTER BY is not supported", "CLUSTER BY"),
        (
            "SELECT src FROM packets DISTRIBUTE BY src",
            "DISTRIBUTE BY is not supported: Penstock decides",
            "DISTRIBUTE BY",
        ),
        (
            "SELECT src FROM packets LIMIT 5",
            "LIMIT is not supported: a continuous query has no end; DROP QUERY",
            "LIMIT",
        ),
        ("SELECT 'limit' AS `limit` FROM packets LIMIT ALL", "LIMIT is not supported", "LIMIT"),
        ("SELECT src FROM packets FETCH FIRST 5 ROWS ONLY", "LIMIT is not supported", "FETCH"),
        (
            "SELECT src FROM packets OFFSET 5",
            "OFFSET is not supported: a continuous query begins at its start",
            "OFFSET",
        ),
        (
            "SELECT /*+ BROADCAST(x) */ src FROM packets",
            "hints are not supported: Penstock decides",
            "/*+ BROADCAST(x) */",
        ),
        ("SELECT src INTO x FROM packets", "INTO is not supported: results go where `--out` says", "INTO"),
        ("SELECT src FROM packets LATERAL VIEW explode(x) t", "LATERAL is not supported", "LATERAL"),
        (
            "SELECT src FROM packets QUALIFY 1 = 1",
            "QUALIFY is not supported: window functions are not implemented",
            "QUALIFY",
        ),
        (
            "SELECT src FROM packets WINDOW w AS (ORDER BY src)",
            "WINDOW is not supported: window functions",
            "WINDOW",
        ),
        (
            "SELECT row_number() OVER (ORDER BY src) AS a FROM packets",
            "OVER is not supported: window functions are not implemented yet",
            "row_number() OVER (ORDER BY src)",
        ),
        (
            "SELECT sum(bytes) OVER () AS a FROM packets",
            "OVER is not supported: window functions",
            "sum(bytes) OVER ()",
        ),
        (
            "SELECT src FROM packets RIGHT OUTER JOIN hosts ON 1 = 1",
            "RIGHT JOIN is not supported: only when the window has passed",
            "RIGHT OUTER JOIN hosts ON 1 = 1",
        ),
        (
            "SELECT src FROM packets FULL JOIN hosts ON 1 = 1",
            "FULL JOIN is not supported: only when the window has passed",
            "FULL JOIN hosts ON 1 = 1",
        ),
        (
            "SELECT src FROM packets LEFT SEMI JOIN hosts ON 1 = 1",
            "SEMI JOIN is not supported",
            "LEFT SEMI JOIN hosts ON 1 = 1",
        ),
        (
            "SELECT src FROM packets ANTI JOIN hosts ON 1 = 1",
            "ANTI JOIN is not supported",
            "ANTI JOIN hosts ON 1 = 1",
        ),
        (
            "SELECT src FROM packets NATURAL JOIN hosts",
            "NATURAL JOIN is not supported: name the compared columns",
            "NATURAL JOIN hosts",
        ),
        (
            "SELECT src FROM packets JOIN hosts USING (ip)",
            "USING is not supported: name the compared columns with ON",
            "JOIN hosts USING (ip)",
        ),
        (
            "SELECT src FROM packets ASOF JOIN hosts ON 1 = 1",
            "ASOF is not supported: write JOIN",
            "ASOF JOIN hosts ON 1 = 1",
        ),
        ("SELECT src FROM (packets)", "parentheses in FROM are not supported: write the names", "(packets)"),
        ("SELECT (SELECT 1) AS a FROM packets", "a subquery can only be in FROM", "(SELECT 1)"),
        ("SELECT src FROM packets WHERE bytes > (SELECT 1)", "a subquery can only be in FROM", "(SELECT 1)"),
        (
            "SELECT src FROM packets WHERE src IN (SELECT ip FROM hosts)",
            "a subquery can only be in FROM",
            "src IN (SELECT ip FROM hosts)",
        ),
        (
            "SELECT src FROM packets WHERE EXISTS (SELECT 1)",
            "a subquery can only be in FROM",
            "EXISTS (SELECT 1)",
        ),
        (
            "SELECT src FROM packets WHERE bytes = ALL (SELECT 1)",
            "a subquery can only be in FROM",
            "ALL (SELECT 1)",
        ),
        (
            "SELECT src FROM packets UNION SELECT src FROM packets",
            "UNION is not supported: to remove repetitions, it would have to keep all rows. Write UNION ALL",
            "UNION",
        ),
        ("SELECT src FROM packets EXCEPT SELECT 1", "EXCEPT is not supported", "EXCEPT"),
        ("SELECT src FROM packets INTERSECT SELECT 1", "INTERSECT is not supported", "INTERSECT"),
        ("VALUES (1)", "VALUES is not supported: a query reads streams", "VALUES"),
        (
            "SELECT src FROM VALUES (1) AS t (src)",
            "VALUES is not supported: store constant rows with CREATE TABLE",
            "VALUES (1) AS t (src)",
        ),
        (
            "SELECT src FROM packets, LATERAL (SELECT 1)",
            "expected the name of a stream or a table",
            "LATERAL (SELECT 1)",
        ),
        ("SELECT src FROM range(10)", "expected the name of a stream or a table", "range(10)"),
        ("SELECT src FROM db.packets", "a table, without a dot", "db.packets"),
        (
            "SELECT src FROM packets TABLESAMPLE (5 ROWS)",
            "a table, without TABLESAMPLE",
            "packets TABLESAMPLE (5 ROWS)",
        ),
        ("SELECT src FROM packets VERSION AS OF 1", "a table, without a version", "packets VERSION AS OF 1"),
        (
            "SELECT rand() AS a FROM packets",
            "RAND is not supported: results depend on the input alone",
            "rand()",
        ),
        (
            "SELECT src FROM packets WHERE random() < 0.5",
            "RANDOM is not supported: results depend on the input",
            "random()",
        ),
        ("SELECT src FROM packets WHERE at < now()", "NOW is not supported: results depend on the input", "now()"),
        ("SELECT current_timestamp AS a FROM packets", "CURRENT_TIMESTAMP is not supported", "current_timestamp"),
        (
            "SELECT current_timestamp() AS a FROM packets",
            "CURRENT_TIMESTAMP is not supported",
            "current_timestamp()",
        ),
        ("SELECT current_date AS a FROM packets", "CURRENT_DATE is not supported", "current_date"),
        ("SELECT uuid() AS a FROM packets", "UUID is not supported", "uuid()"),
        ("SELECT floor(bytes, rand()) AS a FROM packets", "RAND is not supported", "rand()"),
        ("SELECT explode(src) AS a FROM packets", "unknown function or expression 'explode'", "explode(src)"),
        (
            "SELECT transform(src, x -> x) AS a FROM packets",
            "unknown function or expression 'transform'",
            "transform(src, x -> x)",
        ),
    ],
)
def test_what_is_not_built_is_refused_by_name(select, says, marked):
    found = refused(select)
    assert says in found.message
    assert found.marked == marked
