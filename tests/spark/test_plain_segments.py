"""Plain text by Python workers: the rows of Spark's parser, in the same order, or none."""

from itertools import product
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark.sources.plain_segments as module
from penstock.formats.layout import Layout, layout_of
from penstock.formats.plain_splits import plain_format
from penstock.formats.plain_text import parsed_plain
from penstock.runtime.admission import BAD
from penstock.spark.sources.plain_segments import PlainJobError, plain_segments
from penstock.spark.sources.text_files import read_text
from penstock.spark.sources.text_parser import UNIT, parsed
from tests.spark.test_read_files import stream

KINDS = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "STRING", "TIMESTAMP")
TEXTS = [
    *(
        "",
        " ",
        "0",
        "-0",
        "+5",
        "5",
        " 5",
        "5 ",
        "\t5",
        "-7",
        "007",
        "1_000",
        "0x1F",
        "-0x1",
        "0X1",
        "1.0",
        "1.",
        ".5",
    ),
    *("1e3", "1E+3", "1e", "1.0d", "1f", "NaN", "nan", "inf", "-Infinity", "Infinity", "1e400", "1e-400", "-0.0"),
    *(
        "127",
        "128",
        "-128",
        "-129",
        "32767",
        "32768",
        "2147483647",
        "2147483648",
        "-2147483648",
        "9223372036854775807",
    ),
    *("9223372036854775808", "0.1", "3.141592653589793238", "2.2250738585072011e-308", "9007199254740993", "1e23"),
    *(
        "true",
        "True",
        "TRUE",
        "tRue",
        "t",
        "yes",
        "false",
        "FALSE",
        "no",
        " true",
        "null",
        "NULL",
        "-",
        " -",
        "- ",
    ),
    *(
        "a",
        "a b",
        " a ",
        "'a'",
        "\\N",
        "a\\nb",
        "ü€𝄞",
        "\u2028",
        "\x0b",
        "\x7f",
        "# a",
        "{",
        "a|b",
        "1,5",
        "０",
        "½",
    ),
    *(
        "2024-01-01",
        "2024-01-01 00:00:00",
        "2024-01-01T00:00:00Z",
        "2024-01-01T00:00:00.5Z",
        "2024-02-30T00:00:00Z",
    ),
    *("2024-01-01T24:00:00Z", "2024-01-01T23:59:60Z", "2024-01-01T00:00:00.123456+02:00", "0000-01-01T00:00:00Z"),
    *(
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59.999999Z",
        "2024-01-01T00:00:00.1234567Z",
    ),
    *(
        "9999-12-31T23:59:59-01:00",
        "2024-01-01T00:00:00+18:00",
        "2024-01-01T00:00:00+17:59",
        "1582-10-10T00:00:00Z",
    ),
    *(
        "2024-01-01T00:00:00-00:30",
        "2024-01-01T00:00Z",
        "2024-01-01T00",
        "1969-12-31T23:59:59.999999Z",
        "12:00:00",
    ),
    *(
        "1700000000",
        "1700000000123",
        "1700000000123456",
        "1700000000123456789",
        "-1",
        "-99999999999",
        "99999999999",
    ),
    *(
        "100000000000",
        "-62135596800",
        "-62135596801",
        "1700000000.5",
        "999999999999999999",
        "-1700000000123456789",
    ),
]
JSON_VALUES = [
    *TEXTS,
    *(f'"{text}"' for text in TEXTS if "\\" not in text),
    *(
        '"a\\u00e9\\ud83d\\ude00"',
        '"\\ud800"',
        '"\\\\ud83d\\ude00"',
        '"a\\nb\\/\\""',
        '"\\x"',
        '"\\u0000"',
        '"a\tb"',
    ),
    *(
        "[1]",
        "{}",
        '{"v": 1}',
        '[{"v": 1}, [2]]',
        "1 ",
        "1 // c",
        "1, ",
        '1, "v": 2',
        '1, "V": 2',
        '1, "\\u0076": 2',
    ),
    *('1, "x": NaN', '1, "x": [1, 2.50, {"v": null}]', '1, "x": 01', '1, "x": "\\ud800"', '1, "v": null', "1}{"),
    *('null, "v": 1', "'a'", "1" * 999, "1" * 1001, "0." + "1" * 990, '1, "x": ' + "[" * 1100 + "]" * 1100),
]


def check(spark, lines: list[str], definition, layout: Layout, unit: str | None) -> int:
    """Compare each line alone; return how many are plain."""
    form = plain_format(definition.columns, layout, unit, definition.time_column)
    assert form is not None
    slow = parsed(spark, pa.array(lines), definition.columns, layout, unit, definition.time_column).to_pylist()
    plain = 0
    for line, wanted in zip(lines, slow, strict=True):
        found = parsed_plain(line.encode(), form)
        if found is None:
            continue
        plain += 1
        assert wanted[BAD] is None, (line, wanted)
        row = {column.name: wanted[column.name] for column in definition.columns}
        assert repr(found.table.to_pylist()) == repr([row]), line
        assert found.unit == wanted.get(UNIT), line
    return plain


