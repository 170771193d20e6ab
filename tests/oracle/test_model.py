"""What a case writes is what it says: files read back, scripts as text, and JOIN … ON equal to commas."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from tests.oracle.datafiles import ARROW, arrow_table
from tests.oracle.generator import cases
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData, TableData
from tests.oracle.oracle import database, difference, read_columns, read_rows
from tests.oracle.results import sorted_rows
from tests.oracle.shape_parts import query
from tests.oracle.shapes import SHAPES

AT = datetime(2026, 1, 1, microsecond=123_456)
COLUMNS = [("s", "STRING"), ("n", "BIGINT"), ("x", "DOUBLE"), ("f", "BOOLEAN"), ("at", "TIMESTAMP")]
ROWS = [("a,b", 2**53 + 1, 0.25, True, AT), (None, None, None, None, AT), ("é", -1, -2.0, False, None)]


def test_a_script(tmp_path):
    p = StreamData("p", [("k", "INT"), ("at", "TIMESTAMP")], [], "at", [0, 0], 1_500, "parquet")
    r = StreamData("r", [("k", "INT"), ("at", "TIMESTAMP")], [], "at", lateness_us=2_000_000)
    h = TableData("h", [("k", "INT"), ("owner", "STRING")], [])
    sources = [FromItem("p", None, ("range", 250_000)), FromItem("h", "o"), FromItem("r", "q", ("rows", 7))]
    where = "p.k = q.k AND o.k BETWEEN p.k AND q.k AND q.k > 0"
    q = QuerySpec("one", [("o.owner", None), ("p.k + 1", "up")], sources, where, comma_style=False)
    case = Case([p, r], [h], [q, replace(q, name="two", comma_style=True)], {"policy": "bsd", "chunk": 7})
    path = case.write(tmp_path)
    assert path == tmp_path / "script.sql"
    assert path.read_text().replace(str(tmp_path), "…") == (
        "CREATE STREAM p (k INT, at TIMESTAMP)\n"
        "  FROM files WITH (path = '…/p', format = 'parquet', timestamp = 'at', lateness = '1500 us');\n"
        "CREATE STREAM r (k INT, at TIMESTAMP)\n"
        "  FROM files WITH (path = '…/r', format = 'json', timestamp = 'at', lateness = '2 s');\n"
        "CREATE TABLE h (k INT, owner STRING) FROM csv WITH (path = '…/h.csv');\n"
        "CREATE QUERY one AS\n"
        "  SELECT o.owner, p.k + 1 AS up\n"
        "  FROM p [RANGE 250 MILLISECONDS]\n"
        "    CROSS JOIN h AS o\n"
        "    JOIN r [ROWS 7] AS q ON p.k = q.k AND o.k BETWEEN p.k AND q.k\n"
        "  WHERE q.k > 0;\n"
        "CREATE QUERY two AS\n"
        "  SELECT o.owner, p.k + 1 AS up\n"
        "  FROM p [RANGE 250 MILLISECONDS], h AS o, r [ROWS 7] AS q\n"
        "  WHERE p.k = q.k AND o.k BETWEEN p.k AND q.k AND q.k > 0;\n"
        "SET policy = 'bsd';\n"
        "SET chunk = 7;\n"
    )
    assert sorted(file.name for file in (tmp_path / "p").iterdir()) == ["part-00000.parquet", "part-00001.parquet"]
    assert q.output_names() == ["owner", "up"]


def test_json_files(tmp_path):
    StreamData("s", COLUMNS, ROWS, "at", [2, 1]).write(tmp_path)
    first, second = ((tmp_path / "s" / f"part-0000{n}.json").read_text("utf-8").splitlines() for n in range(2))
    assert (
        first[0]
        == '{"s": "a,b", "n": 9007199254740993, "x": 0.25, "f": true, "at": "2026-01-01T00:00:00.123456Z"}'
    )
    assert json.loads(first[1]) == {"at": "2026-01-01T00:00:00.123456Z"}, "NULLs left out in odd rows"
    assert json.loads(second[0]) == {"s": "é", "n": -1, "x": -2.0, "f": False, "at": None}


def test_csv_files(tmp_path):
    TableData("t", COLUMNS, ROWS).write(tmp_path)
    assert (tmp_path / "t.csv").read_text("utf-8").splitlines() == [
        "s,n,x,f,at",
        '"a,b",9007199254740993,0.25,true,2026-01-01T00:00:00.123456Z',
        ",,,,2026-01-01T00:00:00.123456Z",
        "é,-1,-2.0,false,",
    ]
    types = {name: ARROW[kind] for name, kind in COLUMNS[:-1]}
    options = pa_csv.ConvertOptions(column_types=types, include_columns=list(types), strings_can_be_null=True)
    back = pa_csv.read_csv(tmp_path / "t.csv", convert_options=options)
    assert [tuple(row.values()) for row in back.to_pylist()] == [row[:-1] for row in ROWS]


def test_parquet_files(tmp_path):
    TableData("t", COLUMNS, ROWS, "parquet").write(tmp_path)
    back = pq.read_table(tmp_path / "t.parquet")
    assert back.schema.field("at").type == pa.timestamp("us", tz="UTC")
    assert back.column("at").to_pylist() == [AT.replace(tzinfo=UTC)] * 2 + [None]


@pytest.mark.parametrize("rows", [[("",)], [('"',)], [("a\nb",)], [(None,)]])
def test_what_csv_readers_disagree_about_is_refused(tmp_path, rows):
    with pytest.raises(ValueError, match="readers"):
        TableData("t", [("s", "STRING")], rows).write(tmp_path)


def test_cases_check_themselves():
    with pytest.raises(ValueError, match="do not hold 3 rows"):
        StreamData("s", COLUMNS, ROWS, "at", [1, 1])
    with pytest.raises(ValueError, match="no TIMESTAMP"):
        StreamData("s", COLUMNS, ROWS, "n")
    with pytest.raises(ValueError, match="has not 1 values"):
        TableData("t", [("s", "STRING")], ROWS)
    with pytest.raises(ValueError, match="no type TEXT"):
        TableData("t", [("s", "TEXT")], [])


def without_windows(case: Case, spec: QuerySpec) -> list[tuple]:
    with database().cursor() as cursor:
        for source in (*case.streams, *case.tables):
            cursor.register(source.name, arrow_table(source.columns, source.rows[:12]))
        return sorted_rows(cursor.execute(spec.text(windows=False)).fetchall())


def joins_equal_commas(case: Case) -> None:
    for spec in case.queries:
        plain, joined = (without_windows(case, replace(spec, comma_style=comma)) for comma in (True, False))
        assert plain == joined, spec.text()


@pytest.mark.parametrize("name", SHAPES)
def test_join_on_means_the_same_as_commas(name):
    joins_equal_commas(SHAPES[name](0))


@settings(max_examples=25)
@given(cases(max_rows=12, combined=1000))
def test_join_on_means_the_same_as_commas_in_random_cases(case):
    joins_equal_commas(case)


@settings(max_examples=25)
@given(case=cases())
def test_random_cases_can_be_written(tmp_path_factory, case):
    path = case.write(tmp_path_factory.mktemp("case"))
    assert path.read_text().count("CREATE QUERY") == len(case.queries)
    for spec in case.queries:
        names = spec.output_names()
        assert None not in names
        assert len(names) == len(set(names)), "parquet has no two columns of one name"


def test_every_shape_can_be_written(tmp_path):
    for name, make in SHAPES.items():
        case = make(0)
        case.write(tmp_path / name)
        for spec in case.queries:
            names = [output for output in spec.output_names() if output]
            assert len(names) == len(set(names)), (name, spec.name)


def test_reading_results_back(tmp_path):
    folder = tmp_path / "q"
    folder.mkdir()
    plain = [("k", pa.int32()), ("at", pa.timestamp("us")), ("x", pa.float64())]
    zoned = [("k", pa.int32()), ("at", pa.timestamp("us", tz="Europe/Vienna")), ("x", pa.float64())]
    legacy = {"use_deprecated_int96_timestamps": True}  # as Spark writes unless told otherwise
    for number, (schema, rows, options) in enumerate(
        [
            (plain, [(2, AT, 0.1)], legacy),
            (zoned, [(1, AT.replace(tzinfo=UTC), None), (None, None, 0.5)], {}),
            (plain, [(1, AT, -0.5)], {}),
        ]
    ):
        columns = [pa.array([row[i] for row in rows], kind) for i, (_, kind) in enumerate(schema)]
        pq.write_table(pa.table(columns, schema=pa.schema(schema)), folder / f"{number}.parquet", **options)
    (folder / "_SUCCESS").touch()
    got = read_rows(tmp_path, "q")
    assert got == [(None, None, 0.5), (1, AT, None), (1, AT, -0.5), (2, AT, 0.1)]
    assert read_columns(tmp_path, "q") == ["k", "at", "x"]
    assert read_rows(tmp_path, "other") == []


def test_differences_are_short():
    assert difference([(1, None), (2, 0.5)], [(2, 0.5), (1, None)]) == ""
    assert difference([(float("nan"),)], [(float("nan"),)]) == ""
    assert difference([(1,), (1,), (2,)], [(1,), (3,)]).splitlines() == [
        "3 rows expected, 2 got",
        "missing: 2",
        "  1 × (1,)",
        "  1 × (2,)",
        "too many: 1",
        "  1 × (3,)",
    ]
    assert len(difference([(n,) for n in range(100)], []).splitlines()) == 8


def test_short_queries_are_read_as_meant():
    made = query("q", "a.v AS w, COALESCE(a.s, 'x') AS t, b.k", "a [ROWS 3] AS a, b [RANGE 5]", "a.k = b.k")
    assert made.select == [("a.v", "w"), ("COALESCE(a.s, 'x')", "t"), ("b.k", None)]
    assert made.sources == [FromItem("a", "a", ("rows", 3)), FromItem("b", None, ("range", 5))]
