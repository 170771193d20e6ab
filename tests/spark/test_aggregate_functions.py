"""What aggregates keep is exact, stable, and mergeable; a query that fails is stopped alone."""

import math
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from tests.oracle.results import read_rows

START = datetime(2026, 1, 1)
COLUMNS = "at TIMESTAMP, k INT, v INT, n BIGINT, d DECIMAL(38,2), x DOUBLE, s STRING"


def write(folder, rows: list[dict], files: int) -> str:
    """Write rows to files of equal size; return a stream of them."""
    schema = pa.schema(
        [
            ("at", pa.timestamp("us")),
            ("k", pa.int32()),
            ("v", pa.int32()),
            ("n", pa.int64()),
            ("d", pa.decimal128(38, 2)),
            ("x", pa.float64()),
            ("s", pa.string()),
        ]
    )
    (folder / "in").mkdir()
    size = -(-len(rows) // files)
    for number in range(files):
        part = pa.Table.from_pylist(rows[number * size : (number + 1) * size], schema)
        pq.write_table(part, folder / "in" / f"{number:03d}.parquet")
    return (
        f"CREATE STREAM s ({COLUMNS}) FROM files WITH (path = '{folder / 'in'}', format = 'parquet', "
        "timestamp = 'at');\n"
    )


def made(count: int, **columns) -> list[dict]:
    """Rows a second apart; columns are given as functions of the row's number."""
    return [
        {"at": START + timedelta(seconds=number), **{name: of(number) for name, of in columns.items()}}
        for number in range(count)
    ]


def run(script: str, folder, spark, **options):
    return ps.run(script, out=folder / "out", drain=True, spark=spark, **options).summary


WINDOW = "[RANGE 1 HOUR SLIDE 1 HOUR]"


def test_sums_of_bigint_do_not_overflow_on_the_way(tmp_path, spark):
    """The sum of the first half is above 2^63; all together are 7."""
    largest = 2**63 - 1
    rows = made(40, n=lambda i: largest if i < 20 else -largest if i < 39 else 7 - largest)
    script = (
        write(tmp_path, rows, 8) + f"CREATE QUERY q AS SELECT sum(n) AS total, avg(n) AS mean FROM s {WINDOW};"
    )
    summary = run(script, tmp_path, spark, chunk_rows=5)
    assert summary.failed == ()
    assert read_rows(tmp_path / "out", "q") == [(7, 7 / 40)]


def test_variance_of_large_numbers_that_are_close(tmp_path, spark):
    """With sums of squares, nothing of the variance would be left: 1e9 + 0 … 9, in chunks and in one piece."""
    random = Random(3)
    values = [1e9 + random.randrange(10) for _ in range(300)]
    script = write(tmp_path, made(300, x=lambda i: values[i]), 10) + "".join(
        f"CREATE QUERY {name} AS SELECT {name}(x) AS r, count(x) AS c FROM s {WINDOW};"
        for name in ("var_samp", "stddev_pop")
    )
    run(script, tmp_path, spark, chunk_rows=30)
    [(found, _)] = read_rows(tmp_path / "out", "var_samp")
    assert found == pytest.approx(np.var(values, ddof=1), rel=1e-6)
    [(found, _)] = read_rows(tmp_path / "out", "stddev_pop")
    assert found == pytest.approx(np.std(values), rel=1e-6)


def test_about_how_many_distinct_values(tmp_path, spark):
    """Within 5 %, merged from many chunks; exact where there are few."""
    rows = made(900, k=lambda i: i % 3, s=lambda i: f"s{i % 700}")
    script = write(tmp_path, rows, 9) + (
        f"CREATE QUERY many AS SELECT approx_count_distinct(s) AS a, count(DISTINCT s) AS d FROM s {WINDOW};\n"
        f"CREATE QUERY few AS SELECT approx_count_distinct(k) AS a, approx_count_distinct(x) AS x FROM s {WINDOW};"
    )
    run(script, tmp_path, spark, chunk_rows=100)
    [(about, exact)] = read_rows(tmp_path / "out", "many")
    assert exact == 700
    assert about == pytest.approx(700, rel=0.05)
    assert read_rows(tmp_path / "out", "few") == [(3, 0)]


def test_nan_and_negative_zero(tmp_path, spark):
    values = [0.0, -0.0, math.nan, 1.5, None]
    script = write(tmp_path, made(5, x=lambda i: values[i]), 2) + (
        f"CREATE QUERY q AS SELECT max(x) AS most, min(x) AS least, count(DISTINCT x) AS d FROM s {WINDOW};\n"
        f"CREATE QUERY keys AS SELECT x, count(*) AS n FROM s {WINDOW} GROUP BY x;"
    )
    run(script, tmp_path, spark)
    [(most, least, distinct)] = read_rows(tmp_path / "out", "q")
    assert math.isnan(most)
    assert (least, distinct) == (0.0, 3)
    assert sorted(n for _, n in read_rows(tmp_path / "out", "keys")) == [1, 1, 1, 2]


def test_overflow_stops_the_query_and_no_other(tmp_path, spark):
    """Of a group, of queries that share panes, and of a DECIMAL that is too large for its type."""
    rows = made(60, n=lambda i: 2**62, v=lambda i: i % 7, d=lambda i: Decimal("9" * 36), k=lambda i: i % 2)
    scaled = "".join(
        f"CREATE QUERY times{factor} AS SELECT sum(n % 1000000 * {factor}) AS r FROM s {WINDOW};"
        for factor in (1, 10**15, 3)
    )
    script = (
        write(tmp_path, rows, 4)
        + scaled
        + (
            f"CREATE QUERY good AS SELECT k, count(*) AS c FROM s {WINDOW} GROUP BY k;\n"
            f"CREATE QUERY whole AS SELECT k, sum(n) AS r FROM s {WINDOW} GROUP BY k;\n"
            f"CREATE QUERY exact AS SELECT k, sum(d) AS r FROM s {WINDOW} GROUP BY k;\n"
            f"CREATE QUERY ratio AS SELECT k, sum(12 DIV v) AS r FROM s {WINDOW} GROUP BY k;\n"
            f"CREATE QUERY plain AS SELECT v FROM s WHERE v = 3;"
        )
    )
    summary = run(script, tmp_path, spark, chunk_rows=20)
    assert set(summary.failed) == {"whole", "exact", "ratio"} | (
        {f"times{10**15}"} if 2**62 % 1000000 * 10**15 * 60 > 2**63 else set()
    )
    assert all("overflow" in summary.queries[name].reason.lower() for name in ("whole", "exact"))
    assert "zero" in summary.queries["ratio"].reason.lower()
    assert sorted(read_rows(tmp_path / "out", "good")) == [(0, 30), (1, 30)]
    assert read_rows(tmp_path / "out", "times3") == [(2**62 % 1000000 * 3 * 60,)]
    assert len(read_rows(tmp_path / "out", "plain")) == 9
