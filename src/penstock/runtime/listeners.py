"""`Listeners`: functions that are told what happens in a run."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.runtime.summary import Summary


def _ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Listeners:
    """Functions that are told of events, the current state several times per second, and start-up stages."""

    on_event: Callable[[str], object] = _ignore
    on_tick: Callable[[Summary], object] = _ignore
    on_stage: Callable[[str], object] = _ignore
