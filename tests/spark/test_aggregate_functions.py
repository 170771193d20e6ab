"""What aggregates keep is exact, stable, and mergeable; a query that fails is stopped alone."""

import math
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import cycle
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.runtime import stream_log
from penstock.runtime.admission import Arrived
from penstock.runtime.engine import Engine
from penstock.runtime.load_control import LoadControl
from penstock.runtime.rows.segment import ArrivedFiles
from penstock.shedding.drop_box import DropBox
from tests.oracle.results import read_rows
from tests.runtime.test_drop_boxes import kept_numbers

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


SUMS = "count(*) AS c, count(v) AS cv, sum(v) AS sv, avg(v) AS mv, sum(n) AS sn, avg(n) AS mn, sum(d) AS sd, "
SUMS += "avg(d) AS md, sum(x) AS sx, avg(x) AS mx, sum(v) FILTER (WHERE v > 500) AS f, max(v) AS most"
SHARES = (0.5, 1.0, 0.2, 0.25, 0.8)
"""Of these, 1/p has few digits."""


@pytest.mark.parametrize("rows", ["resident", "stored"])
def test_scaled_results_are_those_by_hand(tmp_path, spark, monkeypatch, rows):
    """The share that is kept changes with every file, and a job takes several; a query beside it is not scaled."""
    random = Random(9)
    count = 400
    data = made(
        count,
        v=lambda i: random.choice([None, *range(1000)]),
        n=lambda i: random.choice([2**54, -(2**54), 5]),
        d=lambda i: Decimal(random.randrange(10**6)) / 100 + 10**20,
        x=lambda i: random.randrange(-800, 800) / 8,
    )
    query = f"AS SELECT {SUMS} FROM s {WINDOW};\n"
    script = write(tmp_path, data, 10) + f"CREATE QUERY plain {query}CREATE QUERY q WITH (scaled = true) {query}"
    for least in (100, 600):
        script += (
            f"CREATE QUERY g{least} WITH (scaled = true) AS SELECT sum(v) AS r FROM s {WINDOW} WHERE v > {least};"
        )
    admit = Engine.admit
    shares = cycle(SHARES)

    def admit_by_parts(engine, stream, arrived, chunk_rows):
        for part in parts(arrived):
            engine.set_keep({stream: next(shares)})
            passed = admit(engine, stream, part, chunk_rows)
        return passed

    monkeypatch.setattr(Engine, "admit", admit_by_parts)
    summary = run(script + f"SET rows = '{rows}';", tmp_path, spark, chunk_rows=40)
    assert summary.failed == (), summary.queries["q"].reason
    boxes = summary.streams["s"].boxes
    kept = kept_numbers("s", boxes, count)
    assert 0 < len(kept) < count
    assert len(boxes) > 2
    for name in ("plain", "q"):
        known = [
            (data[i], 1 / Fraction(str(share_at(boxes, i))) if name == "q" else Fraction(1)) for i in sorted(kept)
        ]
        [found] = read_rows(tmp_path / "out", name)
        for got, wanted in zip(found, sums_by_hand(known), strict=True):
            assert got == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted), name
    for least in (100, 600):
        large = [data[i]["v"] / Fraction(str(share_at(boxes, i))) for i in kept if (data[i]["v"] or 0) > least]
        assert read_rows(tmp_path / "out", f"g{least}") == [(half_up(sum(large)),)]


def test_arguments_are_expressions(tmp_path, spark, monkeypatch):
    """What is computed with an argument is computed with all of it; half of the rows are dropped."""
    rows = made(
        40,
        v=lambda i: i % 5 if i % 3 else None,
        n=lambda i: i * 2**30,
        d=lambda i: Decimal(i),
        k=lambda i: 3 if i % 7 else None,
    )
    script = write(tmp_path, rows, 1) + (
        "CREATE QUERY q WITH (scaled = true) AS SELECT sum(n | 5) AS a, sum(d + 1) AS b, "
        f"count(v > 3 OR k > 5) AS c, min_by(n, v > 9 OR k > 5) AS e FROM s {WINDOW};"
    )
    monkeypatch.setattr(stream_log, "DropBox", lambda name: DropBox(name, [(0, 0.5)]))
    monkeypatch.setattr(LoadControl, "begin", lambda control, now_us: None)
    assert run(script, tmp_path, spark).failed == ()
    kept = sorted(kept_numbers("s", [(0, 0.5)], 40))
    assert len(kept) < 30
    known = [i for i in kept if rows[i]["v"] is not None and (rows[i]["v"] > 3 or rows[i]["k"] is not None)]
    first = next(i for i in kept if rows[i]["v"] is not None and rows[i]["k"] is not None)
    assert read_rows(tmp_path / "out", "q") == [
        (2 * sum(i * 2**30 | 5 for i in kept), 2 * sum(i + 1 for i in kept), 2 * len(known), first * 2**30)
    ]


def parts(arrived: Arrived | ArrivedFiles) -> list[Arrived | ArrivedFiles]:
    """What arrived, in parts of 40 rows; each file has as many."""
    if isinstance(arrived, ArrivedFiles):
        return [replace(arrived, segments=(segment,)) for segment in arrived.segments]
    return [
        Arrived(arrived.rows.slice(first, 40), arrived.arrival_us) for first in range(0, arrived.rows.num_rows, 40)
    ]


def share_at(boxes, number: int) -> float:
    return [share for start, share in boxes if start <= number][-1]


def sums_by_hand(rows) -> list:
    """Figures of rows with their weights."""
    total = {c: sum(w * Fraction(row[c]) for row, w in rows if row[c] is not None) for c in ("v", "n", "d", "x")}
    number = {c: sum(w for row, w in rows if row[c] is not None) for c in ("v", "n", "d", "x")}
    large = sum(w * row["v"] for row, w in rows if (row["v"] or 0) > 500)
    v, n, d, x = "vndx"
    return [
        half_up(sum(w for _, w in rows)),
        half_up(number[v]),
        half_up(total[v]),
        float(total[v] / number[v]),
        half_up(total[n]),
        float(total[n] / number[n]),
        half_up(total[d] * 100) / Decimal(100),
        half_up(total[d] / number[d] * 10**6) / Decimal(10**6),
        float(total[x]),
        float(total[x] / number[x]),
        half_up(large),
        max(row["v"] for row, _ in rows if row["v"] is not None),
    ]


def half_up(value: Fraction) -> int:
    return math.floor(abs(value) + Fraction(1, 2)) * (1 if value >= 0 else -1)


def test_with_nothing_dropped_scaled_results_are_the_same(tmp_path, spark):
    """Infinity times 0 would be NaN, and a quotient of other types would have other digits."""
    random = Random(2)
    data = made(
        60,
        k=lambda i: i % 4,
        v=lambda i: random.choice([None, i]),
        n=lambda i: random.choice([2**58, -(2**58), 3]),
        d=lambda i: Decimal(random.randrange(10**9)) / 100,
        x=lambda i: [0.1 * i, math.inf, math.nan, -0.0][i % 4],
    )
    query = f"AS SELECT k, {SUMS} FROM s {WINDOW} GROUP BY k;\n"
    script = write(tmp_path, data, 3) + f"CREATE QUERY plain {query}CREATE QUERY q WITH (scaled = true) {query}"
    run(script, tmp_path, spark)
    plain, scaled = (sorted(map(repr, read_rows(tmp_path / "out", name))) for name in ("plain", "q"))
    assert len(plain) == 4
    assert plain == scaled
