"""Stages of a start: Spark, tables, the check of queries. It can take a minute, so each stage is told."""

import logging
import sys
import threading
from collections.abc import Callable

LOG = logging.getLogger("penstock.start")
PATIENCE_S = 3.0
"""How long a stage may take before it is printed on a terminal, where no function listens."""


class Stages:
    """Tells one stage after another: to the logger `penstock.start` at level INFO, and to a function.

    Where nobody listens and stderr is a terminal, a stage that takes longer than a few seconds is a line there.
    """

    def __init__(self, tell: Callable[[str], object] | None, patience_s: float = PATIENCE_S) -> None:
        self._tell = tell
        self._patience_s = patience_s
        self._late: threading.Timer | None = None

    def __call__(self, text: str) -> None:
        """Begin a stage; the one before is over."""
        self.close()
        LOG.info("%s", text)
        if self._tell is not None:
            self._tell(text)
        elif not LOG.isEnabledFor(logging.INFO) and sys.stderr is not None and sys.stderr.isatty():
            self._late = threading.Timer(self._patience_s, print, [f"penstock: {text} …"], {"file": sys.stderr})
            self._late.daemon = True
            self._late.start()

    def close(self) -> None:
        """End the last stage."""
        if self._late is not None:
            self._late.cancel()
            self._late = None
