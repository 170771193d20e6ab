"""`scaled = true`: a row that was kept counts 1/p. Results equal those computed by hand from the kept rows."""

import json
from collections import defaultdict
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import floor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from penstock.language import Script
from penstock.policies import Exhaustive
from penstock.runtime import job_panes
from penstock.runtime.admission import Arrived
from penstock.runtime.change import Change
from penstock.runtime.engine import Engine
from penstock.runtime.summary import query_summary
from penstock.shedding.drop_box import DropBox, extra_sql
from penstock.storage.image import Image
from penstock.storage.script_changes import same_query
from penstock.storage.waiting_changes import as_waiting, left_over
from tests.oracle.aggregates import difference
from tests.oracle.results import sorted_rows
from tests.runtime.duck import Duck, next_job
from tests.runtime.test_drop_boxes import kept_numbers
from tests.runtime.test_engine_random import Drive, _plain
from tests.storage.test_engine_restart import Mortal

START = datetime(2026, 1, 1)
SHARES = (0.2, 0.25, 0.5, 0.8, 1.0, 0.0)
"""Of these, 1/p has few digits: results by hand are exact."""
CENT = Decimal("0.01")
AGGREGATES = (
    "count(*) AS n, count(v) AS nv, sum(v) AS s, sum(b) AS sb, sum(d) AS sd, avg(v) AS m, avg(x) AS mx, "
    "sum(x) AS sx, sum(v) FILTER (WHERE v > 3) AS f, max(v) AS most"
)
SELECTS = {
    "plain": (
        False,
        f"SELECT k, {AGGREGATES}, window_start AS w FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k",
    ),
    "q0": (True, f"SELECT k, {AGGREGATES}, window_start AS w FROM s [RANGE 8 SECONDS SLIDE 4 SECONDS] GROUP BY k"),
    "q1": (
        True,
        f"SELECT 0 AS k, {AGGREGATES}, window_start AS w FROM s [RANGE 8 SECONDS SLIDE 8 SECONDS] WHERE v > 2",
    ),
    "q2": (
        True,
        f"SELECT 0 AS k, {AGGREGATES}, window_start AS w FROM s [RANGE 4 SECONDS SLIDE 4 SECONDS] WHERE v > 5",
    ),
}
LOWEST = {"q1": 2, "q2": 5}
WINDOWS = {"plain": (8, 4), "q0": (8, 4), "q1": (8, 8), "q2": (4, 4)}
COLUMNS = (
    ("ts", "TIMESTAMP"),
    ("k", "INT"),
    ("v", "INT"),
    ("b", "BIGINT"),
    ("d", "DECIMAL(12,2)"),
    ("x", "DOUBLE"),
)


def case_of(random: Random, count: int) -> SimpleNamespace:
    """Rows a quarter of a second apart, and queries over them: what a `Drive` reads of a case."""
    rows = [
        (
            START + timedelta(seconds=number / 4),
            random.randrange(2),
            random.choice([None, *range(9)]),
            random.choice([-(2**50), 7, 2**52]),
            Decimal(random.randrange(-999, 9999)) / 100,
            random.randrange(-40, 80) / 8,
        )
        for number in range(count)
    ]
    text = "".join(
        f"CREATE QUERY {name} {'WITH (scaled = true) ' * scaled}AS {select};\n"
        for name, (scaled, select) in SELECTS.items()
    )
    return SimpleNamespace(
        streams=[SimpleNamespace(name="s", columns=COLUMNS, rows=rows, lateness_us=0)],
        tables=[],
        queries=[SimpleNamespace(name=name) for name in SELECTS],
        script=lambda definitions: "\n".join([*definitions, text]),
    )


