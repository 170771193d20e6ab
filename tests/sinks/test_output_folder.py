"""Results in a folder: what any reader finds there, at any time, in this run, the next, and after a crash."""

import contextlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.errors import RunError
from penstock.sinks import folder_layout as layout
from penstock.sinks import publish_batch, rolling_files
from penstock.sinks.parquet_sink import ParquetSink
from penstock.sinks.read import read
from tests.sinks.test_sinks import NAIVE, REJECTED_ROWS, ROWS, SCHEMA, both_kinds, of_two

NUMBERS = pa.schema([("n", pa.int32())])


def numbers(*values):
    return pa.table({"n": pa.array(values, pa.int32())})


def opened(folder, *queries, schema=NUMBERS, **options):
    sink = ParquetSink(folder, **options)
    for query in queries:
        sink.open(query, schema)
    return sink


def found(folder, query):
    return sorted(read(folder, query)["n"].to_pylist())


def in_duckdb(folder, query, column="n"):
    files = f"read_parquet('{folder}/{query}/*.parquet')"
    return sorted(value for (value,) in duckdb.sql(f"SELECT {column} FROM {files}").fetchall())


def files(folder, query):
    return sorted(path.name for path in (folder / query).iterdir())


def test_a_plain_folder_a_query_and_only_whole_files_in_it(tmp_path):
    out = tmp_path / "deep" / "out"
    sink = opened(out, "some", "none", schema=SCHEMA)
    sink.emit("some", ROWS)
    sink.emit("some", ROWS.slice(1))
    sink.reject("s", REJECTED_ROWS)
    assert read(out, "some").column("v").to_pylist() == [1, 2, 2]
    assert read(out, "none").schema.names == ["v", "at"]
    sink.close()
    assert in_duckdb(out, "some", "v") == [1, 2, 2]
    assert in_duckdb(out, "none", "v") == []
    assert read(out, "none").schema.field("at").type == pa.timestamp("us")
    rejected = duckdb.sql(f"SELECT _seq, _kind, _reason, v FROM '{out}/_rejected/s/*.json'").fetchall()
    assert rejected == [(7, "late", "older", 1)]
    assert len(files(out, "some")) == len(files(out, "none")) == 1
    assert sorted(path.name for path in out.iterdir()) == ["_penstock.jsonl", "_rejected", "none", "some"]


def test_parts_that_differ_in_what_may_be_null_are_read_with_one_schema(tmp_path):
    schema, parts, rows = both_kinds()
    naive = [{**row, "struct": {"a": 2, "at": NAIVE}, "deep": [{"times": [NAIVE]}]} for row in rows]
    sink = opened(tmp_path, "q", "empty", schema=schema)
    sink.emit("q", parts[0])
    sink.publish()
    sink.emit("q", parts[1])
    assert read(tmp_path, "q").to_pylist() == naive
    sink.close()
    table = read(tmp_path, "q")
    assert table.to_pylist() == naive
    assert table.schema == read(tmp_path, "empty").schema
    assert in_duckdb(tmp_path, "q", "struct.at") == [NAIVE, NAIVE]


def test_a_group_may_return_a_column_named_query(tmp_path):
    sink = opened(tmp_path, "a", "b", schema=pa.schema([("query", pa.int32())]))
    sink.emit_group("group 1", of_two(("a", 1), ("b", 2), ("a", 3)).rename_columns(["__query", "query"]))
    assert read(tmp_path, "a").to_pydict() == {"query": [1, 3]}
    sink.close()
    assert read(tmp_path, "a").to_pydict() == {"query": [1, 3]}
    assert duckdb.sql(f"SELECT query FROM '{tmp_path}/a/*.parquet'").fetchall() == [(1,), (3,)]


BREAKS = ["add 0", "add 1", "unlink 0", "unlink 1", None]


