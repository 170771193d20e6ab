"""Text files and lines as rows: times, paths, packed files, Zeek's tables, reasons that name the column."""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.language.statements import Column, StreamDef
from penstock.language.types import ColumnType
from penstock.runtime.admission import BAD, RAW
from penstock.spark.sources.read_files import read_all, read_files
from penstock.spark.sources.text_files import UnreadableError


def stream(columns: str, format_name: str, **options: object) -> StreamDef:
    """Return a stream; columns as `name TYPE [path]`, between bars."""
    parts = [each.split() for each in columns.split("|")]
    made = tuple(Column(name, ColumnType(kind), *path) for name, kind, *path in parts)
    return StreamDef("s", made, "files", {"format": format_name, **options})


def rows_of(spark, path: Path, definition: StreamDef) -> list[dict[str, object]]:
    table = read_all(spark, definition.options["format"], [path], definition)
    return table.select([*(each.name for each in definition.columns), BAD]).to_pylist()


def written(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


AT = datetime(2020, 6, 6, 6, 36, 39, 925532, tzinfo=UTC)
"""1591425399.925532 seconds after 1970."""


def test_times_in_json_are_numbers_of_any_unit_or_dates(spark, tmp_path):
    cases = {
        "1591425399.925532": AT,
        '"1591425399.925532"': AT,
        "1591425399": AT.replace(microsecond=0),
        "1591425399925": AT.replace(microsecond=925000),
        "1591425399925.532": AT,
        "1591425399925532": AT,
        "1591425399925532999": AT,
        "-1.5": datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=UTC),
        '"2020-06-06T06:36:39.925532Z"': AT,
        '"2020-06-06T08:36:39.925532+0200"': AT,
        '"2020-06-06 06:36:39,925532"': AT,
        '"[06/Jun/2020:08:36:39 +0200]"': AT.replace(microsecond=0),
        '"06/Jun/2020:06:36:39"': AT.replace(microsecond=0),
        "null": None,
    }
    bad = ['"soon"', '"12:00"', "true", "1e400"]
    lines = [f'{{"v": 1, "at": {text}}}' for text in [*cases, *bad]]
    found = rows_of(spark, written(tmp_path / "a.json", *lines), stream("v INT|at TIMESTAMP", "json"))
    assert [row["at"] for row in found] == [*cases.values(), *[None] * len(bad)]
    assert [row[BAD] for row in found] == [None] * len(cases) + ["column at does not fit TIMESTAMP"] * len(bad)


@pytest.mark.parametrize(
    ("unit", "text", "micros"),
    [
        ("s", "1e5", 100_000_000_000),
        ("ms", "250", 250_000),
        ("us", "7", 7),
        ("ns", "7999", 7),
        ("s", "0.25", 250_000),
    ],
)
def test_a_unit_that_is_given_counts_whatever_the_size(spark, tmp_path, unit, text, micros):
    path = written(tmp_path / "a.csv", "at", text, "2020-01-01")
    [good, bad] = rows_of(spark, path, stream("at TIMESTAMP", "csv", timestamp_unit=unit))
    assert good["at"] == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    assert bad[BAD] == "column at does not fit TIMESTAMP"


def test_iso_takes_no_numbers(spark, tmp_path):
    path = written(tmp_path / "a.csv", "at", "1591425399", "2020-06-06 06:36:39")
    found = rows_of(spark, path, stream("at TIMESTAMP", "csv", timestamp_unit="iso"))
    assert [row["at"] for row in found] == [None, AT.replace(microsecond=0)]


