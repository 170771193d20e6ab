"""Where results go, without Spark."""

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