@pytest.mark.parametrize("where", BREAKS)
@pytest.mark.parametrize("crash", [False, True])
def test_a_row_is_read_once_also_after_publishing_was_interrupted(crash, where, tmp_path, monkeypatch):
    sink = opened(tmp_path, "a", "b")
    sink.emit_group("group 1", of_two(("a", 1), ("b", 2), ("a", 3)))
    sink.emit_group("group 1", of_two(("b", 4)))
    sink.emit("a", numbers(7))
    if where is not None:
        what, place = where.split()
        owner = rolling_files.RollingFiles if what == "add" else Path
        act, calls = getattr(owner, what), []

        def breaking(*arguments, **options):
            calls.append(arguments)
            if len(calls) == int(place) + 1:
                raise KeyboardInterrupt
            return act(*arguments, **options)

        monkeypatch.setattr(owner, what, breaking)
        with pytest.raises(KeyboardInterrupt):
            sink.publish()
        monkeypatch.undo()
    if crash:
        sink._marker.release(ended_well=False)  # as the end of a process would
        sink = opened(tmp_path, "a", "b", append=True)
    sink.emit_group("group 1", of_two(("a", 5)))
    assert found(tmp_path, "a") == [1, 3, 5, 7]
    assert found(tmp_path, "b") == [2, 4]
    sink.close()
    assert found(tmp_path, "a") == in_duckdb(tmp_path, "a") == [1, 3, 5, 7]
    assert found(tmp_path, "b") == in_duckdb(tmp_path, "b") == [2, 4]
    assert not (tmp_path / "_groups").exists()
    assert not (tmp_path / "_recent").exists()


@pytest.mark.parametrize("seed", range(8))
def test_any_course_of_runs(seed, tmp_path, monkeypatch):
    """Results of jobs, publishing, merges, clean ends and crashes, in any order: each row is read once, always."""
    random = Random(seed)
    monkeypatch.setattr(rolling_files, "_SMALL", random.choice([0, 2000]))
    monkeypatch.setattr(rolling_files, "_TIMES", random.choice([0.1, 1, 8]))
    options = {"roll": random.choice(["1200B", "20KB", "64MB", "1 us"])}
    sink, wanted, number = opened(tmp_path, "a", "b", **options), {"a": [], "b": []}, 0
    sink.publish()  # a run begins with it
    unlink, replace = Path.unlink, Path.replace

    def failing(act, share):
        def acting(*arguments, **keywords):
            if random.random() < share:
                raise KeyboardInterrupt
            return act(*arguments, **keywords)

        return acting

    for _ in range(60):
        event = random.choice(["emit", "group", "publish", "break off", "emit", "group", "crash", "end"])
        values = list(range(number, number + random.randint(1, 40)))
        if event == "emit":
            query = random.choice("ab")
            sink.emit(query, numbers(*values))
            wanted[query] += values
            number = values[-1] + 1
        elif event == "group":
            rows = [(random.choice("ab"), value) for value in values]
            sink.emit_group(f"group {random.randint(1, 2)}", of_two(*rows))
            for query, value in rows:
                wanted[query].append(value)
            number = values[-1] + 1
        elif event == "publish":
            sink.publish()
        elif event == "break off":
            with monkeypatch.context() as patched:
                patched.setattr(Path, "unlink", failing(unlink, 0.2))
                patched.setattr(Path, "replace", failing(replace, 0.2))
                with contextlib.suppress(KeyboardInterrupt):
                    sink.publish()
        else:
            sink.close() if event == "end" else sink._marker.release(ended_well=False)
            sink = opened(tmp_path, "a", "b", append=True, **options)
        for query in "ab":
            assert found(tmp_path, query) == wanted[query], (seed, event)
    sink.close()
    for query in "ab":
        assert in_duckdb(tmp_path, query) == found(tmp_path, query) == wanted[query]


def test_parts_that_come_while_folders_are_listed(tmp_path, monkeypatch):
    """A later part in a folder that is listed later must not hide an earlier one that was not seen."""
    sink = opened(tmp_path, "a", "b")
    sink.emit_group("group 1", of_two(("a", 0)))
    sink.emit("a", numbers(1))
    listed, came = layout.parts_in, []

    def listing(folder):
        there = listed(folder)
        if folder.parent.name == "_groups" and not came:
            came.append(folder)
            sink.emit_group("group 1", of_two(("a", 2)))
            sink.emit("a", numbers(3))
        return there

    monkeypatch.setattr(layout, "parts_in", listing)
    sink.publish()
    assert came
    assert found(tmp_path, "a") == [0, 1, 2, 3]
    sink.close()
    assert in_duckdb(tmp_path, "a") == [0, 1, 2, 3]


