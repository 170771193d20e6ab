"""Text files admitted by executors: the rows of `read_text`, in its order, or None."""

import bz2
import gzip
import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.formats.texts import LONGEST_RECORD
from penstock.runtime.admission import BAD, RAW
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.runtime.rows.segment import FileStamp, Segment
from penstock.spark.sources.text_files import read_text
from penstock.spark.sources.text_segments import TextSegments, text_segments
from penstock.spark.sources.time_units import UNIT
from tests.spark.test_read_files import CONN, ZEEK, stream

SPLIT = "spark.sql.files.maxPartitionBytes"
COLUMNS = "v INT|t STRING|at TIMESTAMP"


@pytest.fixture
def split(spark):
    """Sets the most bytes that a task reads."""
    before = spark.conf.get(SPLIT)
    yield lambda size: spark.conf.set(SPLIT, str(size))
    spark.conf.set(SPLIT, before)


def held(segments: TextSegments) -> pa.Table:
    tables = [pq.ParquetFile(part.path).read() for part in segments.files]
    assert [table.num_rows for table in tables] == [part.rows for part in segments.files]
    return pa.concat_tables(tables) if tables else pa.table({})


def same(spark, path: Path, definition, *, parts: int = 1) -> TextSegments:
    """The segments of a file, which have the rows of `read_text`."""
    form = definition.options["format"]
    wanted = pa.concat_tables(list(read_text(spark, form, [path], definition)))
    found = text_segments(spark, path, form, definition, path.parent / "segments")
    assert found is not None
    table = held(found)
    for name in wanted.column_names:
        if table.num_rows or wanted.num_rows:
            assert table.column(name).type == wanted.column(name).type, name
            assert table.column(name).to_pylist() == wanted.column(name).to_pylist(), name
    assert found.rows == wanted.num_rows
    assert found.malformed == wanted.num_rows - wanted.column(BAD).null_count
    assert len(found.files) >= parts
    if found.files:  # nothing else is left there, such as _SUCCESS and checksums
        assert set(found.files[0].path.parent.iterdir()) == {part.path for part in found.files}
    if UNIT in wanted.column_names:
        units = [each for each in wanted.column(UNIT).unique().to_pylist() if each]
        assert set(found.units) == set(units)
        assert found.units[:1] == tuple(units[:1])
    else:
        assert found.units == ()
    return found


def refused(spark, path: Path, definition) -> bool:
    """Whether a file is left to `read_text`, with nothing written."""
    folder = path.parent / "segments"
    found = text_segments(spark, path, definition.options["format"], definition, folder)
    assert found is not None or not folder.exists() or not list(folder.iterdir())
    return found is None


def json_lines(count: int) -> list[str]:
    random = Random(3)
    lines = []
    for number in range(count):
        at = random.choice(
            [str(1_700_000_000 + number), f'"2024-01-01 00:00:{number % 60:02d}"', "null", '"soon"']
        )
        value = random.choice([str(number), '"x"', "null", "1.5", str(2**40)])
        text = random.choice(['"ü€𝄞"', '"a\\"b"', "17", '{"deep": [1, 2.50]}', "null", '"{}}"'])
        lines.append(f'{{"v": {value}, "t": {text}, "at": {at}}}')
    rubbish = [
        "",
        "   ",
        "\t",
        "null",
        "[1]",
        "{",
        "rubbish",
        "{}",
        '{"v":1}{"v":2}',
        '{"v":1},',
        ' {"v": 7} ',
        "\0\0x",
    ]
    for each in rubbish * 3:
        lines.insert(random.randrange(len(lines)), each)
    return lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [97, 1000, 10**6])
def test_json_with_any_line_end_in_tasks_of_any_size(spark, tmp_path, split, end, size):
    split(size)
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + end.join(json_lines(60)).encode())
    same(spark, path, stream(COLUMNS, "json"), parts=2 if size < 10**6 else 1)


@pytest.mark.parametrize("size", range(3, 14))
def test_line_ends_at_every_place_of_a_split(spark, tmp_path, split, size):
    split(size)
    path = tmp_path / "a.csv"
    path.write_bytes(b"7,a\r\n8,b\r\n\r\n9,c\n10,d\r11,e\r\r\n12,f")
    same(spark, path, stream("v INT|t STRING", "csv", header=False), parts=2)


def test_all_line_ends_mixed_and_comments(spark, tmp_path, split):
    split(50)
    random = Random(5)
    lines = json_lines(40) + ["# no row", "#"] * 5
    random.shuffle(lines)
    path = tmp_path / "a.json"
    path.write_bytes("".join(line + random.choice(["\n", "\r\n", "\r", "\n\n"]) for line in lines).encode())
    same(spark, path, stream(COLUMNS, "json", comment="#"), parts=2)


