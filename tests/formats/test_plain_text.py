"""The fast parser of plain text: lines, splits, and what is left to Spark's parser; no Spark is needed here."""

from random import Random

import pyarrow as pa
import pytest

from penstock.formats.layout import Layout
from penstock.formats.plain_splits import first_record, plain_format, splits_of
from penstock.formats.plain_text import LONGEST_LINE, PlainFormat, PlainRows, parsed_plain
from penstock.formats.texts import records_of
from penstock.language.statements import Column
from penstock.language.types import ColumnType

JSON, CSV = Layout("json"), Layout("csv", quoted=True)


def columns(text: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType(kind), *path) for name, kind, *path in map(str.split, text.split("|")))


def form_of(text: str, layout: Layout, unit: str | None = None) -> PlainFormat:
    found = plain_format(columns(text), layout, unit, "at")
    assert found is not None
    return found


V = form_of("v INT", JSON)
VT = form_of("v INT|t STRING", CSV)


def rows(found: PlainRows | None) -> list[dict[str, object]] | None:
    return None if found is None else found.table.to_pylist()


LINES = {
    "json": ['{"v":1,"t":"a"}', '{"t":"ü€𝄞","v":-7}', "{}", '{"v": 2, "x": [1, {"v": 3}]}', '{"t": "}{"}'],
    "csv": ["1,a", "-7,ü€𝄞", ",", '2,"x, y"', '"3",""'],
}
ODD = {
    "json": ["   ", '{"v":1}{"v":2}', '{"v":', '"x"}', "}{", '{"v":1} {"t":"b"}', '{"v":1},', "# no", "\tx"],
    "csv": ["   ", '4,"a', '5,"a""b"', "6", "7,8,9", "\t", '"8,"b",c"', "# no", 'x"y,"z'],
}


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize("comment", [None, "#"])
def test_files_of_any_lines_are_read_by_records_or_not_at_all(tmp_path, kind, comment):
    layout = Layout(kind, quoted=kind == "csv", comment=comment)
    form = form_of("v INT|t STRING", layout)
    random, path, plain = Random(7), tmp_path / "a", 0
    for _ in range(400):
        lines = random.choices(LINES[kind], k=random.randrange(8))
        lines += random.choices(ODD[kind], k=random.choice([0, 0, 1, 2]))
        random.shuffle(lines)
        ends = random.choice([["\n"], ["\r\n"], ["\n", "\n\n", "\r\n"], ["\n", "\r"]])
        data = "".join(line + random.choice(ends) for line in lines).encode()
        data = random.choice([b"", b"\xef\xbb\xbf"]) + (data if random.random() < 0.5 else data.rstrip(b"\r\n"))
        path.write_bytes(data)
        start = first_record(path, None, layout)
        found = rows(parsed_plain(data[start:], form))
        if found is None:
            continue
        plain += 1
        records = [record for some in records_of(path, layout) for record in some]
        alone = [rows(parsed_plain(record.encode(), form)) for record in records]
        assert found == [row for each in alone for row in each or ["odd"]], data
    assert plain > 80


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_splits_have_each_line_once_in_order(tmp_path, kind, end):
    form = form_of("v INT|t STRING", Layout(kind, quoted=kind == "csv"))
    path = tmp_path / "a"
    data = end.join(LINES[kind] * 4).encode()
    for whole in (data, data + end.encode()):
        path.write_bytes(whole)
        wanted = rows(parsed_plain(whole, form))
        assert wanted
        assert len(wanted) == 20
        for most in range(1, 60):
            splits = splits_of(path, 0, most)
            assert splits is not None
            assert [split.start for split in splits[1:]] == [split.end for split in splits[:-1]]
            parts = [rows(parsed_plain(whole[split.start : split.end], form)) for split in splits]
            assert [row for part in parts for row in part or []] == wanted


def test_a_line_that_is_too_long_has_no_splits_and_no_rows(tmp_path):
    long = '{"t": "' + "x" * LONGEST_LINE + '"}\n'
    path = tmp_path / "a"
    path.write_text(long * 3)
    assert splits_of(path, 0, 5) is None
    assert parsed_plain(long.encode(), V) is None
    assert parsed_plain(b"1," + b"x" * LONGEST_LINE + b"\n2,y", VT) is None


