"""Scans by Arrow in Python workers: the results are the oracle's, and files that are lost are named."""

from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.formats.parquet_scan import FilePart, Scan, scanned
from penstock.runtime import write_decision
from penstock.spark import file_scans, stored_frames
from penstock.spark.file_scans import FileScans, can_scan
from tests.oracle.model import Case
from tests.oracle.shape_parts import MILLISECOND, SECOND, host_table, packet_stream, query, reply_stream
from tests.spark.test_right import assert_right
from tests.spark.test_stored import as_parquet, broken_pages, table_of, written


@pytest.fixture
def scanning(monkeypatch):
    """Make every job scan that can, and return how many rows each scan was to read."""
    monkeypatch.setattr(file_scans, "LEAST_ROWS", 0)
    monkeypatch.setattr(file_scans, "START_S", 0.0)
    monkeypatch.setattr(file_scans, "MOST_PASSING", 1.0)
    found = []
    made = stored_frames.scanned_frame

    def noted(spark, parts, *given):
        parts = list(parts)
        found.append(sum(part.end - part.first for part in parts))
        return made(spark, parts, *given)

    monkeypatch.setattr(stored_frames, "scanned_frame", noted)
    return found


FILTERS = [
    query("big", "src, bytes", "packets", "bytes > 1200"),
    query("some", "p.dst, p.src, p.at", "packets AS p", "src IN ('h1', 'h2') OR bytes BETWEEN 100 AND 300"),
    query("odd", "bytes", "packets", "bytes % 2 = 1 AND 900 <= bytes"),
]
TABLE = [query("owned", "h.owner, p.bytes", "packets AS p, hosts AS h", "p.src = h.ip AND p.bytes > 700")]
JOIN = [
    query(
        "echo",
        "p.bytes, r.code",
        "packets [RANGE 2000000] AS p, replies [ROWS 30] AS r",
        "p.src = r.host AND p.bytes > 500 AND r.code < 404",
    )
]


def case_of(queries, seed: int = 1) -> Case:
    """Rows out of order, some of them late, in several files."""
    rng = Random(seed)
    streams = [packet_stream(rng, 300, files=7, jitter_us=700 * MILLISECOND, lateness_us=300 * MILLISECOND)]
    if queries is JOIN:
        streams.append(reply_stream(rng, 150, files=3, jitter_us=SECOND, lateness_us=500 * MILLISECOND))
    return Case(streams, [host_table()] if queries is TABLE else [], queries)


@pytest.mark.parametrize(
    "queries",
    [
        *(pytest.param([each], id=each.name) for each in FILTERS[1:2]),
        *(
            pytest.param(each, marks=pytest.mark.slow, id=name)
            for name, each in (("filters", FILTERS), ("table", TABLE), ("join", JOIN))
        ),
    ],
)
def test_results_are_the_oracles(queries, tmp_path, spark, scanning):
    assert_right(as_parquet(case_of(queries)), tmp_path, spark)
    assert scanning


@pytest.mark.slow
@pytest.mark.parametrize("queries", [FILTERS, JOIN], ids=["filters", "join"])
def test_small_batches_and_written_results(queries, tmp_path, spark, scanning, monkeypatch):
    """Jobs take parts of files, some rows of which are late, and executors write what passes."""
    monkeypatch.setattr(write_decision, "WRITTEN_RESULTS", 0)
    assert_right(as_parquet(case_of(queries, 5)), tmp_path, spark, policy="hnr", batch_rows=17)
    assert len(scanning) > 10


SCRIPT = """
CREATE STREAM s (v INT, word STRING) FROM files WITH (path = 'in', format = 'parquet');
CREATE QUERY q AS SELECT v, word FROM s WHERE v >= 5 AND v % 2 = 1;
SET rows = 'stored';
"""


def files_in(folder, count: int = 3):
    (folder / "in").mkdir()
    for number in range(count):
        words = [f"w{place % 3}" for place in range(10)]
        pq.write_table(table_of(10, 10 * number, word=words), folder / "in" / f"{number} ü.parquet")


def drained(folder, spark, **options):
    return ps.run(written(folder, SCRIPT), drain=True, spark=spark, **options)


def test_a_condition_that_scans_know_in_part(tmp_path, spark, scanning):
    files_in(tmp_path)
    found = drained(tmp_path, spark)
    rows = found.results["q"].sort_by("v").to_pylist()
    assert rows == [{"v": v, "word": f"w{v % 10 % 3}"} for v in range(5, 30) if v % 2]
    assert scanning == [30]
    assert found.summary.queries["q"].outputs == 13


