"""Times in plain text as Arrow reads them: whole numbers since 1970, and dates with times in ISO 8601.

Like `plain_text` it imports nothing of Penstock, because it is sent to executors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_KIND = pa.timestamp("us", "UTC")
_INTEGER = r"^-?[0-9]{1,18}$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_WITH_ZONE = rf"{_ISO}(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])$"
_WITHOUT_ZONE = rf"{_ISO}$"
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999."""


@dataclass(frozen=True)
class TimeFormat:
    """How times are written. `unit` is that of numbers; `iso`: they are no numbers; None: by their size."""

    unit: str | None = "iso"
    units: Mapping[str, int] = field(default_factory=dict)
    """Nanoseconds of each unit, the largest first."""
    limits: Mapping[str, float] = field(default_factory=dict)
    """Without a given unit, a number below the limit has this unit; the last one has no limit."""


def plain_times(values: pa.ChunkedArray, form: TimeFormat) -> tuple[pa.ChunkedArray, str | None] | None:
    """Return texts or whole numbers as times; None if Spark may read one of them otherwise.

    The second value is the unit of the first number, if its size told it. Times without a zone are in UTC, the
    zone of all Penstock's sessions. Arrow raises ArrowInvalid for a date that does not exist.
    """
    unit = None
    if values.null_count == len(values):
        return pa.chunked_array([pa.nulls(len(values), _KIND)]), None
    if pa.types.is_string(values.type) and _all_match(values, _INTEGER):
        values = values.cast(pa.int64())
    if pa.types.is_integer(values.type):
        scaled = None if form.unit == "iso" else _scaled(values, form)
        if scaled is None:
            return None
        times, unit = scaled
    elif form.unit not in (None, "iso"):
        return None
    elif _all_match(values, _WITH_ZONE):
        times = values.cast(_KIND)
    elif _all_match(values, _WITHOUT_ZONE):
        times = values.cast(pa.timestamp("us")).cast(pa.int64()).cast(_KIND)
    else:
        return None
    span = pc.min_max(times.cast(pa.int64()))
    if span["min"].as_py() < _FIRST_US or span["max"].as_py() > _LAST_US:
        return None
    return times, unit


def _all_match(values: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def _scaled(values: pa.ChunkedArray, form: TimeFormat) -> tuple[pa.ChunkedArray, str | None] | None:
    """Return whole numbers since 1970 as times rounded down, and the unit of the first if its size told it."""
    known = pc.is_valid(values).to_numpy()
    numbers = pc.fill_null(values, 0).to_numpy()
    micros, rest = np.zeros(len(numbers), np.int64), known.copy()
    first, first_unit = int(np.argmax(known)), None
    for unit in form.units if form.unit is None else [form.unit]:
        limit = form.limits.get(unit) if form.unit is None else None
        here = rest if limit is None else rest & (np.abs(numbers) < limit)
        some, scale = numbers[here], form.units[unit] // 1000
        if not scale:
            micros[here] = some // (1000 // form.units[unit])
        elif len(some) and (some.min() < _FIRST_US // scale or some.max() > _LAST_US // scale):
            return None
        else:
            micros[here] = some * scale
        if first_unit is None and here[first]:
            first_unit = unit
        rest = rest & ~here
    times = pa.array(micros, mask=~known).cast(_KIND)
    return pa.chunked_array([times]), first_unit if form.unit is None else None
