"""The inputs of `bench scale`, and its expected results, against DuckDB."""

from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.bench.scale.check import found_in
from penstock.bench.scale.inputs import ScaleInput, make_input
from penstock.bench.scale.query_set import QuerySet

SMALL = ScaleInput(rows=5_000, file_rows=2_000)
READERS = {"parquet": "read_parquet", "json": "read_json", "csv": "read_csv"}


def seen(folder, queries, source):
    """A connection that sees the streams and the stored table under their names."""
    connection = duckdb.connect()
    for stream in queries.streams:
        files = f"{READERS[source.file_format]}('{folder}/{stream.name}/*')"
        connection.execute(f"CREATE VIEW {stream.name} AS SELECT * FROM {files}")
    connection.execute(f"CREATE VIEW items AS SELECT * FROM '{folder}/items.parquet'")
    return connection


def brute_force(connection, queries, select):
    first, second = queries.hashed
    total = f"sum(({first}::BIGINT * 31 + {second}::BIGINT * 17) % 65521)"
    count, hashes = connection.execute(f"SELECT count(*), coalesce({total}, 0) FROM ({select})").fetchone()
    return count, int(hashes)


@pytest.mark.parametrize("file_format", list(READERS))
@pytest.mark.parametrize("queries", [QuerySet("filters", 1), QuerySet("filters", 10), QuerySet("table")])
def test_filters_and_the_table_join(queries, file_format, tmp_path):
    source = replace(SMALL, file_format=file_format)
    made = make_input(source, tmp_path)
    assert made.files == 3
    connection = seen(tmp_path, queries, source)
    assert connection.execute("SELECT count(*), count(DISTINCT word) FROM s").fetchone() == (5_000, 994)
    expected = made.expected(queries)
    assert expected == {name: brute_force(connection, queries, sql) for name, sql in queries.penstock().items()}
    assert all(count > 0 for count, _ in expected.values())


@pytest.mark.parametrize("window_rows", [1000, 2000, 5000])
def test_the_window_join(window_rows, tmp_path, monkeypatch):
    """A pair exists if the older row is at most the window's length older; the rate is a row a millisecond."""
    monkeypatch.setattr("penstock.bench.scale.inputs._KEYS_PER_WINDOW_ROW", 1)
    queries = QuerySet("window", window_rows=window_rows)
    source = replace(SMALL, rows=8_000, window_rows=window_rows)
    made = make_input(source, tmp_path)
    assert made.files == 4
    connection = seen(tmp_path, queries, source)
    apart = f"abs(epoch_ms(a.at) - epoch_ms(b.at)) <= {window_rows}"
    select = f"SELECT a.k, a.v, b.v AS w FROM a, b WHERE a.k = b.k AND {apart}"
    expected = made.expected(queries)
    assert expected == {"q0": brute_force(connection, queries, select)}
    assert expected["q0"][0] > 1_000
    if window_rows == 5000:
        assert expected["q0"] == brute_force(connection, queries, "SELECT a.v, b.v AS w FROM a, b WHERE a.k = b.k")


def test_bytes_are_those_of_the_columns(tmp_path):
    made = make_input(SMALL, tmp_path)
    assert made.arrow_bytes["k"] == 4 * 5_000
    assert made.arrow_bytes["amount"] == 8 * 5_000
    assert made.file_bytes == sum(file.stat().st_size for file in (tmp_path / "s").iterdir())


def results(rows, **more):
    return pa.table({"k": pa.array(rows, pa.int32()), "v": pa.array(rows, pa.int32()), **more})


def test_results_of_one_pass_are_told_apart_by_a_column(tmp_path):
    folder = tmp_path / "batch=0"
    folder.mkdir()
    pq.write_table(results([1, 2, 3], query=pa.array([0, 1, 1], pa.int32())), folder / "one.parquet")
    pq.write_table(results([4], query=pa.array([1], pa.int32())), folder / "two.parquet")
    assert found_in(tmp_path, "grouped", ["q0", "q1", "q2"], ["k", "v"]) == {
        "q0": (1, 48),
        "q1": (3, 48 * 9),
        "q2": (0, 0),
    }


def test_results_of_one_query_each_are_told_apart_by_folder(tmp_path):
    for name, rows in (("q0", [1]), ("q1", [2, 3])):
        (tmp_path / name).mkdir()
        pq.write_table(results(rows), tmp_path / name / "part.parquet")
    assert found_in(tmp_path, "each", ["q0", "q1"], ["k", "v"]) == {"q0": (1, 48), "q1": (2, 240)}
    assert found_in(tmp_path / "q1", "batch", ["q0"], ["k", "v"]) == {"q0": (2, 240)}