def test_bytes_that_are_no_text_are_replaced_alike(spark, tmp_path, split):
    random = Random(11)
    odd = [
        0x22,
        0x2C,
        0x61,
        0x80,
        0xBF,
        0xC0,
        0xC3,
        0xE0,
        0xA0,
        0xE2,
        0x82,
        0xED,
        0xB0,
        0xEF,
        0xBB,
        0xF0,
        0x90,
        0xF4,
    ]
    odd += [0xF5, 0xFF, 0x00, 0x8F, 0x9F]
    rows = [bytes(random.choices(odd[2:], k=random.randrange(12))) for _ in range(3000)]
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join(b"%d,x%s" % (number, row) for number, row in enumerate(rows)))
    split(5000)
    same(spark, path, stream("v INT|t STRING", "csv", header=False), parts=2)


CSV = (
    "# made today\n"
    "\n"
    "  \n"
    "b,A,extra,at\n"
    '"one, and ""quotes""",1,x,2024-01-01\n'
    '# no "row\n'
    "-,,y,2024-01-01 00:00:00.5\n"
    'z,nan,"",1700000000\n'
    "z,7\n"
    'q"q,8,"5"" disk" ,1700000000.25\n'
    '"",9,a"b"c,1700000000123\n'
    '"a" "b",10,"x,y"z,"06/Jun/2020:06:36:39"\n'
)


@pytest.mark.parametrize("size", [90, 150, 10**6])
@pytest.mark.parametrize("last", ["\n", ""])
def test_csv_with_header_quotes_and_comments(spark, tmp_path, split, size, last):
    split(size)
    path = tmp_path / "a.csv"
    path.write_bytes((CSV.removesuffix("\n") + last).replace("\n", "\r\n").encode("utf-8-sig"))
    definition = stream("a INT|b STRING|at TIMESTAMP", "csv", comment="#", null="-")
    same(spark, path, definition, parts=2 if size < 10**6 else 1)


def test_a_header_below_the_first_task_is_left_to_the_driver(spark, tmp_path, split):
    path = tmp_path / "a.csv"
    path.write_text("# long comment line\n# another comment\na,b\n1,2\n")
    definition = stream("a INT|b INT", "csv", comment="#")
    split(10)
    assert refused(spark, path, definition)
    split(1000)
    same(spark, path, definition)


@pytest.mark.parametrize("line", ['"two', 'x"y,"z', '"""', '1,"a""', '"a",1,"'])
def test_a_quote_that_is_open_at_the_end_of_a_line_is_left_to_the_driver(spark, tmp_path, line):
    path = tmp_path / "a.csv"
    path.write_text(f'a,b\n1,2\n{line}\n3,4"\n')
    assert refused(spark, path, stream("a STRING|b STRING", "csv"))


def test_a_long_line_with_many_quotes_needs_no_stack(spark, tmp_path):
    path = tmp_path / "a.csv"
    line = ",".join(['"a""b"'] * 15_000) + ',"' + '""' * 100_000 + 'x"'
    path.write_text(f"v\n{line}\n")
    same(spark, path, stream("v STRING", "csv"))


def test_records_that_are_too_long(spark, tmp_path, split):
    split(300_000)
    path = tmp_path / "a.json"
    long = [f'{{"v": 1, "t": "{"ü" * (LONGEST_RECORD + more)}"}}' for more in (-16, -15, 0, 500_000)]
    path.write_text("\n".join(['{"v": 0}', *long, '{"v": 2}', "#" * (LONGEST_RECORD + 1), '{"v": 3}']))
    same(spark, path, stream("v INT|t STRING", "json", comment="#"), parts=2)


def test_a_line_that_would_fill_an_executor_is_left_to_the_driver(spark, tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"v": 1}\n' + "x" * 40_000_000)
    assert refused(spark, path, stream("v INT", "json"))
    with gzip.open(tmp_path / "b.json.gz", "wt", compresslevel=1) as file:
        file.write("[" + "1," * 3_000_000)
    assert refused(spark, tmp_path / "b.json.gz", stream("v INT", "json"))


SERVER = "addr STRING|ident STRING|who STRING|at TIMESTAMP|request STRING|status INT|bytes INT"


def test_a_web_servers_log(spark, tmp_path, split):
    split(200)
    lines = [
        '::1 - bob [06/Jun/2020:08:36:39 +0200] "GET /a\\"b\\" [1] HTTP/1.1" 200 -',
        '::1 - - [06/Jun/2020:06:36:39 +0000] "GET / HTTP/1.1" 200 "one "quote too many"',
        '::1 - bob b. smith [06/Jun/2020:06:36:39 +0000] "GET /a b [c HTTP/1.1" 200 5',
        '::1 - - [soon] "open 200 5',
    ]
    path = tmp_path / "a.log"
    path.write_text("\n".join(lines * 5))
    same(spark, path, stream(SERVER, "clf"), parts=2)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_a_zeek_log(spark, tmp_path, split, suffix):
    split(60)
    text = (ZEEK + ZEEK.replace("443", "https")).encode()
    packed = {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix](text)
    path = tmp_path / f"conn.log{suffix}"
    path.write_bytes(packed)
    same(spark, path, stream(CONN, "zeek"), parts=1 if suffix else 2)


