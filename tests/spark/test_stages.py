"""What a start waits for is reported: to a function, a logger, or a terminal that would show nothing for long."""

import io
import logging
import time

import pytest

import penstock.spark as ps
from penstock.runtime.start_stages import Stages


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_function_is_told_every_stage(spark, tmp_path):
    (tmp_path / "t.csv").write_text("k\n1\n")
    script = f"""
        CREATE STREAM s (v INT) FROM poisson WITH (rate = 1000, rows = 5);
        CREATE TABLE t (k INT) FROM csv WITH (path = '{tmp_path / "t.csv"}');
        CREATE QUERY one AS SELECT v FROM s;
        CREATE QUERY two AS SELECT v FROM s JOIN t ON s.v = t.k;
    """
    stages, events = [], []
    ps.run(script, spark=spark, drain=True, on_stage=stages.append, on_event=events.append)
    assert stages == ["reading table t", "checking 2 queries"]
    assert events == []
    ps.run(script, spark=spark, drain=True, on_event=events.append)
    assert events == stages


def test_a_logger_is_told(caplog):
    with caplog.at_level(logging.INFO, logger="penstock"):
        Stages(None)("starting Spark on local[*]")
    assert caplog.messages == ["starting Spark on local[*]"]


@pytest.mark.parametrize("waits", [True, False])
def test_a_terminal_is_told_what_takes_long(monkeypatch, waits):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    stages = Stages(None, patience_s=0.05)
    stages("reading table t")
    stages("starting Spark on local[*]")
    time.sleep(0.3 if waits else 0)
    stages.close()
    assert terminal.getvalue() == ("penstock: starting Spark on local[*] …\n" if waits else "")