@pytest.mark.parametrize("unit", [None, "s", "ms", "ns", "iso"])
def test_a_line_of_json_is_read_alike_or_left(spark, unit):
    lines = [f'{{"v": {value}}}' for value in JSON_VALUES]
    lines += [
        "{}",
        '{"w": 1}',
        '{"V": 1}',
        '{"v":1,}',
        ' {"v": 1}',
        '{"v": 1} ',
        '{"v": 1}x',
        '{"v" : 1 }',
        "null",
    ]
    kinds = KINDS if unit is None else ("TIMESTAMP",)
    for kind in kinds:
        assert check(spark, lines, stream(f"v {kind}", "json"), layout_of("json", {}, in_file=True), unit) > 4, (
            kind
        )


@pytest.mark.parametrize("unit", [None, "s", "ms", "ns", "iso"])
def test_a_line_of_csv_is_read_alike_or_left(spark, unit):
    texts = [*TEXTS, *(f'"{text}"' for text in TEXTS), '"a""b"', 'a"b', '"a"b', '"a,b"', '"a', '" a "']
    lines = [f"{text},{other}" for text, other in product(texts, ("x", "", '""'))]
    lines += ["1", "1,x,", "1,x,2", ",", " ,", ", ", "x,1"]
    for kind, options in product(KINDS if unit is None else ("TIMESTAMP",), ({}, {"null": "-"}, {"null": "null"})):
        layout = layout_of("csv", {"header": False, **options}, in_file=True)
        assert check(spark, lines, stream(f"v {kind}|t STRING", "csv"), layout, unit) > 8, (kind, options)


def test_numbers_are_rounded_alike(spark):
    random = Random(9)
    values = [repr(random.uniform(-1, 1) * 10 ** random.randrange(-320, 309)) for _ in range(1000)]
    values += [
        f"{random.randrange(10**25)}.{random.randrange(10**25)}e{random.randrange(-30, 30)}" for _ in range(1000)
    ]
    values += [str(2**53 * each + 1) for each in range(1, 2000)]
    lines = [f'{{"v": {value}}}' for value in values]
    assert check(spark, lines, stream("v DOUBLE", "json"), Layout("json"), None) > 3000
    assert (
        check(
            spark,
            [f"{value}," for value in values],
            stream("v DOUBLE|t STRING", "csv"),
            Layout("csv", quoted=True),
            None,
        )
        > 3000
    )


def made(path: Path, form: str, count: int, odd: str = "") -> Path:
    random = Random(path.name)
    rows = [
        (number, random.choice(["a", "ü€", ""]), f"2024-01-01T00:00:{number % 60:02d}Z") for number in range(count)
    ]
    if form == "json":
        lines = [f'{{"v":{v},"t":"{t}","at":"{at}"}}' for v, t, at in rows]
    else:
        lines = ['"V","t",at', *(f"{v},{t},{at}" for v, t, at in rows)]
    path.write_text("\n".join([*lines, odd]) + "\n", newline="\r\n")
    return path


@pytest.mark.parametrize("form", ["json", "csv"])
def test_several_files_by_one_job(spark, tmp_path, form, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_BYTES", 100)
    definition = stream("v INT|t STRING|at TIMESTAMP", form)
    paths = [made(tmp_path / f"{name}.{form}", form, 3000, "odd" if name == "b" else "") for name in "abc"]
    found = plain_segments(spark, paths, form, definition, tmp_path / "segments", 20_000)
    assert list(found) == [paths[0], paths[2]]
    for path, segments in found.items():
        wanted = pa.concat_tables(read_text(spark, form, [path], definition))
        tables = [pq.ParquetFile(part.path).read() for part in segments.files]
        assert len(tables) > 2
        assert [len(table) for table in tables] == [part.rows for part in segments.files]
        assert pa.concat_tables(tables).to_pylist() == wanted.select(["v", "t", "at"]).to_pylist()
    left = {part for part in (tmp_path / "segments").rglob("*") if part.is_file()}
    assert left == {part.path for segments in found.values() for part in segments.files}


def test_nothing_is_left_of_files_that_are_not_plain(spark, tmp_path):
    path = made(tmp_path / "a.json", "json", 5000, "odd")
    assert not plain_segments(spark, [path], "json", stream("v INT", "json"), tmp_path / "segments")
    assert not list((tmp_path / "segments").iterdir())


def test_a_job_that_fails_leaves_nothing(spark, tmp_path, monkeypatch):
    def fails(path, start, end, form):
        raise ModuleNotFoundError("no module named pyarrow")

    monkeypatch.setattr(module, "read_plain", fails)
    path = made(tmp_path / "a.json", "json", 10)
    with pytest.raises(PlainJobError, match="no module named pyarrow"):
        plain_segments(spark, [path], "json", stream("v INT", "json"), tmp_path / "segments")
    assert not list((tmp_path / "segments").iterdir())
