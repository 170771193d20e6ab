"""Rejected rows are counted by reason, reported once, and kept so that they can be read again."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest

import penstock.spark as ps
from penstock.runtime.admission import REJECTED
from penstock.runtime.rejections import MOST_REASONS, OTHERS, Rejections


def rejected(*rows: tuple[str, str]) -> pa.Table:
    columns = [list(range(len(rows))), [kind for kind, _ in rows], [reason for _, reason in rows]]
    return pa.table([*columns, [f'{{"row": {i}}}' for i in range(len(rows))]], schema=REJECTED)


def test_the_first_reason_of_each_kind_is_reported_and_all_are_counted():
    found = Rejections("dns")
    said = found.take(rejected(("malformed", "no number"), ("late", "3 s older"), ("malformed", "no number")))
    assert said == [
        'stream dns: 2 rows rejected (malformed): no number: {"row": 0}',
        'stream dns: 1 row rejected (late): 3 s older: {"row": 1}',
    ]
    assert found.take(rejected(("late", "4 s older"), ("malformed", "no time"))) == []
    assert (found.late, found.malformed) == (2, 3)
    assert [(each.reason, each.rows, each.example) for each in found.top] == [
        ("no number", 2, '{"row": 0}'),
        ("3 s older", 2, '{"row": 1}'),
        ("no time", 1, '{"row": 1}'),
    ]


def test_a_thousand_reasons_do_not_grow_for_ever():
    found = Rejections("s")
    for number in range(1000):
        found.take(rejected(("malformed", f"file {number} cannot be read")))
    assert found.malformed == 1000
    [others] = [each for each in found.top if each.reason == OTHERS]
    assert others.rows == 1000 - MOST_REASONS


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    """Run a stream with late and malformed rows of every type, and return it with the folder."""
    folder = tmp_path_factory.mktemp("rejected")
    rows = [
        {"at": 1591425399.5, "n": 1, "id": {"h": "a"}, "tags": ["x"], "price": 1.25},
        {"at": 1591425390.5, "n": 2, "id": {"h": "b"}, "tags": [], "price": 2.5},
        {"at": 1591425400, "n": "three", "id": {"h": "c"}},
        {"at": 1591425300, "n": 4},
        {"at": 1591425301, "n": 5},
        {"n": 6},
    ]
    (folder / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    script = """
        CREATE STREAM s (at TIMESTAMP, n INT, h STRING, tags ARRAY<STRING>, price DECIMAL(5,2))
          FROM files WITH (path = '{path}', format = 'json', timestamp = 'at', lateness = '5 s');
        CREATE QUERY q AS SELECT n FROM s;
    """.replace("h STRING", "h STRING PATH 'id.h'")
    events: list[str] = []
    script = script.replace("{path}", str(folder / "in.json"))
    return ps.run(script, spark=spark, drain=True, on_event=events.append), events


def test_a_late_row_says_how_late_it_was(run):
    reasons = [row["reason"] for row in run[0].rejected["s"].to_pylist() if row["kind"] == "late"]
    assert reasons == [
        "9 s older than the newest row before it, and lateness is 5 s",
        "1 min 39 s older than the newest row before it, and lateness is 5 s",
        "1 min 38 s older than the newest row before it, and lateness is 5 s",
    ]


def test_rejected_rows_are_json_that_can_be_fed_back(run):
    rows = [json.loads(row["row"]) for row in run[0].rejected["s"].to_pylist()]
    late = rows[0]
    assert datetime.fromisoformat(late.pop("at")) == datetime.fromtimestamp(1591425390.5, UTC)
    assert late == {"n": 2, "id.h": "b", "tags": [], "price": "2.50"}
    assert rows[1] == {"at": 1591425400, "n": "three", "id": {"h": "c"}}
    assert rows[-1] == {"n": 6}


def test_the_summary_has_reasons_and_says_that_most_rows_were_rejected(run):
    stream = run[0].summary.streams["s"]
    assert [(each.kind, each.rows) for each in stream.reasons] == [("late", 3), ("malformed", 1), ("malformed", 1)]
    assert run[0].summary.rejecting == ("s",)
    assert run[0].summary.as_dict()["streams"]["s"]["reasons"][0]["kind"] == "late"


def test_reasons_and_units_are_reported_as_they_come(run):
    assert any("read as seconds since 1970" in event for event in run[1])
    assert sum("rejected" in event for event in run[1]) == 2
