"""Rows of generated streams: random values for columns of any simple type, many thousand at once.

| type | values | options of column `x` |
|---|---|---|
| integers | whole, from low (0) to high (1499) | `x_low`, `x_high`, `x_zipf` |
| floats | from low (0.0) to below high (1.0) | `x_low`, `x_high` |
| decimals | from low (0) to high (1499), with all their digits | `x_low`, `x_high` |
| strings, binary | `x0`, `x1`, … of distinct (100) values | `x_distinct`, `x_zipf` |
| booleans | true as often as false | |
| timestamps, dates | whole seconds since 1970, low (0) to high (1499) | `x_low`, `x_high`, `x_zipf` |

With `zipf`, an exponent above 1, small values are frequent and large ones rare. BBDM03 and SCLP08 §8 draw
attributes uniformly, so that a predicate has a chosen selectivity: `bytes > 1199` passes a fifth of 0 … 1499.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from penstock.errors import ArrivalError
from penstock.workloads.checks import whole
from penstock.workloads.values import ValueOptions, booleans, decimals, floats, integers, moments, strings

Columns: TypeAlias = Sequence[tuple[str, pa.DataType]]
Maker: TypeAlias = Callable[[pa.DataType, int, np.random.Generator, ValueOptions], pa.Array]

TEXT = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())

_MAKERS: tuple[tuple[Callable[[pa.DataType], bool], Maker, tuple[str, ...]], ...] = (
    (pa.types.is_integer, integers, ("low", "high", "zipf")),
    (pa.types.is_floating, floats, ("low", "high")),
    (pa.types.is_decimal, decimals, ("low", "high")),
    (pa.types.is_boolean, booleans, ()),
    (lambda kind: pa.types.is_timestamp(kind) or pa.types.is_date(kind), moments, ("low", "high", "zipf")),
    (lambda kind: kind in TEXT, strings, ("distinct", "zipf")),
)
"""The types, the functions that make their values, and the options of each."""


def made_rows(
    columns: Columns, count: int, rng: np.random.Generator, options: Mapping[str, object] | None = None
) -> pa.Table:
    """Return `count` random rows; `options` for anything but these columns are ignored.

    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> columns = [("src", pa.string()), ("bytes", pa.int32())]
    >>> made_rows(columns, 2, rng, {"src_distinct": 3, "bytes_low": 40}).to_pylist()
    [{'src': 'src1', 'bytes': 1142}, {'src': 'src1', 'bytes': 1427}]
    """
    length = whole(count, "the number of rows to make")
    arrays = {}
    for name, kind in columns:
        if name in arrays:
            raise ArrivalError(f"the column {name!r} occurs twice in a stream")
        maker, settings = _maker(name, kind)
        given = {key: options[f"{name}_{key}"] for key in settings if options and f"{name}_{key}" in options}
        arrays[name] = maker(kind, length, rng, ValueOptions(name, given))
    return pa.table(arrays)


def row_options(columns: Columns) -> set[str]:
    """Return the names of the options that `made_rows` understands for these columns.

    >>> sorted(row_options([("src", pa.string()), ("bytes", pa.int32()), ("ok", pa.bool_())]))
    ['bytes_high', 'bytes_low', 'bytes_zipf', 'src_distinct', 'src_zipf']
    """
    return {f"{name}_{setting}" for name, kind in columns for setting in _maker(name, kind)[1]}


def _maker(name: str, kind: pa.DataType) -> tuple[Maker, tuple[str, ...]]:
    for matches, maker, settings in _MAKERS:
        if matches(kind):
            return maker, settings
    raise ArrivalError(f"values of type {kind} cannot be made for the column {name!r}")