def by_hand(case, name: str, boxes) -> list[tuple]:
    """The results of a query: a kept row counts 1/p if the query is scaled, else 1."""
    rows = case.streams[0].rows
    numbers = kept_numbers("s", boxes, len(rows))
    groups = defaultdict(list)
    size, slide = WINDOWS[name]
    for number in sorted(numbers):
        share = [share for start, share in boxes if start <= number][-1]
        weight = 1 / Fraction(str(share)) if SELECTS[name][0] else Fraction(1)
        ts, k, *values = rows[number]
        if name in LOWEST and (values[0] is None or values[0] <= LOWEST[name]):
            continue
        second = (ts - START).total_seconds()
        for start in range(floor(second / slide) * slide, -size, -slide):
            if start <= second < start + size:
                groups[0 if name in LOWEST else k, start].append((weight, *values))
    return [(k, *figures(found), START + timedelta(seconds=start)) for (k, start), found in groups.items()]


def figures(found: list[tuple]) -> tuple:
    """The aggregates of a group, from rows with their weights."""
    known = [(weight, v) for weight, v, *_ in found if v is not None]
    total, number = sum(w * v for w, v in known), sum(w for w, _ in known)
    cents = sum(weight * Fraction(d) for weight, _, _, d, _ in found)
    number_x, total_x = sum(weight for weight, *_ in found), sum(w * Fraction(x) for w, *_, x in found)
    large = [w * v for w, v in known if v > 3]
    return (
        rounded(number_x),
        rounded(number),
        rounded(total) if known else None,
        rounded(sum(weight * b for weight, _, b, _, _ in found)),
        (Decimal(cents.numerator) / cents.denominator).quantize(CENT, ROUND_HALF_UP),
        float(total / number) if known else None,
        float(total_x / number_x),
        float(total_x),
        rounded(sum(large)) if large else None,
        max((v for _, v in known), default=None),
    )


def rounded(value) -> int:
    """To the nearest whole number, a half away from 0, as Spark does."""
    return floor(abs(value) + Fraction(1, 2)) * (1 if value >= 0 else -1)


class Shed(Drive):
    """A drive in which the share that is kept changes."""

    def happen(self) -> None:
        if self.random.random() < 0.3:
            self.engine.set_keep({"s": self.random.choice(SHARES)})
        super().happen()

    def create(self) -> None:
        """Queries are there from the start, so that what they see is all that is kept."""

    def drop(self) -> None:
        """And stay."""


class MortalShed(Shed, Mortal):
    """The same, with an engine that dies now and then and goes on with what was committed."""


@pytest.mark.parametrize("kind", [Shed, MortalShed])
@pytest.mark.parametrize("seed", range(8))
def test_scaled_results_are_those_by_hand(kind, seed):
    random = Random(seed)
    case = case_of(random, 120)
    with (
        TemporaryDirectory() as folder,
        patch.object(job_panes, "MOST_CHUNKS", random.choice([1, 8])),
        patch.object(job_panes, "RESIDENT_BYTES", random.choice([0, 64_000_000])),
        patch.object(job_panes, "SEGMENT_BYTES", 200),
    ):
        place = Path(folder) / "rows"
        place.mkdir()
        drive = kind(case, random, "fifo", place)
        drive.begin()
        for _ in range(80):
            drive.happen()
        drive.drain()
    assert kind is Shed or drive.deaths
    boxes = drive.engine.streams["s"].box.history
    assert len(boxes) > 3
    assert drive.engine.plan.groups, "q1 and q2 should run as one"
    for name in SELECTS:
        got = sorted_rows([tuple(_plain(value) for value in row) for row in drive.results[name]])
        wanted = sorted_rows([tuple(_plain(value) for value in row) for row in by_hand(case, name, boxes)])
        assert difference(wanted, got) == "", (name, boxes)
        assert query_summary(drive.engine, name).dropped == {"s": 120 - len(kept_numbers("s", boxes, 120))}
        assert query_summary(drive.engine, name).scaled == SELECTS[name][0]


def test_with_nothing_dropped_scaled_results_are_the_same():
    case = case_of(Random(4), 200)
    with TemporaryDirectory() as folder:
        drive = Drive(case, Random(5), "hnr", Path(folder))
        drive.create = drive.drop = lambda: None
        drive.begin()
        for _ in range(60):
            drive.happen()
        drive.drain()
    assert sorted(drive.results["plain"], key=repr) == sorted(drive.results["q0"], key=repr)
    assert len(drive.results["plain"]) > 20