def test_json_by_path_and_by_names_with_dots(spark, tmp_path):
    lines = [
        '{"id": {"orig": "a", "deep": {"port": 1}}, "tags": ["x", "y"], "n": 1}',
        '{"id.orig": "b", "id.deep.port": 2, "n": 2}',
        '{"id": "plain", "n": 3}',
        '{"id": {"deep": {"port": "no"}}, "n": 4}',
        '{"n": "four", "id": {}}',
        "rubbish",
        "[1, 2]",
    ]
    definition = stream("id.orig STRING|port INT id.deep.port|tags ARRAY<STRING>|n INT", "json")
    found = rows_of(spark, written(tmp_path / "a.json", *lines), definition)
    assert [row["id.orig"] for row in found[:5]] == ["a", "b", None, None, None]
    assert [row["port"] for row in found[:5]] == [1, 2, None, None, None]
    assert found[0]["tags"] == ["x", "y"]
    assert [row[BAD] for row in found] == [
        None,
        None,
        None,
        "column port does not fit INT",
        "column n does not fit INT",
        "this is not a JSON object",
        "this is not a JSON object",
    ]


def test_json_keys_that_differ_in_case_alone(spark, tmp_path):
    path = written(tmp_path / "a.json", '{"Level": "x", "level": 7, "LEVEL": {"a": "z"}}', '{"level": "no"}')
    definition = stream("Level STRING|level_2 INT level|deep STRING LEVEL.a", "json")
    first, second = rows_of(spark, path, definition)
    assert list(first.values()) == ["x", 7, "z", None]
    assert (second["Level"], second[BAD]) == (None, "column level_2 does not fit INT")


def test_a_web_servers_log(spark, tmp_path):
    lines = [
        '::1 - bob [06/Jun/2020:08:36:39 +0200] "GET /a\\"b\\" [1] HTTP/1.1" 200 - "-" "Mozilla (X11)"',
        '::1 - - [06/Jun/2020:06:36:39 +0000] "GET / HTTP/1.1" 200 5 "-" "one "quote too many"',
        '::1 - bob b. smith [06/Jun/2020:06:36:39 +0000] "GET /a b [c HTTP/1.1" 200 5 "-" "-"',
    ]
    columns = "addr STRING|ident STRING|who STRING|at TIMESTAMP|request STRING|status INT|bytes INT"
    columns += "|referer STRING|agent STRING"
    first, second, third = rows_of(spark, written(tmp_path / "a.log", *lines), stream(columns, "clf"))
    at = AT.replace(microsecond=0)
    assert list(first.values())[:5] == ["::1", None, "bob", at, 'GET /a"b" [1] HTTP/1.1']
    assert list(first.values())[5:] == [200, None, None, "Mozilla (X11)", None]
    assert second[BAD] is not None or second["at"] == at
    assert list(third.values())[2:6] == ["bob b. smith", at, "GET /a b [c HTTP/1.1", 200]


def test_csv_with_quotes_comments_nulls_and_the_columns_in_another_order(spark, tmp_path):
    text = '# made today\nb,A,extra\n"two\nlines, and ""quotes""",1,x\n\n# no row\n-,,y\nz,nan,y\nz,7\nq"q,8,"\n'
    path = tmp_path / "a.csv"
    path.write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    found = rows_of(spark, path, stream("a INT|b STRING", "csv", comment="#", null="-"))
    assert found[0] == {"a": 1, "b": 'two\nlines, and "quotes"', BAD: None}
    assert found[1] == {"a": None, "b": None, BAD: None}
    assert [row[BAD] for row in found[2:4]] == ["column a does not fit INT", "the number of fields is not 3"]
    assert "a quote in it is not closed" in found[4][BAD]
    assert len(found) == 5


ZEEK = """#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#open\t2020-06-05-00-00-00
#fields\tts\tuid\tid.orig_h\tid.orig_p\tlocal\tservices\tnote
#types\ttime\tstring\taddr\tport\tbool\tset[string]\tstring
1591425399.925532\tC1\t10.0.0.1\t443\tT\tdns,ssl\tsaid "hi
1591425400.000001\tC2\t-\t80\tF\t(empty)\t-
#close\t2020-06-05-01-00-00
"""
CONN = "ts TIMESTAMP|uid STRING|id.orig_h STRING|id.orig_p INT|local BOOLEAN|services ARRAY<STRING>|note STRING"


