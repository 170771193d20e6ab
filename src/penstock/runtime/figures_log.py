"""The figures of a run in Python's logging: every few seconds, and at the end."""

import logging
import time
from collections.abc import Callable
from typing import Any

from penstock.runtime.summary import Summary

LOG = logging.getLogger("penstock.figures")
EVERY_S = 10.0


class FiguresLog:
    """Logs the figures of a run every `every_s` seconds at level INFO; with 0, only at its end.

    The record's attribute `figures` has them as JSON has them.
    """

    def __init__(self, every_s: float = EVERY_S, timer: Callable[[], float] = time.monotonic) -> None:
        self._every_s = every_s
        self._timer = timer
        self._told_s: float | None = None
        self._told = (0, 0)

    def tick(self, summary: Summary) -> None:
        """Log the figures, if they are due."""
        if self._told_s is None:
            self._told_s, self._told = self._timer(), (summary.rows_in, summary.rows_out)
        passed = self._timer() - self._told_s
        if not self._every_s or passed < self._every_s or not LOG.isEnabledFor(logging.INFO):
            return
        rows, results = self._told
        text = (
            f"{(summary.rows_in - rows) / passed:,.0f} rows in per s, "
            f"{(summary.rows_out - results) / passed:,.0f} results per s; {_totals(summary)}, "
            f"{summary.waiting_rows:,} waiting ({summary.waiting_bytes / 1e6:,.1f} MB), "
            f"{summary.utilization:.0%} busy"
        )
        self._told_s, self._told = self._timer(), (summary.rows_in, summary.rows_out)
        LOG.info("%s", text, extra={"figures": figures_of(summary)})

    def end(self, summary: Summary) -> None:
        """Log the summary."""
        text = f"the run ended after {summary.seconds:,.1f} s: {_totals(summary)}"
        LOG.info("%s", text, extra={"figures": summary.as_dict()})


def _totals(summary: Summary) -> str:
    rows, results, jobs = summary.rows_in, summary.rows_out, summary.jobs
    return f"{_counted(rows, 'row')} in, {_counted(results, 'result')}, {_counted(jobs, 'job')}"


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def figures_of(summary: Summary) -> dict[str, Any]:
    """Return the figures of a running script, as JSON has them."""
    return {
        "policy": summary.policy,
        "rows_in": summary.rows_in,
        "rows_out": summary.rows_out,
        "rows_dropped": summary.rows_dropped,
        "waiting_rows": summary.waiting_rows,
        "waiting_bytes": summary.waiting_bytes,
        "jobs": summary.jobs,
        "utilization": round(summary.utilization, 4),
        "streams": {
            name: {"rows": stream.rows, "late": stream.late, "malformed": stream.malformed}
            for name, stream in summary.streams.items()
        },
        "queries": {
            name: {"status": query.status, "results": query.outputs} for name, query in summary.queries.items()
        },
    }
