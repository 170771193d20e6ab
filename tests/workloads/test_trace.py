"""Arrivals from files: units, order, rates, and everything that can be wrong with a file."""

import os
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Trace, hurst, index_of_dispersion, take


@pytest.fixture
def written(tmp_path):
    def write(columns, name="t.parquet"):
        parquet.write_table(pa.table(columns), tmp_path / name)
        return tmp_path / name

    return write


def all_times(trace):
    return take(trace, 0, 10**7).tolist()


EPOCH_NS = 1_700_000_000_123_456_789


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"t": [7, 8, 8, 10]}, [0, 1, 1, 3]),
        ({"t": [0.5, 0.75]}, [0, 0.25]),
        ({"t_us": [10, 500_010]}, [0, 0.5]),
        ({"t_ms": [10.0, 510.0]}, [0, 0.5]),
        ({"t_ns": [EPOCH_NS, EPOCH_NS + 1]}, [0, 1e-9]),  # as doubles the two would be one
        ({"status": [1, 2]}, [0, 1]),  # ends in s, and not in _s
        ({"t": pa.array([0, 1500], pa.timestamp("ms"))}, [0, 1.5]),
        ({"t": pa.array([EPOCH_NS, EPOCH_NS + 2], pa.timestamp("ns", "UTC"))}, [0, 2e-9]),
        ({"t": pa.array([0, 1500], pa.duration("us"))}, [0, 0.0015]),
        ({"t": pa.array([1, 3], pa.time32("s"))}, [0, 2]),
        ({"t": [date(2020, 1, 1), date(2020, 1, 2)]}, [0, 86_400]),
        ({"t": pa.array([date(2020, 1, 1), date(2020, 1, 2)], pa.date64())}, [0, 86_400]),
        ({"t": [datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 1, 5)]}, [0, 1.000005]),
        ({"t": [Decimal("1.25"), Decimal("1.50")]}, [0, 0.25]),
        ({"t": pa.array([1, 3], pa.uint8())}, [0, 2]),
    ],
)
def test_units(written, columns, expected):
    assert all_times(Trace(written(columns))) == expected


def test_which_column(written):
    path = written({"host": ["a", "b"], "size": [5, 9], "time": [1, 4], "later": [0, 2]})
    assert Trace(path).column == "time"
    assert Trace(path, column="later").rate == 0.5
    assert Trace(written({"host": ["a", "b"], "seen": [0, 2]})).column == "seen"


def test_csv(tmp_path):
    (tmp_path / "t.csv").write_text("host,at\na,2020-01-01 00:00:00\nb,2020-01-01 00:00:30\n")
    assert all_times(Trace(tmp_path / "t.csv")) == [0, 30]
    (tmp_path / "u.csv").write_text("host,seen_us\na,5\nb,1000005\n")
    assert all_times(Trace(str(tmp_path / "u.csv"))) == [0, 1]


def test_rate_and_repeat(written):
    path = written({"t": [10, 12, 13, 16]})
    assert Trace(path).rate == 0.5  # 3 gaps in 6 seconds
    assert Trace(path, rate=5).rate == 5
    assert all_times(Trace(path, rate=5)) == pytest.approx([0, 0.2, 0.3, 0.6])
    again = take(Trace(path, rate=5, repeat=True), 0, 9)
    assert again == pytest.approx([0, 0.2, 0.3, 0.6, 0.8, 1.0, 1.1, 1.4, 1.6])


def test_one_arrival(written):
    path = written({"t": [10]})
    assert Trace(path).rate is None
    assert all_times(Trace(path)) == [0]
    assert take(Trace(path, rate=2, repeat=True), 0, 3).tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_long_files_come_in_pieces(tmp_path, name):
    values = np.random.default_rng(1).integers(0, 50, 200_000).cumsum()
    if name == "t.csv":
        np.savetxt(tmp_path / name, values, fmt="%d", header="t_ms", comments="")
    else:
        parquet.write_table(pa.table({"t_ms": values}), tmp_path / name)
    trace = Trace(tmp_path / name)
    batches = list(trace.batches(0))
    assert trace.count == 200_000
    assert max(len(batch) for batch in batches) <= 8192
    assert np.array_equal(np.concatenate(batches), (values - values[0]) / 1000)


