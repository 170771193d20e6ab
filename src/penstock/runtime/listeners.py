"""`Listeners`: functions that are told what happens in a run; Python's logging is told, too."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from penstock.language.secrets import masked
from penstock.runtime.summary import Summary

LOG = logging.getLogger("penstock.run")


def _ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Listeners:
    """Functions that are told of events, the current state several times per second, and start-up stages."""

    on_event: Callable[[str], object] = _ignore
    on_tick: Callable[[Summary], object] = _ignore
    on_stage: Callable[[str], object] = _ignore

    def event(self, text: str) -> None:
        """Tell and log an event. Secrets of the script are not shown."""
        self._tell(logging.INFO, text)

    def warning(self, text: str) -> None:
        """Tell and log an event that somebody should look at: something is lost, rejected or stopped."""
        self._tell(logging.WARNING, text)

    def _tell(self, level: int, text: str) -> None:
        text = masked(text)
        LOG.log(level, "%s", text)
        self.on_event(text)
