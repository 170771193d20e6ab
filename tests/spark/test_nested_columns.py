"""Names with dots and blanks, arrays, maps and structs: through selections, joins, groups and tables."""

import json

import penstock
import penstock.spark as ps
from penstock.spark.collect import Rows, collected

ROWS = [
    {"id": {"orig_h": "a", "port": 80, "a b": {"c": 1.5}}, "x.y": "p", "tags": ["u", "v"], "ns": [1, 5],
     "m": {"k": 3}},
    {"id": {"orig_h": "b", "port": 443, "a b": None}, "x.y": "q", "tags": [], "ns": [7], "m": {}},
    {"id": None, "x.y": "q", "tags": None, "ns": [2], "m": {"k": None, "l": 4}},
    {"id": {"orig_h": None, "port": 22, "a b": {"c": 2.5}}, "x.y": "it's `r`", "tags": [None], "ns": [9, 0],
     "m": {"k": 1}},
]  # fmt: skip
SCRIPT = """
CREATE STREAM logs (id STRUCT<orig_h: STRING, port: INT, `a b`: STRUCT<c: DOUBLE>>, `x.y` STRING,
  tags ARRAY<STRING>, ns ARRAY<INT>, m MAP<STRING, INT>) FROM files WITH (path = 'logs', format = 'json');
CREATE TABLE names (`x.y` STRING, `full name` STRING) FROM csv WITH (path = 'names.csv');
CREATE QUERY everything AS SELECT * FROM logs;
CREATE QUERY made AS SELECT IF(id.port > 0, id, NULL) AS id, coalesce(tags, split(`x.y`, ' ')) AS t, ns[0] + 1 AS n
  FROM logs;
CREATE QUERY part AS SELECT `x.y`, id.orig_h, id.`a b`.c, m['k'] AS k FROM logs
  WHERE id.port > 79 AND exists(ns, n -> n > 4);
CREATE QUERY other AS SELECT `x.y`, id.orig_h, id.`a b`.c, m['k'] AS k FROM logs
  WHERE id.port > 9 AND exists(ns, n -> n > 4);
CREATE QUERY named AS SELECT n.`full name`, l.id.port AS `the port`
  FROM logs l JOIN names n ON l.`x.y` = n.`x.y`;
CREATE QUERY pairs AS SELECT a.id.port, b.tags, a.m
  FROM logs [ROWS 1] a, logs [ROWS 1] b WHERE a.id.port < b.id.port;
"""


def test_names_and_nested_columns(tmp_path, spark):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "names.csv").write_text("x.y,full name\np,Pat\nit's `r`,Ritz\n")
    (tmp_path / "s.sql").write_text(SCRIPT)
    summary = ps.run(tmp_path / "s.sql", out=tmp_path / "out", drain=True, spark=spark).summary
    assert summary.failed == ()

    def rows(name):
        found = penstock.read(tmp_path / "out", name).to_pylist()
        return [
            {key: dict(value) if key == "m" and value is not None else value for key, value in row.items()}
            for row in found
        ]

    a, b, _, d = ROWS
    assert rows("everything") == ROWS
    assert rows("made") == [
        {"id": a["id"], "t": ["u", "v"], "n": 2},
        {"id": b["id"], "t": [], "n": 8},
        {"id": None, "t": ["q"], "n": 3},
        {"id": d["id"], "t": [None], "n": 10},
    ]
    first = {"x.y": "p", "orig_h": "a", "c": 1.5, "k": 3}
    second = {"x.y": "q", "orig_h": "b", "c": None, "k": None}
    assert rows("part") == [first, second]
    assert rows("other") == [first, second, {"x.y": "it's `r`", "orig_h": None, "c": 2.5, "k": 1}]
    assert rows("named") == [{"full name": "Pat", "the port": 80}, {"full name": "Ritz", "the port": 22}]
    # All rows have arrived at one time, so the last of a stands before every b.
    assert rows("pairs") == [{"port": 22, "tags": each["tags"], "m": {"k": 1}} for each in (a, b)]


def test_results_of_other_types_share_a_job(spark):
    """Each result has a place for the columns of the others, whatever the names in their types."""
    nested = spark.sql("SELECT named_struct('a b', 1, 'c`d', array('x')) AS s, map('k', 2) AS m, 5 AS __seq0")
    plain = spark.sql("SELECT 'y' AS t, 6 AS __seq0")
    found = collected({"nested": Rows(nested), "plain": Rows(plain)})
    [row] = found["nested"].to_pylist()
    assert (row["s"], dict(row["m"])) == ({"a b": 1, "c`d": ["x"]}, {"k": 2})
    assert found["plain"].to_pylist() == [{"t": "y", "__seq0": 6}]
