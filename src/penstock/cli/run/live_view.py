"""The live view of a run in the terminal."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, NONE, STATUS, plural, rate, ratio, seconds, size

if TYPE_CHECKING:
    from penstock.runtime.policy_control import SelectionSummary
    from penstock.runtime.summary import QuerySummary, StreamSummary, Summary

EVENTS = 4
"""Events in view."""

RATE_S = 3.0
"""Seconds over which rates are computed."""

_AROUND = 2 + 2 * 3 + 1
"""Lines beside streams, queries and events: two on top, a blank and two heads for each table, a blank."""
_LEAST_ROOM = 6
_WIDEST = 24


class RunTime:
    """Time since a run began: as last reported, plus the time since that report.

    The run reports nothing while it reads a large file or waits for Spark.
    """

    def __init__(self, timer: Callable[[], float]) -> None:
        self._timer = timer
        self._said, self._at = 0.0, timer()

    def tick(self, seconds: float) -> None:
        """Record the time that the run reports."""
        self._said, self._at = seconds, self._timer()

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return self._said + self._timer() - self._at


class LiveView:
    """The state of a run as rich draws it. `tick` and `event` come from the run's thread, drawing from another."""

    def __init__(self, title: str, goal: str, timer: Callable[[], float] = time.monotonic) -> None:
        self._title = title
        self._time = RunTime(timer)
        self._goal = goal
        self._ticks: deque[Summary] = deque()
        self._events: deque[str] = deque(maxlen=EVENTS)
        self.stopping = False

    @property
    def latest(self) -> "Summary | None":
        """The last reported state of the run."""
        return self._ticks[-1] if self._ticks else None

    def tick(self, summary: "Summary") -> None:
        """Record the current state of the run."""
        self._time.tick(summary.seconds)
        ticks = self._ticks.copy()  # another thread may be drawing the old ones
        ticks.append(summary)
        while len(ticks) > 2 and ticks[1].seconds < summary.seconds - RATE_S:
            ticks.popleft()
        self._ticks = ticks

    def event(self, text: str) -> None:
        """Record an event."""
        when = f"{self._time.seconds:7.1f} s  " if self._ticks else ""
        for line in text.splitlines():  # an error in a script has three
            self._events.append(when + line)
            when = " " * len(when)

    def beat(self) -> None:
        """Do nothing: rich redraws the view all the time."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the view, no higher than the terminal."""
        ticks = self._ticks
        if not ticks:
            yield _cut(f"{self._title}: running, {self._goal}")
            return
        then, now = ticks[0], ticks[-1]
        passed = now.seconds - then.seconds
        events = list(self._events)
        room = (options.height or console.height) - 1 - _AROUND - len(events) - (now.qos.goals is not None)
        if room < _LEAST_ROOM:
            room, events = room + len(events), []
        narrow = options.max_width < 80
        width = min(max(map(len, (*now.streams, *now.queries)), default=0), _WIDEST)
        yield from self._header(now)
        yield Text()
        most = len(now.streams) if len(now.streams) <= room // 2 else max(room // 2 - 1, 1)
        yield _streams(now.streams, _grown(_rows(now), _rows(then), passed), most, width, narrow)
        yield Text()
        room -= most + (most < len(now.streams))
        yield _queries(now.queries, _grown(_outputs(now), _outputs(then), passed), max(room, 2), width, narrow)
        yield Text()
        for text in events:
            yield _cut(text, style="dim")

    def _header(self, now: "Summary") -> Iterable[Text]:
        goal = "stopping after the running job" if self.stopping else self._goal
        mode = "" if now.mode == "normal" else f" ({now.mode} memory)"
        mode += chosen_by(now.qos)
        first = Text(self._title, style="bold").append(f"  {now.policy}{mode}  ", style="not bold cyan")
        first.append(f"{self._time.seconds:,.1f} s", style="not bold").append(f", {goal}", style="not bold dim")
        waiting = f"waiting {plural(now.waiting_rows, 'row')}, {size(now.waiting_bytes)}"
        waiting += f"; panes {size(now.pane_bytes)}" if now.pane_bytes else ""
        yield _cut(first)
        yield _cut(f"{plural(now.jobs, 'job')}, {now.utilization:.0%} busy, {waiting}")
        if now.qos.goals is not None:
            yield _cut(f"{now.qos.goals}; {policy_shares(now.qos)}", style="dim")


