"""The log of a run without a live view: lines on stderr, as text or as JSON."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import typer

from penstock.cli.run.live_view import RunTime
from penstock.cli.style import plural, rate, size

if TYPE_CHECKING:
    from penstock.runtime.summary import Summary

Log = Literal["text", "json"]
Level = Literal["debug", "info", "warning", "error"]


class EventLines:
    """Writes events to stderr, a line each, and the figures of the run every `every_s` seconds."""

    def __init__(
        self, every_s: float = 0.0, log: Log = "text", timer: Callable[[], float] = time.monotonic
    ) -> None:
        self.latest: Summary | None = None
        self.stopping = False
        self._every_s = every_s
        self._log = log
        self._time = RunTime(timer)
        self._told: tuple[float, int, int] = (0.0, 0, 0)

    def tick(self, summary: "Summary") -> None:
        """Record the current state of the run."""
        self._time.tick(summary.seconds)
        self.latest = summary

    def beat(self) -> None:
        """Write the figures of the run, if they are due. They may be older: the run may be busy."""
        now, latest = self._time.seconds, self.latest
        if latest is None or not self._every_s or now - self._told[0] < self._every_s:
            return
        then, rows, results = self._told
        passed = now - then
        self._told = (now, latest.rows_in, latest.rows_out)
        if self._log == "json":
            from penstock.runtime.figures_log import figures_of

            self._write("progress", **figures_of(latest))
            return
        said = [
            f"{plural(latest.rows_in, 'row')} in ({rate((latest.rows_in - rows) / passed)} per s)",
            f"{plural(latest.rows_out, 'result')} ({rate((latest.rows_out - results) / passed)} per s)",
            f"{latest.waiting_rows:,} waiting ({size(latest.waiting_bytes)})",
            plural(latest.jobs, "job"),
            f"{latest.utilization:.0%} busy",
        ]
        self._write("progress", ", ".join(said))

    def event(self, text: str) -> None:
        """Write an event."""
        self._write("event", text)

    def stage(self, text: str) -> None:
        """Write a stage of the start."""
        self._write("stage", text)

    def error(self, text: str) -> None:
        """Write why the run failed."""
        self._write("error", text)

    def summary(self, summary: "Summary") -> None:
        """Write the summary, if the log is JSON; as text, it is printed elsewhere."""
        if self._log == "json":
            self._write("summary", **summary.as_dict())

    def _write(self, kind: str, text: str | None = None, **figures: object) -> None:
        if self._log == "text":
            when = "penstock: " if kind == "error" else f"{self._time.seconds:.1f} s: " if self.latest else ""
            line = f"{when}{text}"
        else:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            seconds = {"seconds": round(self._time.seconds, 3)} if self.latest else {}
            told = {} if text is None else {"text": text}
            line = json.dumps({"type": kind, "time": at, **seconds, **told, **figures}, ensure_ascii=False)
        typer.echo(line, err=True)
