"""Random values of one column, one function per type."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import ArrivalError
from penstock.network.numbers import Number, checked, exact
from penstock.workloads.checks import MOST, number, whole
from penstock.workloads.skew import zipf

Random: TypeAlias = np.random.Generator

HIGH = 1499
"""The largest integer by default: about the payload of an Ethernet frame."""

DISTINCT = 100
TABLE = 100_000
"""Up to this number of distinct strings, they are made once and then looked up."""

TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
DAY = 86_400


@dataclass(frozen=True)
class ValueOptions:
    """The options given for a column: low, high, distinct, zipf."""

    column: str
    given: Mapping[str, object] = field(default_factory=dict)

    def range(self, least: int, most: int) -> tuple[int, int]:
        """Return (low, high) in whole numbers; only defaults are adapted to the limits of the type."""
        low = max(least, 0)
        high = min(most, HIGH)
        if "low" in self.given:
            low = whole(self.given["low"], f"{self.column}_low", least, most)
        if "high" in self.given:
            high = whole(self.given["high"], f"{self.column}_high", least, most)
        self.check(low, high)
        return low, high

    def check(self, low: Number, high: Number) -> None:
        """Raise if `low` is above `high`."""
        if low > high:
            raise ArrivalError(
                f"the values of column {self.column!r} go from {low} to {high}, which is lower: "
                f"set {self.column}_low and {self.column}_high"
            )

    def pick(self, random: Random, count: int, choices: int) -> npt.NDArray[np.int64]:
        """Return random numbers below `choices`: uniform, or Zipf."""
        if "zipf" not in self.given:
            return random.integers(choices, size=count, dtype=np.uint64).astype(np.int64)
        exponent = number(self.given["zipf"], f"{self.column}_zipf", above=1)
        return zipf(random, exponent, choices, count)


def integers(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return whole numbers from low to high; unsigned ones of 64 bits use 63 of them."""
    bits = kind.bit_width
    signed = pa.types.is_signed_integer(kind)
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return pa.array(_between(count, random, settings, least, min(most, MOST))).cast(kind)


def floats(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return numbers from low to below high."""
    dtype = np.dtype(kind.to_pandas_dtype())
    low = number(settings.given.get("low", 0.0), f"{settings.column}_low")
    high = number(settings.given.get("high", 1.0), f"{settings.column}_high")
    settings.check(low, high)
    with np.errstate(over="ignore"):
        ends = np.array([low, high]).astype(dtype)
        if not np.isfinite(ends).all():
            raise ArrivalError(
                f"{low:g} to {high:g} is out of range for {kind}, the type of column {settings.column!r}"
            )
    values = (low + (high - low) * random.random(count)).astype(dtype)
    return pa.array(np.minimum(values, np.nextafter(ends[1], ends[0])))  # rounding may reach high


def decimals(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return decimals from low to high with as many random digits as 64 bits hold, zeros after them."""
    limit = 10 ** (kind.precision - kind.scale) - Fraction(1, 10**kind.scale)
    ends = {"low": Fraction(0), "high": min(limit, Fraction(HIGH))}
    for end in ends.keys() & settings.given.keys():
        ends[end] = exact(checked(settings.given[end], f"{settings.column}_{end}", error=ArrivalError))
    low, high = ends["low"], ends["high"]
    settings.check(low, high)
    largest = max(abs(low), abs(high))
    if largest > min(limit, MOST // 10):
        raise ArrivalError(f"{low} to {high} is out of range for {kind}, the type of column {settings.column!r}")
    digits = min(kind.scale, 18 - len(str(int(largest))))
    unscaled = random.integers(ceil(low * 10**digits), floor(high * 10**digits), size=count, endpoint=True)
    words = np.stack([unscaled, unscaled >> 63], axis=1)  # 128 bits: the number, then its sign
    made = pa.Array.from_buffers(pa.decimal128(38, digits), count, [None, pa.py_buffer(words)])
    return made.cast(kind)


def booleans(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return true and false, equally often."""
    return pa.array(random.random(count) < 0.5)


def moments(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return timestamps or dates, from whole seconds since 1970."""
    if pa.types.is_timestamp(kind):
        ticks = TICKS[kind.unit]
        seconds = _between(count, random, settings, -(MOST // ticks), MOST // ticks)
        return pa.array(seconds * ticks).cast(kind)
    limit = min(MOST // 1000, (2**31 - 1) * DAY)
    days = _between(count, random, settings, -limit, limit) // DAY
    return pa.array(days.astype(np.int32)).cast(pa.date32()).cast(kind)


def strings(kind: pa.DataType, count: int, random: Random, settings: ValueOptions) -> pa.Array:
    """Return ``<column><k>`` for k below distinct."""
    distinct = whole(settings.given.get("distinct", DISTINCT), f"{settings.column}_distinct", least=1)
    picked = pa.array(settings.pick(random, count, distinct))
    if distinct <= TABLE:
        return _names(settings.column, distinct).take(picked).cast(kind)
    return _named(settings.column, picked).cast(kind)


@lru_cache(maxsize=32)
def _names(column: str, distinct: int) -> pa.Array:
    return _named(column, pa.array(np.arange(distinct)))


def _named(column: str, numbers: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(column, numbers.cast(pa.string()), "")


def _between(count: int, random: Random, settings: ValueOptions, least: int, most: int) -> npt.NDArray[np.int64]:
    low, high = settings.range(least, most)
    return low + settings.pick(random, count, high - low + 1)