@pytest.mark.parametrize(
    "header",
    ["a,b\n", '"a","b"\r\n', "\ufeffa,b\r", '\n# c\n"","b"\n', '\ufeff"a",b\n'],
    ids=["plain", "quoted", "bom", "late", "both"],
)
def test_records_begin_after_the_header(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_bytes(header.encode() + b"1,2\n")
    line = header.count("\n") - 1 if "\n" in header else 0
    assert first_record(path, line, CSV) == len(header.encode())


@pytest.mark.parametrize("header", ['"a\nb",c\n', 'x"y,"z\n', "a,b"])
def test_a_header_that_may_go_on_is_left(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(header)
    assert first_record(path, 0, CSV) is None


@pytest.mark.parametrize(
    "value",
    ["1.0", "1e3", '"1"', "01", "+1", "NaN", "0x1", "2147483648", "true", "[1]", "{}", "'1'", "1,", "1 /**/"],
)
def test_other_numbers_than_whole_ones_are_left(value):
    assert parsed_plain(f'{{"v": {value}}}'.encode(), V) is None


@pytest.mark.parametrize(
    "value",
    [b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\udc00", b"\\ud83d\\\\ude00", b"\\\\ud83d\\ude00", b"\0", b"\t"],
)
def test_odd_texts_are_left(value):
    assert parsed_plain(b'{"t": "%b"}' % value, form_of("t STRING", JSON)) is None


@pytest.mark.parametrize(
    "line", ['{"v":1}{"v":2}', '{"v":1} {"v":2}', '{"v":1}{}\n{"v":2}', '{"v":1}\n{"v":2}{"v":3}']
)
def test_two_objects_in_a_line_are_left(line):
    assert parsed_plain(line.encode(), V) is None


@pytest.mark.parametrize("text", ['1,"a\n2,b"', '1,"a\nb"\n3,c', '1,"a\n\n2,b"\n3,"c\nd"'])
def test_line_ends_in_quotes_are_left(text):
    assert parsed_plain(text.encode(), VT) is None


def test_pairs_of_surrogates_are_read():
    found = parsed_plain(b'{"t": "\\ud83d\\ude00\\u00e9"}', form_of("t STRING", JSON))
    assert rows(found) == [{"t": "😀é"}]


def test_what_jackson_does_not_read_is_left():
    for value in ("1" * 1001, "[" * 1001 + "]" * 1001, '{"a":' * 1001 + "1" + "}" * 1001):
        assert parsed_plain(f'{{"x": {value}}}'.encode(), V) is None
    assert rows(parsed_plain(f'{{"x": "{"e[" * 400 + "z" * 3000}"}}'.encode(), V)) == [{"v": None}]


@pytest.mark.parametrize("text", ["v INT|v.w STRING", "v DECIMAL(3,1)", "v ARRAY<INT>", "v DATE", "v INT|w INT V"])
def test_columns_that_are_left(text):
    assert plain_format(columns(text), JSON, None, None) is None


def test_layouts_that_are_left():
    two = columns("a INT|b INT")
    assert plain_format(columns("a INT"), CSV, None, None) is None
    for layout in (
        Layout("csv", delimiter="::", quoted=True),
        Layout("csv", delimiter=" ", quoted=True, escape="\\", brackets=True),
        Layout("csv", set_separator=",", comment="#"),
    ):
        assert plain_format(two, layout, None, None) is None


def test_units_of_numbers_by_their_size():
    form = form_of("at TIMESTAMP", JSON)
    found = parsed_plain(b'{"at":null}\n{"at":1700000000123}\n{"at":1700000000}\n{"at":-1}', form)
    assert found is not None
    assert found.unit == "ms"
    wanted = [None, 1_700_000_000_123_000, 1_700_000_000_000_000, -1_000_000]
    assert found.table.column("at").cast(pa.int64()).to_pylist() == wanted
    assert parsed_plain(b'{"at":"2024-01-01T00:00:00Z"}', form_of("at TIMESTAMP", JSON, "s")) is None
    assert parsed_plain(b'{"at":5}', form_of("at TIMESTAMP", JSON, "iso")) is None


def test_an_empty_text_has_typed_columns():
    found = parsed_plain(b"\n\n", VT)
    assert found is not None
    assert found.table.schema == pa.schema([("v", pa.int32()), ("t", pa.string())])