def chosen_by(qos: "SelectionSummary") -> str:
    """Return who chose the policy; an empty text where there was nothing to choose."""
    if qos.goals is None:
        return ""
    return ", pinned" if qos.pinned else f" by {qos.selector}" if qos.selector != "none" else ""


def policy_shares(qos: "SelectionSummary") -> str:
    """Return how long each policy ran, the longest first, and how often they changed."""
    shares = sorted(qos.policies.items(), key=lambda item: -item[1])
    ran = ", ".join(f"{name} {share:.0%}" for name, share in shares)
    return f"{ran}; {plural(qos.switches, 'switch', 'switches')}"


def _streams(
    streams: "Mapping[str, StreamSummary]", rates: Mapping[str, float], most: int, width: int, narrow: bool
) -> Table:
    away = [] if narrow else ["late", "malformed"]
    dropped = any(stream.dropped for stream in streams.values())
    if dropped and not narrow:
        away.append("dropped")
    table = _table("stream", width, ["rows in", "rows/s", "waiting", "lag s", *away, ""])
    names = list(streams)
    if len(names) > most:
        names.sort(key=lambda name: -streams[name].waiting_bytes)
    for name in names[:most]:
        stream = streams[name]
        state = Text("ended", style="dim") if stream.ended else Text("held" if stream.held else "", style="yellow")
        turned = [] if narrow else [_warning(stream.late), _warning(stream.malformed)]
        if dropped and not narrow:
            turned.append(_warning(stream.dropped))
        lag = NONE if stream.lag_s is None else seconds(stream.lag_s)
        figures = [f"{stream.rows:,}", rate(rates[name]), f"{stream.waiting_rows:,}", lag]
        if stream.keep < 1:
            state = Text(f"{stream.keep:.0%} kept", style="yellow")
        table.add_row(name, *figures, *turned, state)
    if len(names) > most:
        table.add_row(Text(f"and {len(names) - most:,} more", style="dim"))
    return table


def _queries(
    queries: "Mapping[str, QuerySummary]", rates: Mapping[str, float], room: int, width: int, narrow: bool
) -> Table:
    table = _table(
        "query", width, ["results", "per s", "response s", "slowdown", *([] if narrow else ["average s"]), ""]
    )
    names = list(queries)
    most = len(names) if len(names) <= room else max(room - 1, 1)
    if most < len(names):
        names.sort(key=lambda name: (-queries[name].recent_slowdown, -queries[name].outputs))
    for name in names[:most]:
        query = queries[name]
        status = Text(query.status, style=STATUS.get(query.status, ""))
        if query.outputs:
            recent, average = seconds(query.recent_response), seconds(query.avg_response)
            figures = [f"{query.outputs:,}", rate(rates[name]), recent, ratio(query.recent_slowdown), average]
        else:
            figures = ["0", rate(0), "–", "–", "–"]
        table.add_row(name, *figures[: 4 if narrow else 5], status)
    if most < len(names):
        table.add_row(Text(f"and {len(names) - most:,} more", style="dim"))
    return table


def _table(name: str, width: int, columns: Iterable[str]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, **COMPACT)
    table.add_column(name, no_wrap=True, overflow="ellipsis", min_width=max(width, 11))
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True, min_width=len(column) or 7)
    return table


def _warning(count: int) -> Text:
    return Text(f"{count:,}", style="yellow" if count else "")


def _cut(text: str | Text, style: str = "") -> Text:
    """Return a line that is cut at the terminal's edge: wrapping would move everything below."""
    line = Text(text, style=style) if isinstance(text, str) else text
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def _rows(summary: "Summary") -> dict[str, int]:
    return {name: stream.rows for name, stream in summary.streams.items()}


def _outputs(summary: "Summary") -> dict[str, int]:
    return {name: query.outputs for name, query in summary.queries.items()}


def _grown(now: Mapping[str, int], then: Mapping[str, int], passed: float) -> dict[str, float]:
    """Return the growth per second; what began anew since then counts from 0."""
    if passed <= 0:
        return dict.fromkeys(now, 0.0)
    before = {name: then[name] if name in then and then[name] <= count else 0 for name, count in now.items()}
    return {name: (count - before[name]) / passed for name, count in now.items()}