def test_a_zeek_log_whose_columns_change_is_left_to_the_driver(spark, tmp_path):
    path = tmp_path / "z.log"
    path.write_text("#separator \\x09\n#fields\tts\ta\n1700000000\tA\n#fields\ta\tts\nB\t1700000001\n")
    assert refused(spark, path, stream("ts TIMESTAMP|a STRING", "zeek"))


def test_packed_files_of_several_members_or_blocks(spark, tmp_path, split):
    lines = [f'{{"v": {number}, "t": "{Random(number).getrandbits(200)}"}}\n' for number in range(30_000)]
    half = "".join(lines[:15_000]).encode(), "".join(lines[15_000:]).encode()
    (tmp_path / "a.json.gz").write_bytes(b"".join(map(gzip.compress, half)))
    (tmp_path / "a.json.bz2").write_bytes(bz2.compress(b"".join(half), 1))
    split(100_000)
    same(spark, tmp_path / "a.json.gz", stream("v INT|t STRING", "json"))
    same(spark, tmp_path / "a.json.bz2", stream("v INT|t STRING", "json"), parts=2)


def test_files_that_spark_reads_otherwise_are_left_to_the_driver(spark, tmp_path):
    definition = stream("v INT", "json")
    data = b'{"v": 1}\n' * 1000
    names = ("_a.json", ".a.json", "a.json._COPYING_", "a.deflate", "a.snappy", "a.GZ", "empty.json", "half.gz")
    for name in names:
        (tmp_path / name).write_bytes(gzip.compress(data) if name == "a.GZ" else data)
    (tmp_path / "empty.json").write_bytes(b"\n\n")
    (tmp_path / "half.gz").write_bytes(gzip.compress(bytes(Random(1).randbytes(50_000)))[:30_000])
    for name, codec in (("a.zst", "zstd"), ("a.lz4", "lz4")):
        with pa.CompressedOutputStream(str(tmp_path / name), codec) as file:
            file.write(data)
    for name in (*names, "a.zst", "a.lz4"):
        assert refused(spark, tmp_path / name, definition), name


@pytest.mark.parametrize(
    "name", ["a b", "50%", "50%20", "a#b", "ü", "[1]", "{a,b}", "a*b?", "a\\b", "a=b", "a+b&c"]
)
def test_paths_with_any_characters(spark, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    path = folder / f"{name}.json"
    path.write_text('{"v": 1}\n{"v": "x"}\n')
    found = same(spark, path, stream("v INT", "json"))
    assert held(found).column(RAW).to_pylist() == [None, '{"v": "x"}']


def test_times_of_several_units_and_of_any_year(spark, tmp_path, split):
    times = ["null", "1700000000123", "1700000000", '"0001-01-01"', '"9999-12-31 23:59:59.999999"', "-1.5", "1e5"]
    path = tmp_path / "a.json"
    path.write_text("".join(f'{{"at": {at}, "day": "0500-01-01"}}\n' for at in times))
    found = same(spark, path, stream("at TIMESTAMP|day DATE", "json"))
    assert found.units == ("ms", "s")
    file = pq.ParquetFile(found.files[0].path)
    assert file.schema.column(file.schema_arrow.names.index("at")).physical_type == "INT64"


def test_malformed_rows_are_read_from_their_row_groups_alone(spark, tmp_path, split):
    split(40_000)
    lines = [json.dumps({"v": number, "t": "x" * 50}) for number in range(2000)]
    bad = (3, 4, 1999)
    for number in bad:
        lines[number] = f'{{"v": "bad", "t": "{number}"}}'
    path = tmp_path / "a.json"
    path.write_text("\n".join(lines))
    found = same(spark, path, stream("v INT|t STRING", "json"), parts=3)
    before = TRAFFIC.read
    got, first = [], 0
    for part in found.files:
        segment = Segment(part.path, part.rows, 0, FileStamp.of(part.path), has_bad=True)
        places = segment.places_with(BAD)
        raw = segment.read(places, [RAW]).column(RAW).to_pylist()
        got += zip((first + places).tolist(), [json.loads(each)["t"] for each in raw], strict=True)
        first += part.rows
    assert got == [(number, str(number)) for number in bad]
    assert 0 < TRAFFIC.read - before < path.stat().st_size * 0.9


def test_nested_columns_and_names_with_dots(spark, tmp_path, split):
    split(100)
    lines = [
        '{"id": {"orig": "a", "deep": {"port": 1}}, "tags": ["x", "y"], "n b": 1}',
        '{"id.orig": "b", "id.deep.port": 2, "n b": 300}',
        '{"id": {"deep": {"port": "no"}}, "n b": 4, "tags": "x"}',
    ]
    path = tmp_path / "a.json"
    path.write_text("\n".join(lines * 3))
    definition = stream("id.orig STRING|port INT id.deep.port|tags ARRAY<STRING>|n,;={}() TINYINT", "json")
    same(spark, path, definition, parts=2)


def test_a_header_that_misses_a_column_says_so(spark, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,valu\n1,2\n")
    with pytest.raises(Exception, match=r"a.csv has no column 'value'"):
        text_segments(spark, path, "csv", stream("value INT", "csv"), tmp_path / "segments")
