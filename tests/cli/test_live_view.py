"""The live view and the figures at the end, drawn from made-up summaries."""

from dataclasses import replace

import pyarrow as pa
import pytest
from rich.console import Console

from penstock.cli.run.live_view import LiveView
from penstock.cli.run.log_lines import EventLines
from penstock.cli.run.summary_tables import Examples, show_figures
from penstock.plan.probe_orders import JoinSummary
from penstock.runtime.policy_control import SelectionSummary
from penstock.runtime.rejections import Reason
from penstock.runtime.summary import QuerySummary, StreamSummary, Summary

JOIN = JoinSummary(
    orders={"a": ("c", "b")}, utilization=0.04, best={"a": ("c", "b")}, at_best=0.04,
    written={"a": ("b", "c")}, as_written=0.125, rates={"a": 5.0}, selectivities={"a,b": 0.5},
)  # fmt: skip


def stream(rows, **changes):
    figures = {
        "late": 0,
        "malformed": 0,
        "waiting_rows": 450,
        "waiting_bytes": 7200,
        "kept_bytes": 0,
        "lag_s": 0.31,
    }
    return StreamSummary(rows=rows, **(figures | {"ended": False, "held": False} | changes))


def query(outputs, status="running", reason=""):
    spread = {f"{what}_{of}": 1.5 for what in ("avg", "max", "l2", "recent") for of in ("response", "slowdown")}
    return QuerySummary(
        status=status, reason=reason, first={"packets": 0}, end={"packets": 5000}, outputs=outputs, **spread
    )


def summary(seconds, streams, queries, **changes):
    figures = {
        "policy": "bsd",
        "mode": "normal",
        "jobs": 40,
        "utilization": 0.93,
        "deciding": 0.01,
        "waiting_rows": 1234,
    }
    figures |= {"waiting_bytes": 2_345_678, "peak_bytes": 9_000_000, "abandoned_rows": 0, "setup_s": 0.05}
    figures |= {"stream_seconds": seconds, "demand": 0.9}
    return Summary(seconds=seconds, streams=streams, queries=queries, joins={}, **(figures | changes))


def drawn(thing, width=80, height=24):
    console = Console(width=width, height=height)
    with console.capture() as capture:
        console.print(thing)
    return capture.get().splitlines()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (100, 40), (200, 50)])