def test_a_step_back_between_pieces_is_found(written):
    values = np.arange(200_000)
    values[65_536] = 5  # the first of the second piece that is read
    with pytest.raises(
        ArrivalError, match="row 65537 of column 't', at 5 seconds from the first, comes after one at"
    ):
        Trace(written({"t": values}))


@pytest.mark.parametrize(
    ("columns", "settings", "says"),
    [
        ({"t": [1, 3, 2, 0]}, {}, "row 3 of column 't', at 1 seconds from the first, comes after one at 2"),
        ({"t": [3, 1]}, {}, "row 2 of column 't', at -2 seconds from the first, comes after one at 0"),
        ({"t": [1.0, None, 2.0]}, {}, "has nothing in row 2"),
        ({"t": [1.0, 2.0, float("nan")]}, {}, "has no number in row 3"),
        ({"t": [1.0, float("inf")]}, {}, "has no number in row 2"),
        ({"t": pa.array([], pa.int64())}, {}, "is empty: column 't' has no rows"),
        ({"host": ["a"]}, {}, "has no column of numbers or timestamps, but ['host']"),
        ({"host": ["a"], "t": [1]}, {"column": "host"}, "has the type string, which is not a time"),
        ({"time": [1]}, {"column": "tine"}, "has no column 'tine'. Did you mean 'time'?"),
        ({"time": [1]}, {"column": "x"}, "has no column 'x'. There are time."),
        ({"t": [1, 2]}, {"rate": 0}, "must be above 0, not 0"),
        ({"t": [4, 4]}, {"rate": 2}, "has all its 2 arrivals at one time"),
        ({"t": [4, 4]}, {"repeat": True}, "has all its 2 arrivals at one time"),
        ({"t": [4]}, {"repeat": True}, "has all its 1 arrivals at one time"),
        ({"t": pa.array([2**64 - 1], pa.uint64())}, {}, "cannot be read: "),
    ],
)
def test_errors(written, columns, settings, says):
    with pytest.raises(ArrivalError) as caught:
        Trace(written(columns), **settings)
    assert says in str(caught.value)
    assert "t.parquet" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.csv", "", "cannot be read: Empty CSV file"),
        ("t.csv", "time\n", "is empty: column 'time' has no rows"),
        ("t.csv", "host,time\na,\nb,\n", "has nothing in row 1"),
        ("t.csv", "time\n1\nnan\n", "has nothing in row 2"),
        ("t.csv", "time\n1\nx\n", "has no column of numbers or timestamps"),
        ("t.csv", "0.5\n1\n2\n", "the first line of the trace"),
        ("t.txt", "time\n1\n", "a trace must be a .parquet or a .csv file"),
        ("t.parquet", "time\n1\n", "cannot be read: "),
    ],
)
def test_bad_files(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    with pytest.raises(ArrivalError) as caught:
        Trace(tmp_path / name)
    assert says in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(ArrivalError, match=r"there is no trace file .*missing.csv"):
        Trace(tmp_path / "missing.csv")
    with pytest.raises(ArrivalError, match="there is no trace file"):
        Trace(tmp_path)
    with pytest.raises(ArrivalError, match="the path of a trace must be a file, not 5"):
        Trace(5)


@pytest.mark.skipif("PENSTOCK_TRACES" not in os.environ, reason="PENSTOCK_TRACES does not name a folder of traces")
def test_a_real_trace():
    path = Path(os.environ["PENSTOCK_TRACES"], "BC-pAug89.parquet")
    if not path.exists():
        pytest.skip(f"there is no {path.name} in the folder that PENSTOCK_TRACES names")
    trace = Trace(path)
    assert (trace.column, trace.count, round(trace.rate)) == ("arrival_us", 1_000_000, 318)
    times = take(trace, 0, trace.count)
    assert [round(index_of_dispersion(times, s)) for s in (0.01, 0.1, 1, 10)] == [2, 10, 41, 201]
    assert hurst(times, 0.1) == pytest.approx(0.83, abs=0.02)