@pytest.mark.parametrize("small", [256 * 1024, pytest.param(0, marks=pytest.mark.slow)])
def test_readers_beside_a_run_that_publishes(small, tmp_path, monkeypatch):
    """`read` finds every row once at any time; so does DuckDB where a query has one file that grows."""
    monkeypatch.setattr(rolling_files, "_SMALL", small)
    sink = opened(tmp_path, "a", "b")
    sink.emit("a", numbers(0))
    sink.publish()
    done, wrong, reads = threading.Event(), [], []

    def reading():
        while not done.is_set():
            rows = found(tmp_path, "a")
            reads.append(len(rows))
            if rows != list(range(len(rows))):
                wrong.append(("read", rows))
            rows = in_duckdb(tmp_path, "a") if small else []
            if rows != list(range(len(rows))):
                wrong.append(("DuckDB", rows))

    reader = threading.Thread(target=reading)
    reader.start()
    number = 1
    for _ in range(150):
        for size in (1, 30):
            sink.emit("a", numbers(*range(number, number + size)))
            number += size
            sink.emit_group("group 1", of_two(("a", number), ("b", 1)))
            number += 1
        sink.publish()
    done.set()
    reader.join()
    sink.close()
    assert wrong == []
    assert len(set(reads)) > 3
    assert in_duckdb(tmp_path, "a") == list(range(number))


def test_files_stay_few_and_merging_them_stays_cheap(tmp_path, monkeypatch):
    """A hundred times publishing: files are closed at a size, and what is written is a few times the results."""
    monkeypatch.setattr(rolling_files, "_SMALL", 4000)
    written = []
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda old, new: (written.append(old.stat().st_size), replace(old, new)))
    sink, random, most = opened(tmp_path, "q", roll="200KB"), Random(1), 0
    for _ in range(100):
        sink.emit("q", numbers(*(random.getrandbits(30) for _ in range(1500))))
        sink.publish()
        most = max(most, len(files(tmp_path, "q")))
    sink.close()
    sizes = [path.stat().st_size for path in sorted((tmp_path / "q").iterdir())]
    assert all(200_000 <= size < 400_000 for size in sizes[:-1])
    assert len(sizes) == 5
    assert most <= 8
    assert sum(written) < 12 * sum(sizes)


def test_merged_files_have_no_empty_row_group(tmp_path, monkeypatch):
    monkeypatch.setattr(rolling_files, "_ROW_GROUP", 4)
    monkeypatch.setattr(rolling_files, "_SMALL", 0)
    monkeypatch.setattr(rolling_files, "_TIMES", 0)
    sink = opened(tmp_path, "q")
    for first in (0, 3):
        sink.emit("q", numbers(*range(first, first + 3)))
        sink.publish()
    assert len(files(tmp_path, "q")) == 2
    monkeypatch.undo()
    monkeypatch.setattr(rolling_files, "_ROW_GROUP", 4)
    sink.close()
    [name] = files(tmp_path, "q")
    about = pq.read_metadata(tmp_path / "q" / name)
    assert [about.row_group(group).num_rows for group in range(about.num_row_groups)] == [6]


def group_of(*values):
    """Results of queries a and b, which take turns."""
    return of_two(*(("ab"[value % 2], value) for value in values))


@pytest.mark.parametrize("splits", ["nothing", "half", "an error"])
def test_results_that_executors_do_not_split_are_split_by_the_driver(splits, tmp_path, monkeypatch):
    """In batches of a size that it can hold; files of which some rows are missing are not published."""
    monkeypatch.setattr(publish_batch, "SPLIT_BYTES", 0)
    monkeypatch.setattr(publish_batch, "LARGE_BYTES", 0)
    monkeypatch.setattr(publish_batch, "BATCH_BYTES", 1)

    def splitter(paths, folder):
        if splits == "an error":
            raise RuntimeError("Spark has ended")
        path = folder / "a.parquet"
        pq.write_table(numbers(0), path)
        return {"a": path} if splits == "half" else {}

    sink = opened(tmp_path, "a", "b")
    sink.split_with(splitter)
    read_together = []
    monkeypatch.setattr(
        ParquetSink,
        "_merge",
        lambda self, parts, merge=ParquetSink._merge: (read_together.append(len(parts)), merge(self, parts)),
    )
    for first in (0, 4, 8):
        sink.emit_group("group 1", group_of(*range(first, first + 4)))
    sink.close()
    assert read_together == [1, 1, 1]
    assert in_duckdb(tmp_path, "a") == [0, 2, 4, 6, 8, 10]
    assert in_duckdb(tmp_path, "b") == [1, 3, 5, 7, 9, 11]


