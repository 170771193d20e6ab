"""SET name = value: the settings there are, what they mean, and what they may be."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from penstock.errors import nearest
from penstock.language.values import UNITS_US, Value, duration, size, unit_of


class Roll(NamedTuple):
    """When a result file is closed and another begun: at a size, or at an age."""

    bytes: int = 64 * 1000 * 1000
    seconds: float = math.inf

    @classmethod
    def of(cls, value: Value) -> "Roll":
        """Return when files are closed, or raise ValueError.

        >>> Roll.of("1MB, 1 min")
        Roll(bytes=1000000, seconds=60.0)
        """
        size_given = time_given = None
        for part in str(value).split(","):
            if not isinstance(value, str) or not unit_of(part):
                raise ValueError("must be a size, a time or both, as '64MB', '1 min' or '64MB, 1 min'")
            is_time = unit_of(part).upper() in UNITS_US
            if (time_given if is_time else size_given) is not None:
                raise ValueError(f"{value!r} has two {'times' if is_time else 'sizes'}")
            if is_time:
                time_given = duration(part) / 1e6
            else:
                size_given = size(part)
        if time_given == 0:
            raise ValueError("a file needs some time to be written: give more than 0")
        return cls(size_given or cls().bytes, time_given or cls().seconds)


def _policy(value: Value) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be the name of a policy, in quotes")
    return value


def _text(value: Value) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string in quotes")
    return value


def _whole(value: Value) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a whole number, 1 or more")
    return value


def _truth(value: Value) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _roll(value: Value) -> str:
    Roll.of(value)
    return str(value)


SETTINGS: Mapping[str, tuple[Callable[[Value], Value], str]] = {
    "policy": (_policy, "the scheduling policy, as `penstock policies` lists them"),
    "qos": (_text, "goals for the choice of the policy, as 'minimize avg_response 0.7, minimize queue_size 0.3'"),
    "selector": (_text, "what chooses the policy by the goals: 'foresight' unless set; 'none': the policy stays"),
    "candidates": (_text, "the policies to choose from, as 'fifo, bsd.every(20), chain'"),
    "memory": (size, "bytes that may wait in queues before sources stop reading, as '512MB'"),
    "shed": (_truth, "whether rows may be dropped under overload; unset: if `memory` is set and nothing drains"),
    "chunk_rows": (_whole, "most rows of a chunk"),
    "batch_rows": (_whole, "most rows one run of a unit takes (limited service); unset: all that wait"),
    "groups": (_truth, "whether queries that differ only in constants run as one; true unless set"),
    "optimize": (_truth, "whether joins of several streams run in the order that costs least; true unless set"),
    "in_flight": (_whole, "how many jobs run at the same time"),
    "quantum": (duration, "how long a train of several units may take, as '500 ms'; 0: one unit a job"),
    "publish": (
        duration,
        "how often results are published to the queries' folders: '5 s' unless set; 0: at the end",
    ),
    "roll": (_roll, "when a result file is closed: at a size, an age or both; '64MB' unless set"),
    "chunk_time": (duration, "how long generated and socket rows are collected into one chunk, as '100 ms'"),
}


def checked_setting(name: str, value: Value) -> Value:
    """Return the value of a setting in its own unit, or raise ValueError.

    >>> checked_setting("memory", "1KB")
    1000
    """
    known = SETTINGS.get(name)
    if known is None:
        hint = nearest(name, SETTINGS) or f" There are {', '.join(SETTINGS)}."
        raise ValueError(f"there is no setting {name!r}.{hint}")
    try:
        return known[0](value)
    except ValueError as error:
        raise ValueError(f"setting {name!r}: {error}") from error
