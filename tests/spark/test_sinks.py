"""Where results go, without Spark."""

import contextlib
import io
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from penstock.errors import RunError
from penstock.spark.admission import REJECTED
from penstock.spark.results import read
from penstock.spark.sinks import Called, Memory, Parquet, Screen

SCHEMA = pa.schema([("v", pa.int32()), ("at", pa.timestamp("us", "UTC"))])
ROWS = pa.table([[1, 2], [datetime(2026, 1, 1, tzinfo=UTC), None]], schema=SCHEMA)
AWAY = pa.table([[7], ["late"], ["older"], ["v=1"]], schema=REJECTED)


def test_files_are_whole_and_empty_queries_have_their_columns(tmp_path):
    sink = Parquet(tmp_path / "deep" / "out")
    for query in ("some", "none"):
        sink.open(query, SCHEMA)
    sink.emit("some", ROWS)
    sink.emit("some", ROWS.slice(1))
    sink.reject("s", AWAY)
    sink.close()
    assert read(tmp_path / "deep" / "out", "some").column("v").to_pylist() == [1, 2, 2]
    empty = read(tmp_path / "deep" / "out", "none")
    assert (empty.num_rows, empty.column_names) == (0, ["v", "at"])
    assert empty.schema.field("at").type == pa.timestamp("us")
    names = {path.name for path in (tmp_path / "deep" / "out" / "query=some").iterdir()}
    assert names == {"part-000001.parquet", "part-000002.parquet"}
    [file] = (tmp_path / "deep" / "out" / "_rejected" / "stream=s").iterdir()
    assert pq.ParquetFile(file).read().to_pylist() == AWAY.to_pylist()


def test_older_results_are_removed_only_when_a_run_begins(tmp_path):
    sink = Parquet(tmp_path)
    sink.open("q", SCHEMA)
    sink.emit("q", ROWS)
    with pytest.raises(RunError, match=r"holds results already \(query=q\)"):
        Parquet(tmp_path)
    again = Parquet(tmp_path, overwrite=True)
    assert read(tmp_path, "q").num_rows == 2
    again.open("p", SCHEMA)
    with pytest.raises(RunError, match="no results of a query 'q'"):
        read(tmp_path, "q")


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="is a file; results need a folder"):
        Parquet(tmp_path / "file")
    with pytest.raises(RunError, match=r"results cannot be written to .*: Not a directory"):
        Parquet(tmp_path / "file" / "below")


def test_the_screen_shows_a_few_rows_and_says_how_many_more():
    written = io.StringIO()
    screen = Screen(Console(file=written, width=100), most=1)
    screen.open("q", SCHEMA)
    screen.emit("q", pa.table({"v": ["[red]x", "y", "z"]}))
    screen.reject("s", AWAY)
    screen.close()
    assert written.getvalue().splitlines() == ["q  v=[red]x", "q  and 2 more", "s: 1 rows turned away: older"]


def test_memory_goes_on_where_a_query_of_the_name_ended():
    memory = Memory()
    memory.open("q", SCHEMA)
    assert memory.results["q"].num_rows == 0
    memory.emit("q", ROWS)
    memory.open("q", SCHEMA)
    assert memory.results["q"].column("v").to_pylist() == [1, 2]


def test_a_function_is_called_with_times_in_utc():
    seen = []
    Called(lambda query, rows: seen.append((query, rows.to_pylist()))).emit("q", ROWS.slice(0, 1))
    assert seen == [("q", [{"v": 1, "at": datetime(2026, 1, 1)}])]


def of_two(*rows):
    """Results of queries a and b, as a group hands them over."""
    names = pa.DictionaryArray.from_arrays(
        pa.array(["ab".index(name) for name, _ in rows], pa.int32()), ["a", "b"]
    )
    return pa.table({"query": names, "n": pa.array([n for _, n in rows], pa.int32())})


@pytest.mark.parametrize("broken_off", [0, 1, None])
def test_a_row_is_read_once_also_after_publishing_broke_off(broken_off, tmp_path, monkeypatch):
    sink = Parquet(tmp_path)
    for query in "ab":
        sink.open(query, pa.schema([pa.field("n", pa.int32())]))
    sink.emit_group("group 1", of_two(("a", 1), ("b", 2), ("a", 3)))
    sink.emit_group("group 1", of_two(("b", 4)))
    put, calls = sink._put, []

    def breaking(folder, name, rows):
        if len(calls) == broken_off:
            raise KeyboardInterrupt
        calls.append(name)
        put(folder, name, rows)

    monkeypatch.setattr(sink, "_put", breaking)
    with pytest.raises(KeyboardInterrupt) if broken_off is not None else contextlib.nullcontext():
        sink.publish()
    monkeypatch.undo()
    sink.emit_group("group 1", of_two(("a", 5)))
    assert sorted(read(tmp_path, "a")["n"].to_pylist()) == [1, 3, 5]
    assert sorted(read(tmp_path, "b")["n"].to_pylist()) == [2, 4]
    assert (len(list((tmp_path / "_groups").rglob("*.parquet"))) == 1) == (broken_off is None)
    sink.close()
    assert sorted(read(tmp_path, "a")["n"].to_pylist()) == [1, 3, 5]
    assert list((tmp_path / "_groups").rglob("*.parquet")) == []
    for path in tmp_path.glob("query=*/*.parquet"):
        assert pq.read_schema(path).names == ["n"]


def test_memory_and_functions_tell_the_queries_of_a_group_apart():
    memory, seen = Memory(), []
    for query in "ab":
        memory.open(query, pa.schema([pa.field("n", pa.int32())]))
    called = Called(lambda query, rows: seen.append((query, rows["n"].to_pylist())))
    for sink in (memory, called):
        sink.emit_group("group 1", of_two(("b", 2), ("a", 1), ("b", 4)))
    assert {query: rows["n"].to_pylist() for query, rows in memory.results.items()} == {"a": [1], "b": [2, 4]}
    assert seen == [("a", [1]), ("b", [2, 4])]
