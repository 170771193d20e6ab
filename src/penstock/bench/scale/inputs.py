"""Input files of a case, and the results that its queries must give, computed by numpy."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from penstock.bench.scale.query_set import (
    LEVEL,
    ROWS_PER_SECOND,
    QuerySet,
    Sum,
    row_hashes,
    store_table,
    stored_table,
)
from penstock.bench.stock.filters import VALUES

Ints = npt.NDArray[np.int32]

_BEGIN_US = 1_700_000_000_000_000
_STEP_US = 1_000_000 // ROWS_PER_SECOND
_KEYS_PER_WINDOW_ROW = 100
"""Keys of a window join for each row of a window: a row finds another in one of fifty cases."""
_WORDS = pa.array([f"word{number * 7919 % 1000:03d}" for number in range(1000)])


@dataclass(frozen=True)
class ScaleInput:
    """What the files hold: one stream `s`, or with `window_rows` two streams `a` and `b` that share the rows."""

    rows: int
    file_rows: int
    file_format: str = "parquet"
    window_rows: int = 0
    seed: int = 1

    @property
    def streams(self) -> tuple[str, ...]:
        """The names of the streams."""
        return ("a", "b") if self.window_rows else ("s",)


@dataclass
class MadeInput:
    """Files that were made, and what is known of their rows."""

    files: int
    arrow_bytes: dict[str, int]
    """Bytes of each column in memory, as Arrow."""
    file_bytes: int
    by_value: npt.NDArray[np.int64]
    """For each `v`: the number of rows and the sum of their hashes."""
    by_key: npt.NDArray[np.int64]
    """Likewise for each `k`; both only of one stream."""
    pairs: Sum
    """The results of the window join."""

    def expected(self, queries: QuerySet) -> dict[str, Sum]:
        """Return the number of results of each query and the sum of their hashes."""
        if queries.kind == "window":
            return {"q0": self.pairs}
        if queries.kind == "table":
            table = stored_table()
            level = table["level"].to_numpy() == LEVEL
            return {"q0": _sum_of(self.by_key[:, table["k"].to_numpy()[level]])}
        return {f"q{i}": _sum_of(self.by_value[:, lo:hi]) for i, (lo, hi) in enumerate(queries.constants)}


def make_input(wanted: ScaleInput, folder: Path) -> MadeInput:
    """Write the files of all streams below a folder, and the stored table."""
    random = np.random.default_rng(wanted.seed)
    made = MadeInput(0, {}, 0, np.zeros((2, VALUES), np.int64), np.zeros((2, VALUES), np.int64), (0, 0))
    share = wanted.rows // len(wanted.streams)
    kept: dict[str, list[tuple[Ints, Ints]]] = {name: [] for name in wanted.streams}
    for name in wanted.streams:
        (folder / name).mkdir(parents=True)
        for number, first in enumerate(range(0, share, wanted.file_rows)):
            table = _rows(wanted, first, min(wanted.file_rows, share - first), random)
            place = folder / name / f"{number:06d}.{wanted.file_format}"
            _write(table, place)
            made.files += 1
            made.file_bytes += os.path.getsize(place)
            for column in table.column_names:
                made.arrow_bytes[column] = made.arrow_bytes.get(column, 0) + table[column].nbytes
            kept[name].append((table["k"].to_numpy(), table["v"].to_numpy()))
    store_table(folder)
    if wanted.window_rows:
        made.pairs = joined_pairs(_joined(kept["a"]), _joined(kept["b"]), wanted.window_rows)
    else:
        for keys, values in kept["s"]:
            hashes = row_hashes(keys, values)
            made.by_value += _sums_by(values, hashes)
            made.by_key += _sums_by(keys, hashes)
    return made


def _joined(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    return np.concatenate([keys for keys, _ in parts]), np.concatenate([values for _, values in parts])


def _rows(wanted: ScaleInput, first: int, count: int, random: np.random.Generator) -> pa.Table:
    """Return rows of a stream, from number `first` on; times are evenly spaced."""
    keys = _KEYS_PER_WINDOW_ROW * wanted.window_rows or VALUES
    columns: dict[str, Any] = {
        "k": random.integers(0, keys, count, dtype=np.int32),
        "v": random.integers(0, VALUES, count, dtype=np.int32),
        "word": _WORDS.take(pa.array(random.integers(0, len(_WORDS), count, dtype=np.int32))),
        "amount": random.integers(0, 1_000_000, count) / 100,
    }
    if wanted.window_rows:
        times = _BEGIN_US + _STEP_US * np.arange(first, first + count, dtype=np.int64)
        columns = {"at": pa.array(times, pa.timestamp("us", tz="UTC")), **columns}
    return pa.table(columns)


def _write(table: pa.Table, place: Path) -> None:
    if place.suffix == ".parquet":
        pq.write_table(table, place)
    elif place.suffix == ".csv":
        pyarrow.csv.write_csv(table, place)
    else:
        place.write_bytes(_json_lines(table.combine_chunks()))


def _json_lines(table: pa.Table) -> bytes:
    r"""Return rows of numbers and plain words as JSON, one object per line.

    >>> _json_lines(pa.table({"k": [1, 2], "word": ["x", "y"]}))
    b'{"k":1,"word":"x"}\n{"k":2,"word":"y"}\n'
    """
    parts: list[Any] = []
    for name in table.column_names:
        quote = '"' if pa.types.is_string(table[name].type) else ""
        parts += [f'{"," if parts else "{"}"{name}":{quote}', table[name].cast(pa.string()).chunk(0)]
        parts.append(quote)
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    data = lines.buffers()[2]
    return bytes(data)[: pc.sum(pc.binary_length(lines)).as_py()]


def _sums_by(values: Ints, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    counts = np.bincount(values, minlength=VALUES)
    sums = np.bincount(values, weights=hashes, minlength=VALUES)  # below 2^53: exact
    return np.stack([counts, sums.astype(np.int64)])


def _sum_of(sums: npt.NDArray[np.int64]) -> Sum:
    count, total = sums.sum(axis=1).tolist()
    return count, total


def joined_pairs(left: tuple[Ints, Ints], right: tuple[Ints, Ints], window_rows: int) -> Sum:
    """Return the sum over pairs of rows with the same key, at most a window apart; each side is (keys, values).

    >>> keys, values = np.array([1, 1, 2], np.int32), np.array([5, 6, 7], np.int32)
    >>> joined_pairs((keys, values), (keys, values), 1)[0], joined_pairs((keys, values), (keys, values), 0)[0]
    (5, 3)
    """
    # A row's time is its number, so (key, number) in one integer finds all rows of a key in a range of times
    size = max(len(left[0]), len(right[0])) + 2 * window_rows + 1
    codes = right[0].astype(np.int64) * size + np.arange(len(right[0]))
    order = np.argsort(codes)
    codes = codes[order]
    wanted = left[0].astype(np.int64) * size
    numbers = np.arange(len(left[0]))
    begins = np.searchsorted(codes, wanted + np.maximum(numbers - window_rows, 0), side="left")
    ends = np.searchsorted(codes, wanted + numbers + window_rows, side="right")
    counts = ends - begins
    total = int(counts.sum())
    # The place of each pair in `codes`: from `begins` on, as many as `counts` says
    places = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begins, counts)
    hashes = row_hashes(np.repeat(left[1], counts), right[1][order[places]])
    return total, int(hashes.sum())
