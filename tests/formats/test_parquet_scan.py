"""Scans of parquet files, compared with reading all rows and keeping some in Python."""

import datetime as dt
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.formats import parquet_scan
from penstock.formats.parquet_scan import FilePart, Scan, excluded, scanned

KINDS = (("v", pa.int64()), ("word", pa.string()), ("at", pa.timestamp("us", "UTC")))
BEGIN = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def file_with(path, rng: Random, count: int, groups: int) -> list[tuple]:
    """Write rows in row groups, with types that are converted when they are read, and return them."""
    rows = [
        (
            None if rng.random() < 0.1 else rng.randint(0, 50),
            None if rng.random() < 0.1 else f"w{rng.randint(0, 9)}",
            BEGIN + dt.timedelta(milliseconds=rng.randint(-1000, 1000)),
        )
        for _ in range(count)
    ]
    table = pa.table(
        [
            pa.array([row[0] for row in rows], pa.int16()),
            pa.array([row[1] for row in rows]),
            pa.array([row[2] for row in rows], pa.timestamp("ms", "UTC")),
        ],
        ["v", "word", "at"],
    )
    pq.write_table(table, path, row_group_size=-(-count // groups))
    return rows


def scan_of(where, batch_rows: int = 7) -> Scan:
    return Scan(KINDS, where, ("seq", "arrived"), batch_rows)


def read(parts, scan):
    return [tuple(row.values()) for batch in scanned(parts, scan) for row in batch.to_pylist()]


def test_parts_of_files(tmp_path):
    rng = Random(3)
    for turn in range(20):
        parts, expected = [], []
        for number in range(3):
            path = tmp_path / f"{turn} {number}.parquet"
            rows = file_with(path, rng, 100, 4)
            first, end = sorted(rng.sample(range(101), 2))
            groups = None if rng.random() < 0.5 else tuple(sorted(rng.sample(range(4), 2)))
            parts.append(FilePart(str(path), groups, first, end, 1000 * number, number))
            expected += [
                (*row, 1000 * number + place, number)
                for place, row in enumerate(rows)
                if first <= place < end
                and (groups is None or place // 25 in groups)
                and row[0] is not None
                and (row[0] < 5 or row[1] == "w3")
            ]
        where = ("or", ("<", "v", 5), ("and", (">=", "v", 0), ("=", "word", "w3")))
        assert read(parts, scan_of(where)) == expected


def test_texts_that_repeat_are_read_as_numbers(tmp_path):
    """And those that do not are read as they are: a dictionary of them would take longer."""
    table = pa.table(
        {
            "v": list(range(3000)),
            "word": ["often"] * 3000,
            "at": pa.array([BEGIN] * 3000, pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    pq.write_table(table.set_column(1, "word", pa.array(map(str, range(3000)))), tmp_path / "b.parquet")
    scan = scan_of((">=", "v", 2999))
    found = {
        name: parquet_scan._repeated(pq.read_metadata(tmp_path / f"{name}.parquet"), scan) for name in ("a", "b")
    }
    assert found == {"a": ["word"], "b": []}
    for name, word in (("a", "often"), ("b", "2999")):
        part = FilePart(str(tmp_path / f"{name}.parquet"), None, 0, 3000, 0, 0)
        assert read([part], scan) == [(2999, word, BEGIN, 2999, 0)]


@pytest.mark.parametrize("kind", [pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_other_types_of_texts(kind, tmp_path):
    words = [None if place % 5 == 4 else f"w{place % 3}" for place in range(40)]
    coded = (
        pa.array(words).dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else pa.array(words, kind)
    )
    times = pa.array([BEGIN] * 40, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"v": range(40), "word": coded, "at": times}), tmp_path / "a.parquet")
    found = read([FilePart(str(tmp_path / "a.parquet"), None, 0, 40, 0, 0)], scan_of((">", "word", "w0")))
    assert [row[:2] for row in found] == [
        (place, word) for place, word in enumerate(words) if word is not None and word > "w0"
    ]


@pytest.mark.parametrize("word", ["=", "<>", "<", "<=", ">", ">="])
def test_row_groups_are_left_out_only_if_no_row_passes(word, tmp_path):
    """Every constant around the bounds of groups of 10 to 19, 20 to 29 and so on."""
    path = tmp_path / "a.parquet"
    values = list(range(10, 50))
    pq.write_table(pa.table({"v": values}), path, row_group_size=10)
    metadata = pq.read_metadata(path)
    compare = {
        "=": int.__eq__,
        "<>": int.__ne__,
        "<": int.__lt__,
        "<=": int.__le__,
        ">": int.__gt__,
        ">=": int.__ge__,
    }[word]
    left_out = 0
    for constant in range(8, 52):
        for group in range(4):
            here = values[10 * group : 10 * group + 10]
            passes = any(compare(value, constant) for value in here)
            out = excluded(metadata, group, (word, "v", constant))
            assert not (out and passes), (constant, group)
            left_out += out
    assert left_out > 40 or word == "<>"


def test_long_texts_are_sent_in_parts(tmp_path, monkeypatch):
    """Also those that a file has once: decoded, they are as long as all their rows."""
    monkeypatch.setattr(parquet_scan, "_MOST_BYTES", 100_000)
    words = ["x" * 2000 if place % 3 else "y" for place in range(20_000)]
    times = pa.array([BEGIN] * 20_000, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"v": range(20_000), "word": words, "at": times}), tmp_path / "a.parquet")
    part = FilePart(str(tmp_path / "a.parquet"), None, 0, 20_000, 0, 0)
    scan = scan_of((">=", "v", 15_000), 1000)
    assert parquet_scan._repeated(pq.read_metadata(tmp_path / "a.parquet"), scan) == ["word"]
    batches = list(scanned([part], scan))
    assert [v for batch in batches for v in batch.column("v").to_pylist()] == list(range(15_000, 20_000))
    assert [word for batch in batches for word in batch.column("word").to_pylist()] == words[15_000:]
    assert max(batch.nbytes for batch in batches) < 150_000


@pytest.mark.parametrize("error", [pa.ArrowMemoryError("full"), pa.ArrowNotImplementedError("no kernel")])
def test_a_file_is_not_blamed_for_other_errors(error, tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    file_with(path, Random(1), 10, 1)

    def failing(*given):
        raise error

    monkeypatch.setattr(parquet_scan, "passing", failing)
    with pytest.raises(type(error)):
        read([FilePart(str(path), None, 0, 10, 0, 0)], scan_of((">", "v", 1)))


def test_a_broken_file_is_named(tmp_path):
    path = tmp_path / "a b%.parquet"
    path.write_bytes(b"PAR1 this is no footer PAR1")
    with pytest.raises(RuntimeError, match=r"FAILED_READ_FILE.*file://\S*/a%20b%25\.parquet\. "):
        read([FilePart(str(path), None, 0, 10, 0, 0)], scan_of((">", "v", 1)))