def test_files_that_have_their_age_are_left_alone(tmp_path, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr("penstock.sinks.parquet_sink.time.time", lambda: clock[0])
    sink = opened(tmp_path, "q", roll="1GB, 1 min")
    for number in range(13):
        sink.emit("q", numbers(number))
        sink.publish()
        clock[0] += 10.0
    sink.close()
    contents = [pq.ParquetFile(path).read()["n"].to_pylist() for path in sorted((tmp_path / "q").iterdir())]
    assert contents == [list(range(6)), list(range(6, 12)), [12]]


def test_later_runs_append_and_files_stay_few(tmp_path):
    for run in range(10):
        sink = opened(tmp_path, "q", append=True)
        sink.emit("q", numbers(run))
        sink.emit_group("group 1", of_one("q", run + 100))
        sink.close()
    assert in_duckdb(tmp_path, "q") == found(tmp_path, "q") == [*range(10), *range(100, 110)]
    assert len(files(tmp_path, "q")) == 1


def of_one(query, number):
    names = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), [query])
    return pa.table({"__query": names, "n": pa.array([number], pa.int32())})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ([("v", pa.int64()), ("at", pa.timestamp("us"))], "column v was INT and is now BIGINT"),
        ([("v", pa.int32())], "column at was TIMESTAMP and is now missing"),
        ([*SCHEMA, pa.field("w", pa.int8())], "column w was missing and is now TINYINT"),
        (
            [("at", pa.timestamp("us")), ("v", pa.int32())],
            "the columns were in the order v, at and are now in the order at, v",
        ),
    ],
)
def test_results_that_do_not_fit_are_not_appended(columns, said, tmp_path):
    opened(tmp_path, "q", schema=SCHEMA).close()
    before = snapshot(tmp_path)
    sink = ParquetSink(tmp_path, append=True)
    with pytest.raises(RunError, match=f"query q cannot be appended to its results in .*: {said}"):
        sink.open("q", pa.schema(columns))
    sink.release()
    assert snapshot(tmp_path) == before


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_results_is_refused_and_overwritten_only_when_a_run_begins(tmp_path):
    opened(tmp_path, "q").close()
    with pytest.raises(RunError, match=r"already holds results \(q\): choose another folder, add to .*--append"):
        ParquetSink(tmp_path)
    with pytest.raises(RunError, match="appended or overwritten, not both"):
        ParquetSink(tmp_path, append=True, overwrite=True)
    before = snapshot(tmp_path)
    opened(tmp_path, "p", "q", overwrite=True, schema=SCHEMA).release()  # a script that turned out wrong
    assert snapshot(tmp_path) == before
    sink = opened(tmp_path, "p", overwrite=True)
    sink.publish()
    with pytest.raises(RunError, match="no results of a query 'q'"):
        read(tmp_path, "q")
    assert not (tmp_path / "q").exists()
    sink.close()


def test_nothing_is_removed_that_penstock_did_not_write(tmp_path):
    """Somebody gives a home as DIR, by mistake, and asks to overwrite."""
    ours = tmp_path / "home"
    for place in ("Documents/letter.txt", "data/part-000001.parquet", "_private/x", "notes.txt"):
        (ours / place).parent.mkdir(parents=True, exist_ok=True)
        (ours / place).write_text(place)
    before = snapshot(ours)
    sink = opened(ours, "q", overwrite=True)
    with pytest.raises(RunError, match=r"Documents already exists and was not written by Penstock"):
        sink.open("Documents", NUMBERS)
    sink.emit("q", numbers(1))
    sink.close()
    (ours / "q" / "mine.parquet").write_text("a user's own")
    sink = opened(ours, "other", overwrite=True)
    sink.close()
    assert (ours / "q" / "mine.parquet").read_text() == "a user's own"
    assert files(ours, "q") == ["mine.parquet"]
    assert {path: data for path, data in snapshot(ours).items() if path in before} == before


def test_a_manifest_that_names_other_folders_removes_nothing_there(tmp_path):
    out, precious = tmp_path / "out", tmp_path / "precious"
    opened(out, "q").close()
    precious.mkdir()
    (precious / files(out, "q")[0]).write_text("precious")
    with (out / "_penstock.jsonl").open("a") as manifest:
        for name in ("../precious", str(precious), ".", ".."):
            manifest.write(json.dumps({"query": name, "columns": {}}) + "\n")
    opened(out, "p", overwrite=True).close()
    assert len(list(precious.iterdir())) == 1