@pytest.mark.parametrize(("streams", "queries"), [(1, 1), (3, 8), (12, 300)])
def test_the_view_fits_the_terminal(width, height, streams, queries):
    view = LiveView("traffic.sql", "for 15 s", lambda: 0.0)
    for seconds in range(1, 6):
        view.tick(
            summary(
                float(seconds),
                {f"stream_{i}": stream(2000 * seconds) for i in range(streams)},
                {f"query_{i}": query(10 * i * seconds) for i in range(queries)},
            )
        )
    for number in range(6):
        view.event(f"query {number} begins at packets 12345, and this is a rather long text that has to be cut")
    lines = drawn(view, width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert any("2,000" in line for line in lines)  # rows/s, over the last seconds
    assert lines[-1].startswith("    5.0 s  query 5")
    shown = sum(line.startswith("query_") for line in lines)
    assert shown == queries or f"and {queries - shown} more" in "\n".join(lines)


def test_who_chose_the_policy_and_how_long_each_ran(tmp_path):
    qos = SelectionSummary(
        goals="minimize avg_response 1",
        selector="foresight",
        policies={"bsd": 0.25, "hnr": 0.75},
        switches=1,
        failed={"odd": "ValueError: no"},
    )
    streams, queries = {"packets": stream(2000)}, {f"query_{i}": query(10) for i in range(40)}
    for pinned, words in ((False, "bsd by foresight  "), (True, "bsd, pinned  ")):
        now = summary(1.0, streams, queries, qos=replace(qos, pinned=pinned))
        view = LiveView("traffic.sql", "for 15 s")
        view.tick(now)
        lines = drawn(view)
        assert len(lines) <= 24
        assert words in lines[0]
        assert lines[2] == "minimize avg_response 1; hnr 75%, bsd 25%; 1 switch"
        console = Console(width=120)
        with console.capture() as capture:
            show_figures(console, "traffic.sql", now, None)
        assert f"under {words.strip()}" in capture.get()
        assert "minimize avg_response 1: hnr 75%, bsd 25%; 1 switch" in capture.get()
        assert "statistic odd raised ValueError: no" in capture.get()


def test_rates_are_of_the_last_seconds_and_begin_anew_with_a_query():
    view = LiveView("a.sql", "until Ctrl-C")
    for seconds, outputs in ((1.0, 5000), (10.0, 5000), (12.0, 100)):
        view.tick(summary(seconds, {"s": stream(1000)}, {"q": query(outputs)}))
    line = next(line for line in drawn(view) if line.startswith("q "))
    assert line.split()[:3] == ["q", "100", "9.1"]


def test_figures_tell_what_went_wrong_and_where_rows_are(tmp_path):
    console = Console(width=80)
    reasons = (Reason("late", "4 s older", 3, "{'v': 1}"),)
    streams = {"packets": stream(5000, late=3, malformed=2, reasons=reasons)}
    queries = {"big": query(10), "bad": query(0, "failed", "Division by zero [DIVIDE_BY_ZERO]")}
    with console.capture() as capture:
        found = summary(15.0, streams, queries, abandoned_rows=77)
        show_figures(console, "a.sql", replace(found, joins={"join.1": JOIN}), tmp_path / "out")
    text = " ".join(capture.get().split())
    assert "packets 0 to 5,000" in text
    assert "packets: 5 of 5,000 rows were rejected" in text
    assert "3 late: 4 s older e.g. {'v': 1}" in text
    assert "_rejected/packets" in text.replace(" ", "")
    assert "77 rows not processed" in text
    assert "join.1 in the optimizer's order: 4 % of the machine at the streams' rates, 12.5 % as written" in text
    assert "query bad failed and was stopped: Division by zero" in text


def test_examples_keep_only_the_last_results():
    examples = Examples()
    for start in range(0, 1000, 100):
        examples.take("q", pa.table({"x": list(range(start, start + 100)), "[y]": [None] * 100}))
    console = Console(width=80)
    with console.capture() as capture:
        examples.show(console, summary(1.0, {}, {"q": query(1000), "r": query(0)}))
    text = capture.get()
    assert "q: the last of 1,000 results" in text
    assert [line.split()[0] for line in text.splitlines()[2:7]] == ["995", "996", "997", "998", "999"]
    assert "r:" not in text


def test_what_is_dropped_is_shown_while_it_runs_and_at_the_end():
    packets = stream(5000, dropped=3210, kept=1790, keep=0.36, boxes=((0, 1.0), (17, 0.36)))
    big = replace(query(7), dropped={"packets": 3210})
    queries = {"big": big, "small": query(3), "estimate": replace(big, scaled=True)}
    then = summary(20.0, {"packets": packets, "replies": stream(80)}, queries)
    view = LiveView("traffic.sql", "until Ctrl-C")
    view.tick(then)
    lines = drawn(view)
    assert any("dropped" in line for line in lines)
    assert any("packets" in line and "3,210" in line and "36% kept" in line for line in lines)
    console = Console(width=100)
    with console.capture() as capture:
        show_figures(console, "traffic.sql", then, None)
    text = capture.get()
    assert "3,210 rows dropped to shed load" in text
    assert "big: without 3,210 of packets\n" in text
    assert "estimate: without 3,210 of packets; counts, sums and averages are scaled for them" in text
    assert "small: without" not in text
    assert then.as_dict()["rows_dropped"] == 3210


def test_panes_are_shown_with_what_waits():
    then = summary(2.0, {"s": stream(10)}, {"q": query(1)}, pane_bytes=3_000_000, peak_pane_bytes=4_000_000)
    view = LiveView("traffic.sql", "until Ctrl-C")
    view.tick(then)
    assert any("waiting 1,234 rows, 2.35 MB; panes 3 MB" in line for line in drawn(view))
    console = Console(width=100)
    with console.capture() as capture:
        show_figures(console, "traffic.sql", then, None)
    assert "peak queue memory 9 MB, of panes 4 MB; set-up" in capture.get()


def test_time_goes_on_while_the_run_says_nothing():
    """A file that takes ten seconds to read: the clock on the screen runs, and events have the true time."""
    now = [100.0]
    view = LiveView("traffic.sql", "until Ctrl-C", lambda: now[0])
    view.tick(summary(2.0, {"s": stream(10)}, {"q": query(1)}))
    now[0] += 10.0
    view.event("query q stopped: Division by zero.")
    lines = drawn(view)
    assert " 12.0 s, until Ctrl-C" in lines[0]
    assert lines[-1].startswith("   12.0 s  query q stopped")


def test_lines_have_the_true_time(capsys):
    now = [100.0]
    lines = EventLines(timer=lambda: now[0])
    lines.tick(summary(2.0, {}, {}))
    now[0] += 10.0
    lines.event("query q ended")
    assert capsys.readouterr().err == "12.0 s: query q ended\n"


def test_examples_may_have_times_that_python_has_no_date_for():
    examples = Examples()
    examples.take("q", pa.table({"t": pa.array([253_402_300_800_000_000], pa.timestamp("us", "UTC"))}))
    assert examples._rows["q"] == [{"t": "253402300800000000"}]
