"""`--log-file`: lines with time, level, logger and message; rotation; no secrets; the same for Python users."""

import json
import logging
import re
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.run import log_file
from penstock.cli.run.log_file import logging_to
from penstock.language.secrets import keep_secret
from penstock.runtime.figures_log import FiguresLog
from penstock.runtime.listeners import Listeners
from penstock.runtime.start_stages import Stages

RUN = logging.getLogger("penstock.run")


def test_lines_of_text(tmp_path):
    path = tmp_path / "run.log"
    with logging_to(path, "info", "text"):
        RUN.info("query %s ended", "ö")
        RUN.warning("lost\nand more")
        RUN.debug("nothing")
    RUN.error("after the end")
    lines = path.read_text(encoding="utf-8").splitlines()
    times = [line.partition(" ")[0] for line in lines[:2]]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time) for time in times)
    assert [line.removeprefix(time) for line, time in zip(lines[:2], times, strict=True)] == [
        " INFO penstock.run: query ö ended",
        " WARNING penstock.run: lost",
    ]
    assert lines[2:] == ["  and more"]


@pytest.mark.parametrize(("level", "count"), [("debug", 4), ("info", 3), ("warning", 2), ("error", 1)])
def test_levels_and_json(tmp_path, level, count):
    path = tmp_path / "run.log"
    with logging_to(path, level, "json"):
        logging.getLogger("penstock.state").debug("committed entry 1")
        RUN.info("stage", extra={"figures": {"rows_in": 5}})
        RUN.warning("lost")
        RUN.error("failed")
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(found) == count
    assert found[-1].keys() == {"time", "level", "logger", "text"}
    assert (found[-1]["level"], found[-1]["logger"], found[-1]["text"]) == ("error", "penstock.run", "failed")
    assert count < 3 or found[-3]["rows_in"] == 5


def test_a_later_run_adds_lines(tmp_path):
    path = tmp_path / "run.log"
    for text in ("one", "two"):
        with logging_to(path, "info", "text"):
            RUN.info(text)
    assert len(path.read_text().splitlines()) == 2


def test_the_file_rotates(tmp_path, monkeypatch):
    monkeypatch.setattr(log_file, "FILE_BYTES", 1000)
    monkeypatch.setattr(log_file, "OLDER_FILES", 2)
    path = tmp_path / "run.log"
    with logging_to(path, "info", "text"):
        for number in range(100):
            RUN.info("event number %d", number)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.log", "run.log.1", "run.log.2"]
    assert all(each.stat().st_size <= 1000 for each in tmp_path.iterdir())
    assert "event number 99" in path.read_text()


def test_a_file_that_cannot_be_opened_is_a_wrong_call(tmp_path):
    with (
        pytest.raises(typer.BadParameter, match="cannot be written"),
        logging_to(tmp_path / "no" / "f", "info", "text"),
    ):
        pass


def test_a_full_disk_is_said_once(tmp_path, capsys, monkeypatch):
    with logging_to(tmp_path / "run.log", "info", "text"):
        handler = logging.getLogger("penstock").handlers[-1]

        def fail(record):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(handler, "shouldRollover", fail)
        RUN.info("one")
        RUN.info("two")
    assert capsys.readouterr().err.splitlines() == [
        "penstock: the log file cannot be written: [Errno 28] No space left on device"
    ]


def test_an_error_in_a_script_is_logged_without_its_secrets(tmp_path):
    script, path = tmp_path / "a.sql", tmp_path / "run.log"
    script.write_text(
        "CREATE STREAM s (a INT) FROM structured WITH (format = 'x', `x.key.password` = 'opensesame', y);"
    )
    found = CliRunner().invoke(app, ["run", str(script), "--log-file", str(path)])
    assert found.exit_code == 1
    assert " ERROR penstock.run: " in path.read_text()
    assert "a.sql:1:" in path.read_text()
    for text in (path.read_text(), found.output, str(found.exception)):
        assert "opensesame" not in text


def test_secrets_are_masked_in_every_line(tmp_path):
    keep_secret({"kafka.sasl.jaas.config": 'ScramLoginModule required username="u" password="hunter22";'})
    path, told = tmp_path / "run.log", []
    listeners = Listeners(on_event=told.append)
    with logging_to(path, "debug", "json"):
        listeners.event("cannot log in with hunter22")
        listeners.warning('required username="u" password="hunter22"; is wrong')
        RUN.error("url jdbc:x?user=a&password=other")
    assert told == ["cannot log in with ***", 'required username="u" password=***; is wrong']
    assert not re.search("hunter22|other", path.read_text())


def test_programs_see_the_same_by_ordinary_logging(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="penstock"):
        listeners = Listeners()
        Stages(None)("starting Spark on local[*]")
        listeners.event("query q ended")
        listeners.warning("query q stopped")
    assert [(each.name, each.levelname, each.message) for each in caplog.records] == [
        ("penstock.start", "INFO", "starting Spark on local[*]"),
        ("penstock.run", "INFO", "query q ended"),
        ("penstock.run", "WARNING", "query q stopped"),
    ]
    assert [type(each) for each in logging.getLogger("penstock").handlers] == [logging.NullHandler]


def test_figures_are_logged_at_intervals(caplog):
    now = 0.0
    figures = FiguresLog(10.0, lambda: now)
    with caplog.at_level(logging.INFO, logger="penstock"):
        for step in range(100):
            now = step / 4
            figures.tick(summary(step * 50, step))
    assert caplog.messages == [
        "200 rows in per s, 4 results per s; 2,000 rows in, 40 results, 7 jobs, 12 waiting (0.3 MB), 50% busy",
        "200 rows in per s, 4 results per s; 4,000 rows in, 80 results, 7 jobs, 12 waiting (0.3 MB), 50% busy",
    ]
    assert caplog.records[0].figures["rows_in"] == 2000
    assert caplog.records[0].figures["streams"] == {"s": {"rows": 2000, "late": 1, "malformed": 0}}


def test_figures_can_be_off(caplog):
    now = 0.0
    figures = FiguresLog(0.0, lambda: now)
    with caplog.at_level(logging.INFO, logger="penstock"):
        for step in range(100):
            now = float(step)
            figures.tick(summary(5, 5))
    assert caplog.messages == []


def summary(rows_in, rows_out):
    return SimpleNamespace(
        policy="bsd",
        rows_in=rows_in,
        rows_out=rows_out,
        rows_dropped=0,
        waiting_rows=12,
        waiting_bytes=300_000,
        jobs=7,
        utilization=0.5,
        streams={"s": SimpleNamespace(rows=rows_in, late=1, malformed=0)},
        queries={"q": SimpleNamespace(status="running", outputs=rows_out)},
    )