CRASHING = """
import os, sys
import pyarrow as pa
from penstock.sinks.parquet_sink import ParquetSink
sink = ParquetSink(sys.argv[1])
for query in "ab":
    sink.open(query, pa.schema([("n", pa.int32())]))
names = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), ["a", "b"])
sink.emit("a", pa.table({"n": pa.array([1], pa.int32())}))
sink.publish()
sink.emit_group("group 1", pa.table({"__query": names, "n": pa.array([2, 3], pa.int32())}))
open(sys.argv[1] + "/_writing/part-0001-00000003.parquet.tmp", "w").write("half")
print("here", flush=True)
sys.stdin.read()
os._exit(9)
"""


def test_a_run_that_did_not_finish_can_be_read_and_appended_to(tmp_path):
    command = [sys.executable, "-c", CRASHING, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "here\n"
        for options in ({}, {"append": True}, {"overwrite": True}):
            with pytest.raises(RunError, match=r"another run is writing to .* \(since 20.*UTC\)"):
                ParquetSink(tmp_path, **options)
        process.communicate("")
    assert process.returncode == 9
    said = r"a run that did not finish, started 20.* UTC \(a, b; 1 file not published yet\): .*--append.*--over"
    with pytest.raises(RunError, match=said):
        ParquetSink(tmp_path)
    assert found(tmp_path, "a") == [1, 2]
    assert in_duckdb(tmp_path, "a") == [1]
    assert in_duckdb(tmp_path, "*") == [1]
    sink = opened(tmp_path, "a", append=True)
    sink.publish()
    assert (in_duckdb(tmp_path, "a"), in_duckdb(tmp_path, "b")) == ([1, 2], [3])
    sink.emit("a", numbers(4))
    sink.close()
    assert in_duckdb(tmp_path, "a") == found(tmp_path, "a") == [1, 2, 4]
    assert not (tmp_path / "_running").exists()
    assert list(tmp_path.rglob("*.tmp")) == []


def test_a_run_that_came_and_went_while_another_started(tmp_path):
    waiting, refused = ParquetSink(tmp_path, append=True), ParquetSink(tmp_path)
    first = opened(tmp_path, "a")
    first.emit("a", numbers(1))
    first.close()
    waiting.open("a", NUMBERS)
    waiting.emit("a", numbers(2))
    assert found(tmp_path, "a") == [1, 2]
    waiting.close()
    assert in_duckdb(tmp_path, "a") == [1, 2]
    with pytest.raises(RunError, match="already holds results"):
        refused.open("a", NUMBERS)


def test_a_run_that_failed_publishes_what_was_committed(tmp_path):
    sink = opened(tmp_path, "a")
    sink.emit("a", numbers(1))
    sink.release()
    assert in_duckdb(tmp_path, "a") == [1]
    assert not (tmp_path / "_running").exists()
    opened(tmp_path, "a", append=True).release()


def test_results_of_an_older_penstock_can_be_read_and_are_left_alone(tmp_path):
    (tmp_path / "query=a").mkdir()
    pq.write_table(numbers(1), tmp_path / "query=a" / "part-000001.parquet")
    pq.write_table(numbers(2), tmp_path / "query=a" / "group 1.part-000001.part-000002.parquet")
    group = tmp_path / "_groups" / "group 1"
    group.mkdir(parents=True)
    for number in (2, 3):
        rows = of_two(("a", number), ("b", 9)).rename_columns(["query", "n"])
        pq.write_table(rows, group / f"part-00000{number}.parquet")
    assert found(tmp_path, "a") == [1, 2, 3]
    before = snapshot(tmp_path)
    for options in ({}, {"append": True}, {"overwrite": True}):
        with pytest.raises(RunError, match="results without a manifest"):
            ParquetSink(tmp_path, **options)
    assert snapshot(tmp_path) == before


def test_names_that_a_file_system_may_take_for_one(tmp_path):
    opened(tmp_path, "straße").close()
    sink = ParquetSink(tmp_path, append=True)
    with pytest.raises(RunError, match="STRASSE would share the folder of query straße"):
        sink.open("STRASSE", NUMBERS)
    sink.release()


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file; results need a folder"):
        ParquetSink(tmp_path / "file")
    with pytest.raises(RunError, match=r"results cannot be written to .*: Not a directory"):
        ParquetSink(tmp_path / "file" / "below")
    with pytest.raises(RunError, match="no folder"):
        read(tmp_path / "file", "q")