@pytest.mark.parametrize("harm", ["vanishes", "is broken"])
def test_a_file_that_is_lost(harm, tmp_path, spark, scanning):
    """Its name has a space and an umlaut. The query goes on with the others."""
    files_in(tmp_path)
    path = tmp_path / "in" / "1 ü.parquet"
    made = stored_frames.scanned_frame
    with pytest.MonkeyPatch.context() as patch:
        if harm == "is broken":
            broken_pages(path)
        else:

            def vanishing(*given):
                path.unlink(missing_ok=True)
                return made(*given)

            patch.setattr(stored_frames, "scanned_frame", vanishing)
        said = []
        found = drained(tmp_path, spark, on_event=said.append)
    left = [v for v in (*range(5, 10), *range(20, 30)) if v % 2]
    assert sorted(found.results["q"].column("v").to_pylist()) == left
    assert found.summary.failed == ()
    assert found.summary.streams["s"].lost == 10
    assert any("1 ü.parquet" in text for text in said)


def test_without_python_workers_spark_reads(tmp_path, spark, scanning, monkeypatch):
    monkeypatch.setattr(stored_frames, "scans_of", lambda session: FileScans())
    monkeypatch.setattr(file_scans, "_workers_start", lambda session: False)
    files_in(tmp_path)
    assert len(drained(tmp_path, spark).results["q"]) == 13
    assert scanning == []


class Sampled:
    """Stands for a file whose sample has a share of rows that pass `v < 5`."""

    def __init__(self, share: float) -> None:
        few = round(1000 * share)
        self.rows = pa.table({"v": [0] * few + [9] * (1000 - few)})

    def sample(self, count, columns):
        return self.rows.select(columns)


def test_workers_start_once_they_pay(monkeypatch):
    """Not for few rows, nor for a filter that keeps many, and only when much was read without them."""
    started = []
    monkeypatch.setattr(file_scans, "_workers_start", lambda session: started.append(session) or True)
    scans = FileScans()
    where = ("<", "v", 5)
    few = [Sampled(0.01)] * 10
    assert not any(scans.pay("session", [Sampled(0.2)] * 10, 20_000_000, where) for _ in range(50))
    assert not any(scans.pay("session", few, 1000, where) for _ in range(1000))
    assert not started
    turns = [scans.pay("session", few, 20_000_000, where) for _ in range(10)]
    saved = 20_000_000 * file_scans.SAVED_ROW_S + 10 * file_scans.SAVED_FILE_S
    waited = -(-file_scans.START_S // saved)
    assert turns == [turn >= waited for turn in range(10)]
    assert started == ["session"]


def test_files_are_shared_out_by_rows(tmp_path):
    """Few files by their row groups, those of a task as one part; a file's two parts stay apart."""
    path = str(tmp_path / "a.parquet")
    pq.write_table(table_of(100), path, row_group_size=10)
    parts = [FilePart(path, None, 5, 35, 0, 0), FilePart(path, None, 60, 100, 0, 0)]
    shares = file_scans._shared_out(parts, 2)
    assert all(len(share) <= 2 for share in shares)
    scan = Scan((("v", pa.int32()),), (">=", "v", 0), ("seq", "arrived"), 1000)
    found = [[v for batch in scanned(share, scan) for v in batch.column("v").to_pylist()] for share in shares]
    assert sorted(found[0] + found[1]) == [*range(5, 35), *range(60, 100)]
    assert abs(len(found[0]) - len(found[1])) <= 10
    many = [FilePart(path, None, 0, 100, 0, number) for number in range(9)]
    assert sorted(len(share) for share in file_scans._shared_out(many, 2)) == [4, 5]


def test_columns_that_scans_leave_to_spark():
    where = (">", "v", 1)
    assert can_scan({"v": "INT", "d": "DECIMAL(9,2)", "at": "TIMESTAMP", "day": "DATE"}, where)
    assert not can_scan({"v": "INT", "tags": "ARRAY<STRING>"}, where)
    assert not can_scan({"v": "INT", "raw": "BINARY"}, where)
    assert not can_scan({"v": "INT", "a.b": "INT"}, where)
    assert not can_scan({"w": "INT"}, where)
