"""What a run says on stderr without a terminal, with time moved by hand."""

import json

import pytest

from penstock.cli.run.log_lines import EventLines
from tests.cli.test_live_view import query, stream, summary


class Hand:
    def __init__(self, every_s: float, log: str) -> None:
        self.now = 50.0
        self.lines = EventLines(every_s, log, lambda: self.now)

    def go(self, seconds: float, step: float = 0.5) -> None:
        for _ in range(round(seconds / step)):
            self.now += step
            self.lines.beat()


def test_figures_come_every_ten_seconds_though_the_run_says_nothing(capsys):
    hand = Hand(10, "text")
    hand.go(20)  # Spark starts: there is nothing to say
    hand.lines.tick(summary(1.0, {"s": stream(2000)}, {"q": query(40)}))
    hand.go(30)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "10.0 s: 2,000 rows in (200 per s), 40 results (4.0 per s), 1,234 waiting (2.35 MB), 40 jobs, 93% busy",
        "20.0 s: 2,000 rows in (0.0 per s), 40 results (0.0 per s), 1,234 waiting (2.35 MB), 40 jobs, 93% busy",
        "30.0 s: 2,000 rows in (0.0 per s), 40 results (0.0 per s), 1,234 waiting (2.35 MB), 40 jobs, 93% busy",
    ]


def test_figures_can_be_off(capsys):
    hand = Hand(0, "text")
    hand.lines.tick(summary(1.0, {}, {}))
    hand.go(30)
    assert capsys.readouterr().err == ""


def test_lines_as_json(capsys):
    hand = Hand(10, "json")
    hand.lines.stage("starting Spark on local[*]")
    hand.lines.tick(summary(1.0, {"s": stream(2000)}, {"q": query(40)}))
    hand.lines.event("query ö ended")
    hand.go(10)
    hand.lines.error("the run broke off")
    hand.lines.summary(summary(11.0, {"s": stream(2000)}, {"q": query(40)}))
    said = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [each["type"] for each in said] == ["stage", "event", "progress", "error", "summary"]
    assert said[0].keys() == {"type", "time", "text"}
    assert (said[1]["seconds"], said[1]["text"]) == (1.0, "query ö ended")
    progress = said[2]
    assert progress["seconds"] == pytest.approx(10.0)
    assert (progress["rows_in"], progress["rows_out"], progress["jobs"]) == (2000, 40, 40)
    assert progress["queries"] == {"q": {"status": "running", "results": 40}}
    assert said[4]["queries"]["q"]["outputs"] == 40
    assert all(each["time"].endswith("Z") for each in said)
