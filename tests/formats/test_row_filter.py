"""Row filters, compared with what DuckDB keeps; it orders NaN and text as Spark does."""

import math
from random import Random

import duckdb
import pyarrow as pa
import pytest

from penstock.formats.parquet_scan import passing
from penstock.formats.row_filter import all_of, any_of, columns_of, renamed, row_filter

KINDS = {"n": "INT", "big": "BIGINT", "x": "DOUBLE", "word": "STRING"}
WORDS = ["", "a", "B", "é", "zz", "a b", "日本", "a'b", "back\\slash"]


def rows_of(rng: Random, count: int = 200) -> pa.Table:
    def some(make):
        return [None if rng.random() < 0.1 else make() for _ in range(count)]

    doubles = [0.0, -0.0, 1.5, -3.25, math.inf, -math.inf, math.nan, 1e300]
    return pa.table(
        {
            "n": pa.array(some(lambda: rng.randint(-5, 5)), pa.int32()),
            "big": pa.array(some(lambda: rng.choice([-(2**63), 2**63 - 1, 0, 2**53 + 1])), pa.int64()),
            "x": pa.array(some(lambda: rng.choice(doubles)), pa.float64()),
            "word": pa.array(some(lambda: rng.choice(WORDS)), pa.string()),
        }
    )


def condition(rng: Random, depth: int = 3) -> str:
    if depth and rng.random() < 0.6:
        word = rng.choice(["AND", "OR"])
        return f"({condition(rng, depth - 1)} {word} {condition(rng, depth - 1)})"
    name = rng.choice(list(KINDS))
    quotes = {"word": lambda: "'" + rng.choice(WORDS[:8]).replace("'", "''") + "'"}
    numbers = {
        "n": lambda: rng.randint(-6, 6),
        "big": lambda: rng.choice([-(2**62), 0, 2**53, 2**63 - 1]),
        "x": lambda: rng.choice(["0", "-3.25", "1.5", "7", "1e3", "-0.0"]),
    }
    constant = {**quotes, **numbers}[name]
    kind = rng.random()
    if kind < 0.15:
        return f"{name} BETWEEN {constant()} AND {constant()}"
    if kind < 0.3:
        return f"{name} IN ({constant()}, {constant()}, {constant()})"
    sign = rng.choice(["=", "<>", "<", "<=", ">", ">="])
    return f"{constant()} {sign} {name}" if rng.random() < 0.3 else f"{name} {sign} {constant()}"


def test_random_filters_keep_what_duckdb_keeps():
    rng = Random(11)
    for _ in range(400):
        rows = rows_of(rng)
        sql = condition(rng)
        where = row_filter(sql, KINDS)
        assert where is not None, sql
        [batch] = rows.combine_chunks().to_batches()
        kept = [place for place, found in enumerate(passing(batch, where).to_pylist()) if found]
        numbered = rows.append_column("place", pa.array(range(len(rows))))  # noqa: F841 (DuckDB reads it)
        expected = duckdb.sql(f"SELECT place FROM numbered WHERE {sql} ORDER BY place").fetchall()
        assert kept == [place for (place,) in expected], sql


def test_texts_in_dictionaries():
    rows = rows_of(Random(2))
    where = row_filter("word >= 'a' AND word < 'b'", KINDS)
    plain = passing(rows.combine_chunks().to_batches()[0], where)
    coded = rows.set_column(3, "word", rows["word"].dictionary_encode()).combine_chunks().to_batches()[0]
    assert passing(coded, where).equals(plain)
    assert plain.to_pylist().count(True) > 10


@pytest.mark.parametrize(
    "sql",
    [
        "n % 2 = 1",
        "NOT n > 1",
        "n NOT IN (1)",
        "n IS NULL",
        "n > 1.5",
        "n > '1'",
        "word > 5",
        "word LIKE 'a%'",
        "n <=> 1",
        "n > 99999999999999999999",
        "n = 1 OR abs(n) = 2",
        "n > big",
        "x.n > 1",
        "other > 1",
        "at > '2024-01-01'",
        "n + 1 > 2",
        "n IN (SELECT 1)",
        f"n IN ({', '.join(map(str, range(60)))})",
    ],
)
def test_conditions_that_stay_with_spark(sql):
    """Those that Arrow may evaluate otherwise, that can fail, or that are on other columns."""
    assert row_filter(sql, {**KINDS, "at": "TIMESTAMP"}) is None


def test_floats_are_compared_as_doubles():
    """A FLOAT column of a file that is declared DOUBLE: Spark widens its values, and rounds no constant."""
    values = pa.array([0.1, 0.2, 16777216.0, math.nan, None], pa.float32())
    batch = pa.RecordBatch.from_arrays([values], ["x"])
    widened = pa.table({"place": range(5), "x": values.cast(pa.float64())})  # noqa: F841 (DuckDB reads it)
    for sql in ("x > 0.1", "x <> 0.1", "x = 0.1", "x <= 0.1", "x < 16777217", "x >= 16777217", "x = 0.2"):
        kept = [place for place, found in enumerate(passing(batch, row_filter(sql, KINDS)).to_pylist()) if found]
        expected = duckdb.sql(f"SELECT place FROM widened WHERE {sql} ORDER BY place").fetchall()
        assert kept == [place for (place,) in expected], sql


@pytest.mark.parametrize("count", [200, 900])
def test_long_chains_stay_with_spark(count):
    """They would take a recursion for every comparison."""
    assert row_filter(" OR ".join(f"n = {each}" for each in range(count)), KINDS) is None


def test_a_part_of_a_condition_is_a_filter_too():
    assert row_filter("n % 2 = 1 AND n > 3 AND word LIKE 'a%'", KINDS) == (">", "n", 3)


def test_filters_of_several_queries():
    one, two = row_filter("n > 3", KINDS), row_filter("word = 'a'", KINDS)
    assert any_of([one, two]) == ("or", one, two)
    assert any_of([one, None]) is None
    assert any_of([]) is None
    assert all_of([]) is None
    assert columns_of(any_of([one, two])) == {"n", "word"}
    assert renamed(any_of([one, two]), {"n": "N", "word": "W"}) == ("or", (">", "N", 3), ("=", "W", "a"))
