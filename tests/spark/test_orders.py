"""Joins of several streams on Spark: in whatever order rows probe, the results are those of all combinations."""

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import penstock.spark as ps
from penstock.language import Script

START = 1_700_000_000_000_000
SCRIPT = """
    CREATE STREAM a (t TIMESTAMP, k INT, m INT, n INT, v INT) FROM files
      WITH (path = 'a', format = 'parquet', timestamp = 't');
    CREATE STREAM b (t TIMESTAMP, k INT, v INT) FROM files WITH (path = 'b', format = 'parquet', timestamp = 't');
    CREATE STREAM c (t TIMESTAMP, m INT, v INT) FROM files WITH (path = 'c', format = 'parquet', timestamp = 't');
    CREATE STREAM d (t TIMESTAMP, n INT, v INT) FROM files WITH (path = 'd', format = 'parquet', timestamp = 't');
    CREATE QUERY q AS SELECT a.v AS av, b.v AS bv, c.v AS cv, d.v AS dv
      FROM a [RANGE 2 SECONDS] AS a, b [ROWS 20] AS b, c [RANGE 3 SECONDS] AS c, d [RANGE 4 SECONDS] AS d
      WHERE a.k = b.k AND a.m = c.m AND a.n = d.n AND b.v <= c.v + 60 AND c.v > 5;
    SET batch_rows = 60;
    SET optimize = {};
"""
KEYS = {"a": {"k": 3, "m": 12, "n": 40}, "b": {"k": 3}, "c": {"m": 12}, "d": {"n": 40}}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder with the streams' files, and their rows as (time, place in FROM, row)."""
    folder = tmp_path_factory.mktemp("shop")
    random = np.random.default_rng(11)
    rows = {}
    for name, keys in KEYS.items():
        times = START + np.sort(random.integers(0, 12_000_000, 150))
        columns = {"t": pa.array(times, pa.timestamp("us", "UTC"))}
        columns |= {key: pa.array(random.integers(most, size=150).astype(np.int32)) for key, most in keys.items()}
        columns["v"] = pa.array(random.integers(100, size=150).astype(np.int32))
        (folder / name).mkdir()
        table = pa.table(columns)
        pq.write_table(table, folder / name / "rows.parquet")
        rows[name] = table.set_column(0, "t", pa.array(times)).to_pylist()
    return folder, rows


def all_combinations(rows):
    """The results, by looking at every row's windows when it comes, as docs/scripts.md says."""
    ranges = {"a": 2_000_000, "c": 3_000_000, "d": 4_000_000}
    found = Counter()
    arrived = {name: [] for name in rows}
    order = sorted(((row["t"], name, row) for name in rows for row in rows[name]), key=lambda each: each[:2])
    for _, name, last in order:
        arrived[name].append(last)
        windows = [
            [last]
            if other == name
            else arrived[other][-20:]
            if other == "b"
            else [row for row in arrived[other] if last["t"] - row["t"] <= ranges[other]]
            for other in "abcd"
        ]
        for a, b, c, d in product(*windows):
            if a["k"] == b["k"] and a["m"] == c["m"] and a["n"] == d["n"] and b["v"] <= c["v"] + 60 and c["v"] > 5:
                found[a["v"], b["v"], c["v"], d["v"]] += 1
    return found


@pytest.mark.parametrize("optimize", ["true", pytest.param("false", marks=pytest.mark.slow)])
def test_four_streams_in_both_orders(optimize, shop, spark):
    folder, rows = shop
    results = ps.run(Script.parse(SCRIPT.format(optimize), "shop", folder), drain=True, spark=spark)
    got = Counter(zip(*(column.to_pylist() for column in results.results["q"].columns), strict=True))
    expected = all_combinations(rows)
    assert sum(expected.values()) > 20
    assert got == expected
    (join,) = results.summary.joins.values()
    assert join.written["a"] == ("b", "c", "d")
    assert join.best["a"][0] != "b"
    assert join.orders == (join.best if optimize == "true" else join.written)
    assert join.selectivities["a,b"] == pytest.approx(1 / 3, rel=0.1)
    assert 0 < join.at_best < join.as_written
    assert join.utilization == (join.at_best if optimize == "true" else join.as_written)
