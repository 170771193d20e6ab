"""What a run says to Python's logging beside its events: why it failed, and its figures."""

import logging
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.language.secrets import masked
from penstock.runtime.figures_log import FiguresLog
from penstock.runtime.summary import Summary
from penstock.spark.job_errors import explained

LOG = logging.getLogger("penstock.run")
Tick = Callable[[Summary], object]


def log_error(error: BaseException) -> None:
    """Log why a run failed, in one line; at level DEBUG with a traceback if it was not on purpose."""
    if isinstance(error, PenstockError):
        LOG.error("%s", masked(str(error)))
    elif isinstance(error, Exception):
        text = f"{type(error).__name__}: {explained(error)}"
        LOG.error("%s", text, exc_info=error if LOG.isEnabledFor(logging.DEBUG) else None)


def ticks_of(figures: FiguresLog, on_tick: Tick | None) -> Tick:
    """Return a function that logs the figures, and tells them to another function if there is one."""
    if on_tick is None:
        return figures.tick

    def tell(summary: Summary) -> None:
        figures.tick(summary)
        on_tick(summary)

    return tell
