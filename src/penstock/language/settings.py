"""SET name = value: all settings, with their descriptions and the checks of their values."""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from penstock.errors import nearest
from penstock.language.values import UNITS_US, Value, duration, size, unit_of


class Roll(NamedTuple):
    """When a result file is closed and a new one started: at a size, or at an age."""

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
                raise ValueError("must be a size, a time or both, such as '64MB', '1 min' or '64MB, 1 min'")
            is_time = unit_of(part).upper() in UNITS_US
            if (time_given if is_time else size_given) is not None:
                raise ValueError(f"{value!r} has two {'times' if is_time else 'sizes'}")
            if is_time:
                time_given = duration(part) / 1e6
            else:
                size_given = size(part)
        if time_given == 0:
            raise ValueError("the time must be above 0")
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


def _rows(value: Value) -> str:
    if value not in ("auto", "resident", "stored"):
        raise ValueError("must be 'auto', 'resident' or 'stored'")
    return str(value)


def _roll(value: Value) -> str:
    Roll.of(value)
    return str(value)


SETTINGS: Mapping[str, tuple[Callable[[Value], Value], str]] = {
    "policy": (_policy, "the scheduling policy, one of those that `penstock policies` lists"),
    "qos": (
        _text,
        "goals for the choice of policy, such as 'minimize avg_response 0.7, minimize queue_size 0.3'",
    ),
    "selector": (_text, "how the policy is chosen by the goals: by default 'foresight'; 'none': not at all"),
    "candidates": (_text, "the policies to choose from, such as 'fifo, bsd.every(20), chain'"),
    "memory": (size, "bytes that may wait in queues before sources stop reading, such as '512MB'"),
    "shed": (
        _truth,
        "whether rows may be dropped under overload; by default if `memory` is set, unless draining",
    ),
    "chunk_rows": (_whole, "maximum number of rows in a chunk"),
    "batch_rows": (
        _whole,
        "maximum rows that a run of a unit takes (limited service); by default all that wait",
    ),
    "groups": (_truth, "whether queries that differ only in constants run as one; by default true"),
    "optimize": (_truth, "whether joins of several streams run in the cheapest order; by default true"),
    "in_flight": (_whole, "the number of jobs that run at the same time"),
    "quantum": (duration, "how long a train of several units may take, such as '500 ms'; 0: one unit per job"),
    "publish": (
        duration,
        "how often results are published to the queries' folders: by default '5 s'; 0: at the end",
    ),
    "roll": (_roll, "when a result file is closed: at a size, an age or both; by default '64MB'"),
    "rows": (
        _rows,
        "where rows are: 'resident' in the driver, 'stored' in files that executors read; by default 'auto'",
    ),
    "commit": (
        duration,
        "with --state: how long finished work may wait to be committed with other work; by default '50 ms'",
    ),
    "state": (size, "with --state: bytes of rows that the state may hold, such as '20GB'; by default no limit"),
    "chunk_time": (duration, "how long generated and socket rows are collected into one chunk, such as '100 ms'"),
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