def estimates(name: str, shares: tuple[float, ...], rows: int) -> tuple[int, int]:
    """The scaled count and sum of one window of a stream of that name, whose share changes again and again."""
    script = Script.parse(
        f"CREATE STREAM {name} (at TIMESTAMP, v INT) "
        "FROM files WITH (path = 'x', format = 'json', timestamp = 'at');"
        f"CREATE QUERY q WITH (scaled = true) AS SELECT count(*) AS n, sum(v) AS s "
        f"FROM {name} [RANGE 1 HOUR SLIDE 1 HOUR];"
    )
    engine, duck = Engine(script.streams, "fifo", Exhaustive()), Duck({})
    engine.begin(script)
    for part, share in enumerate(shares):
        engine.set_keep({name: share})
        count = rows // len(shares)
        values = pa.array(range(part * count, (part + 1) * count), pa.int32())
        times = pa.array([START] * count, pa.timestamp("us", "UTC"))
        engine.admit(name, Arrived(pa.table({"at": times, "v": values}), 0), 1000)
    engine.set_watermark(name, None, ended=True)
    while True:
        some, job = engine.settle(1), next_job(engine, 1)
        if job is not None:
            emitted = engine.commit(job, duck(job.work), 1, 0.01)
            if emitted:
                [row] = emitted[0].rows.to_pylist()
                return row["n"], row["s"]
        assert some or job is not None


def test_estimates_are_right_on_average():
    """One stream's name salts the hash of its drop box: sixty names are sixty samples."""
    rows, shares = 2000, (0.3, 0.07, 0.6, 1.0)
    found = np.array([estimates(f"s{number}", shares, rows) for number in range(60)])
    assert found[:, 0].std() > 30
    assert found[:, 0].mean() == pytest.approx(rows, rel=0.03)
    assert found[:, 1].mean() == pytest.approx(rows * (rows - 1) / 2, rel=0.03)


def test_boxes_since_a_row():
    box = DropBox("s", [(0, 1.0), (10, 0.5), (20, 0.25)])
    assert box.since(0) == ((0, 1.0), (10, 0.5), (20, 0.25))
    assert box.since(9) == box.since(0)
    assert box.since(10) == box.since(19) == ((10, 0.5), (20, 0.25))
    assert box.since(20) == box.since(99) == ((20, 0.25),)


def test_a_row_counts_for_those_that_its_share_dropped():
    assert extra_sql(((0, 0.25),), "n") == "CAST(3.000000BD AS DECIMAL(12, 6))"
    assert "999999.000000BD" in extra_sql(((0, 1e-9),), "n")
    assert "0.000000BD" in extra_sql(((0, 0.0),), "n")


def test_a_created_query_stays_scaled():
    """As the journal of a state has it, and as --watch creates it again."""
    script = Script.parse("CREATE STREAM s (v INT) FROM poisson WITH (rate = 5);")
    count = "SELECT count(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND]"
    [query] = script.read_statements(f"CREATE QUERY q WITH (scaled = TRUE) AS {count};")
    [plain] = script.read_statements(f"CREATE QUERY q WITH (scaled = false) AS {count};")
    engine = Engine(script.streams, "fifo", Exhaustive())
    change = Change.created(engine.create(query))
    again = Change(**json.loads(json.dumps(change.as_dict())))
    assert again == change
    assert list(script.read_statements(again.statement)) == [query]
    assert list(script.read_statements(query.statement)) == [query]
    assert (query.scaled, plain.scaled) == (True, False)
    assert not same_query(query, plain)
    image = Image({}, {}, {"changes": []}, {}, {})
    image.script = as_waiting([query], image)
    assert left_over(script, image) == [query]
    image.script = as_waiting([plain], image)
    assert left_over(script, image) == [plain]
    image.engine["changes"] = [change.as_dict()]
    assert left_over(script, image) == [plain]
    image.script = as_waiting([query], Image({}, {}, {"changes": []}, {}, {}))
    assert left_over(script, image) == []