def test_a_zeek_log_as_it_comes_packed_or_not(spark, tmp_path):
    (tmp_path / "a.log").write_text(ZEEK)
    with gzip.open(tmp_path / "b.log.gz", "wt") as file:
        file.write(ZEEK)
    with pa.CompressedOutputStream(str(tmp_path / "c.log.zst"), "zstd") as file:
        file.write(ZEEK.encode())
    definition = stream(CONN, "zeek")
    for path in sorted(tmp_path.iterdir()):
        first, second = rows_of(spark, path, definition)
        assert list(first.values()) == [AT, "C1", "10.0.0.1", 443, True, ["dns", "ssl"], 'said "hi', None]
        assert list(second.values())[1:] == ["C2", None, 80, False, [], None, None]


def test_what_is_kept_of_a_row_that_does_not_fit_is_json(spark, tmp_path):
    (tmp_path / "a.log").write_text(ZEEK.replace("443", "https"))
    table = read_all(spark, "zeek", [tmp_path / "a.log"], stream(CONN, "zeek"))
    raw = json.loads(table.column(RAW)[0].as_py())
    assert table.column(BAD)[0].as_py() == "column id.orig_p does not fit INT"
    assert (raw["id.orig_p"], raw["uid"], raw["note"]) == ("https", "C1", 'said "hi')


def test_a_header_that_misses_a_column_says_so(spark, tmp_path):
    path = written(tmp_path / "a.csv", "time,valu", "1,2")
    with pytest.raises(Exception, match=r"a.csv has no column 'value'. Did you mean 'valu'\? It has time, valu"):
        rows_of(spark, path, stream("value INT", "csv"))


def test_a_packed_file_that_breaks_off_gives_its_rows_then_raises(spark, tmp_path):
    data = gzip.compress("".join(f'{{"v": {i}}}\n' for i in range(600_000)).encode())
    (tmp_path / "a.json.gz").write_bytes(data[: len(data) // 2])
    written(tmp_path / "b.json", '{"v": 1}')
    paths = sorted(tmp_path.iterdir())
    tables = read_files(spark, "json", paths, stream("v INT", "json"))
    first = next(tables)
    assert first.column("v").to_pylist() == list(range(first.num_rows))
    with pytest.raises(UnreadableError) as raised:
        list(tables)
    assert raised.value.place == 0


def test_large_texts_come_in_parts_in_their_order(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.formats.texts.READ_BYTES", 1000)
    monkeypatch.setattr("penstock.spark.sources.text_files.BLOCK_BYTES", 3000)
    path = tmp_path / "a.csv"
    path.write_text("v,t\n" + "".join(f'{i},"a\n{"ü" * (i % 50)}"\n' for i in range(300)))
    tables = list(read_files(spark, "csv", [path], stream("v INT|t STRING", "csv")))
    assert len(tables) > 2
    whole = pa.concat_tables(tables)
    assert whole.column("v").to_pylist() == list(range(300))
    assert whole.column("t").to_pylist() == [f"a\n{'ü' * (i % 50)}" for i in range(300)]


def test_parquet_as_other_programs_write_it(spark, tmp_path):
    before = -1_500_000_001
    table = pa.table(
        {
            "At": pa.array([before, 1_591_425_399_925_532_999], pa.timestamp("ns")),
            "name": pa.array(["a", "b"]).dictionary_encode(),
            "n": pa.array([1, 2], pa.int16()),
            "id": pa.array([{"h": 1}, {"h": 2}]),
            "epoch": pa.array([1.5, 1591425399.925532]),
        }
    )
    pq.write_table(table.select(["At", "name", "n"]), tmp_path / "a.parquet")
    pq.write_table(table.select(["id", "epoch", "n"]), tmp_path / "b.parquet")
    found = rows_of(spark, tmp_path / "a.parquet", stream("at TIMESTAMP|name STRING|n BIGINT", "parquet"))
    assert [row["at"] for row in found] == [datetime(1969, 12, 31, 23, 59, 58, 499999, tzinfo=UTC), AT]
    assert [(row["name"], row["n"]) for row in found] == [("a", 1), ("b", 2)]
    found = rows_of(spark, tmp_path / "b.parquet", stream("h INT id.h|epoch TIMESTAMP", "parquet"))
    assert [(row["h"], row["epoch"]) for row in found][1] == (2, AT)


def test_parquet_with_nanoseconds_that_needs_other_casts_too(spark, tmp_path):
    nanos = [-1_500_000_001, 1_591_425_399_925_532_999]
    table = pa.table(
        {
            "k": pa.array([1, 2**40]),
            "at": pa.array(nanos, pa.timestamp("ns", "Europe/Berlin")),
            "ats": pa.array([[nanos[1]], []], pa.list_(pa.timestamp("ns"))),
            "name": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    definition = stream("k INT|at TIMESTAMP|ats ARRAY<TIMESTAMP>|name STRING", "parquet")
    for name in ("a b", "b"):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    paths = [tmp_path / "b.parquet", tmp_path / "a b.parquet"]
    [both] = read_files(spark, "parquet", paths, definition)
    before = datetime(1969, 12, 31, 23, 59, 58, 499999, tzinfo=UTC)
    assert both.column("k").to_pylist() == [1, None, 1, None]
    assert both.column("at").to_pylist() == [before, AT] * 2
    assert both.column("ats").to_pylist() == [[AT], []] * 2
    assert both.column(BAD).to_pylist() == [None, "column k does not fit INT"] * 2
    assert json.loads(both.column(RAW)[1].as_py())["k"] == 2**40, "what does not fit is kept"


def test_a_fraction_is_not_cut_off(spark, tmp_path):
    pq.write_table(pa.table({"f": [2.0, 1.5, -2.7, 1e300, None]}), tmp_path / "a.parquet")
    found = rows_of(spark, tmp_path / "a.parquet", stream("f INT", "parquet"))
    assert [row["f"] for row in found] == [2, None, None, None, None]
    assert [row[BAD] is None for row in found] == [True, False, False, False, True]


def test_small_numbers_in_json_do_not_overflow(spark, tmp_path):
    lines = [f'{{"a":{n},"b":[{n}],"c":{{"x":{n}}}}}' for n in (127, 128, 255, 256, -128, -129)]
    for columns in ("a TINYINT", "b ARRAY<TINYINT>", "c STRUCT<`x`:TINYINT>", "c MAP<STRING,TINYINT>"):
        found = rows_of(spark, written(tmp_path / "a.json", *lines), stream(columns, "json"))
        assert [row[BAD] is None for row in found] == [True, False, False, False, True, False], columns


def test_lines_that_are_no_object_say_so(spark, tmp_path):
    lines = ["null", '{"k":65,"s":"tab\there"}', '{"k":23} {"k":24}', '{"k":"x"}', "{}"]
    found = rows_of(spark, written(tmp_path / "a.json", *lines), stream("k INT|s STRING", "json"))
    no_object = "this is not a JSON object"
    assert [row[BAD] for row in found] == [no_object] * 3 + ["column k does not fit INT", None]


def test_a_quote_that_is_not_closed_is_kept_as_it_was(spark, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('k,s\n80,"unclosed')
    [table] = read_files(spark, "csv", [path], stream("k INT|s STRING", "csv"))
    assert "not closed" in table.column(BAD)[0].as_py()
    assert table.column(RAW).to_pylist() == ['80,"unclosed']


def test_a_zeek_log_whose_columns_change_ends_there(spark, tmp_path):
    lines = ["#separator \\x09", "#fields\tts\ta\tb", "1700000000\tA1\tB1"]
    same, other = ["#fields\tts\ta\tb", "1700000001\tA2\tB2"], ["#fields\tts\tb\ta", "1700000005\tB3\tA3"]
    path = written(tmp_path / "z.log", *lines, *same, *other)
    tables = read_files(spark, "zeek", [path], stream("ts TIMESTAMP|a STRING|b STRING", "zeek"))
    assert next(tables).column("a").to_pylist() == ["A1", "A2"]
    with pytest.raises(UnreadableError, match="names other columns"):
        next(tables)


def test_what_follows_an_object_in_its_line_is_not_passed_over(spark, tmp_path):
    lines = ['{"v":1}{"v":2}', '{"v":3} garbage', '{"v":4},', '{"v":5}]}', ' {"v":6} ']
    found = rows_of(spark, written(tmp_path / "a.json", *lines), stream("v INT", "json"))
    assert [row[BAD] is None for row in found] == [False] * 4 + [True]
    assert found[4]["v"] == 6


def test_keys_that_a_path_cannot_say(spark, tmp_path):
    path = written(tmp_path / "a.json", '{"id": {"a\'b": 1, "*": 5}, "c\'d": 7}', '{"c\'d": "x"}')
    definition = stream("i INT id.a'b|j INT id.*|c'd INT", "json")
    first, second = rows_of(spark, path, definition)
    assert list(first.values()) == [1, 5, 7, None]
    assert second[BAD] == "column c'd does not fit INT"


def test_nested_values_that_do_not_fit_are_rejected(spark, tmp_path):
    lines = ['{"x": {"s": {"p": 1, "q": 2}}}', '{"x": {"s": {"p": 1, "q": "w"}}}', '{"x": {"s": "foo"}}', "{}"]
    definition = stream("s STRUCT<`p`:INT,`q`:INT> x.s", "json")
    found = rows_of(spark, written(tmp_path / "a.json", *lines), definition)
    assert [row["s"] for row in found][::3] == [{"p": 1, "q": 2}, None]
    assert [row[BAD] is None for row in found] == [True, False, False, True]
    pq.write_table(pa.table({"s": [{"a": 1, "b": 300}]}), tmp_path / "b.parquet")
    with pytest.raises(Exception, match="column s is STRUCT"):
        rows_of(spark, tmp_path / "b.parquet", stream("s STRUCT<`a`:BIGINT,`b`:TINYINT>", "parquet"))


def test_times_that_no_calendar_has_are_rejected(spark, tmp_path):
    lines = [
        '{"at": 2e21}',
        '{"at": "0000-01-01 00:00:00"}',
        '{"at": "+12345-01-01"}',
        '{"at": "9999-12-31", "day": "x"}',
    ]
    lines += ['{"at": "9999-12-31", "day": "+12345-01-01"}', '{"at": "9999-12-31", "day": "9999-12-31"}']
    found = rows_of(spark, written(tmp_path / "a.json", *lines), stream("at TIMESTAMP|day DATE", "json"))
    assert [row[BAD] is None for row in found] == [False] * 5 + [True]


def test_two_columns_of_one_key(spark, tmp_path):
    path = written(tmp_path / "a.json", '{"x": 1700000000}', '{"x": "abc"}', '{"x": 5.5}')
    found = rows_of(spark, path, stream("n BIGINT x|at TIMESTAMP x|again BIGINT x", "json"))
    assert (found[0]["n"], found[0]["at"].year, found[0]["again"]) == (1700000000, 2023, 1700000000)
    assert [row[BAD] is None for row in found] == [True, False, False]


def test_a_line_that_is_nested_without_end_is_rejected(spark, tmp_path):
    path = written(tmp_path / "a.json", '{"a": 1}', '{"a":' + "[" * 100_000 + "]" * 100_000 + "}")
    script = f"CREATE STREAM s (a INT) FROM files WITH (path = '{path}', format = 'json');"
    script += "CREATE QUERY q AS SELECT a FROM s;"
    found = ps.run(script, spark=spark, drain=True)
    assert found.results["q"].column("a").to_pylist() == [1]
    assert found.summary.streams["s"].malformed == 1
