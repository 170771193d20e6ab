"""A thread that reads a folder of results all the time, as DuckDB, pyarrow and `penstock.read` do.

A read must not fail, must not find a row twice, and must find every row that an earlier read of its kind found.
"""

import glob
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.sinks.read import read

ID_BITS = 21
"""Bits of an id; three of them are one number."""
LASTING_S = 1.5
"""A problem that is still there after this time is a lasting one."""
AGAIN_S = 0.1
SHARE = 0.25
"""The largest share of the time that is spent reading."""
MOST_TOLD = 3
"""Problems that are kept of each kind, query and way to read."""


class NothingYetError(Exception):
    """There is no result of a query yet."""


@dataclass(frozen=True)
class Problem:
    """What a reader found that must not be: doubled, vanished or unreadable."""

    kind: str
    way: str
    query: str
    detail: str
    at_s: float
    lasts_s: float
    """How long it was seen; `LASTING_S` or more: until the reader gave up."""

    @property
    def is_lasting(self) -> bool:
        return self.lasts_s >= LASTING_S

    def __str__(self) -> str:
        until = "and stays" if self.is_lasting else f"for {self.lasts_s:.2f} s"
        return f"{self.way} at {self.at_s:.1f} s, {self.query}: {self.kind} ({until}): {self.detail}"


def keys_of(columns: Sequence[pa.ChunkedArray]) -> np.ndarray:
    """One number for each row, from its ids."""
    found = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        found = (found << ID_BITS) | column.to_numpy()
    return found


class Reader(threading.Thread):
    """Reads the results of queries until `stop`; `queries` has the columns of each that hold ids."""

    def __init__(self, out: Path, queries: Mapping[str, Sequence[str]]) -> None:
        super().__init__(name="reader", daemon=True)
        self._out = out
        self._queries = queries
        self._database = duckdb.connect(config={"threads": 1})
        self._database.execute("SET enable_external_file_cache = false")
        self._seen: dict[tuple[str, str], np.ndarray] = {}
        self._told: Counter[tuple[str, str, str]] = Counter()
        self._ending = threading.Event()
        self._began = time.monotonic()
        self.reads: Counter[str] = Counter()
        """Reads that found a file, by way."""
        self.problems: list[Problem] = []
        self.rows_seen = 0

    def run(self) -> None:
        while not self._ending.is_set():
            began = time.monotonic()
            self._round()
            spent = time.monotonic() - began
            self._ending.wait(max(spent / SHARE - spent, 0.02))

    def stop(self) -> None:
        """End, after each way read each query once more."""
        self._ending.set()
        self.join()
        self._round()
        self._database.close()

    def _round(self) -> None:
        for way, reading in WAYS.items():
            for query, columns in self._queries.items():
                if columns:  # otherwise rows may be equal
                    self._look(way, reading, query, columns)
        self.rows_seen = sum(len(keys) for (way, _), keys in self._seen.items() if way == "duckdb")

    def _look(self, way: str, reading: "Reading", query: str, columns: Sequence[str]) -> None:
        at = time.monotonic()
        found = self._problem(way, reading, query, columns)
        if found is None:
            return
        again: tuple[str, str] | None = found
        while again is not None and time.monotonic() - at < LASTING_S:
            time.sleep(AGAIN_S)
            again = self._problem(way, reading, query, columns)
        kind, detail = found
        lasts_s = time.monotonic() - at
        self._told[kind, way, query] += 1
        if self._told[kind, way, query] <= MOST_TOLD:
            told_s = lasts_s if again is not None else min(lasts_s, LASTING_S - 0.01)
            self.problems.append(Problem(kind, way, query, detail, at - self._began, told_s))
        if again is not None and kind == "vanished":
            self._seen.pop((way, query), None)  # told once

    def _problem(self, way: str, reading: "Reading", query: str, columns: Sequence[str]) -> tuple[str, str] | None:
        """Read once; return what is wrong with it."""
        seen = self._seen.get((way, query), np.empty(0, np.int64))
        try:
            keys = np.sort(keys_of(reading(self._database, self._out, query, columns)))
        except NothingYetError:
            if way in self.reads and len(seen):
                return "vanished", f"{len(seen)} rows: there are no results any more"
            return None
        except Exception as error:
            return "unreadable", f"{type(error).__name__}: {str(error)[:300]}"
        self.reads[way] += 1
        twice = keys[1:][keys[1:] == keys[:-1]]
        if len(twice):
            return "doubled", f"{len(twice)} of {len(keys)} rows, the first with ids {ids(twice[0], columns)}"
        gone = np.setdiff1d(seen, keys, assume_unique=True)
        if len(gone):
            return "vanished", f"{len(gone)} of {len(seen)} rows, the first with ids {ids(gone[0], columns)}"
        self._seen[way, query] = keys
        return None


def ids(key: int, columns: Sequence[str]) -> list[int]:
    """The ids that a key was made of."""
    places = range(len(columns) - 1, -1, -1)
    return [int(key) >> (ID_BITS * place) & ((1 << ID_BITS) - 1) for place in places]


Reading = Callable[[duckdb.DuckDBPyConnection, Path, str, Sequence[str]], list[pa.ChunkedArray]]


def by_duckdb(
    database: duckdb.DuckDBPyConnection, out: Path, query: str, columns: Sequence[str]
) -> list[pa.ChunkedArray]:
    shown = ", ".join(columns)
    try:
        rows = database.sql(f"SELECT {shown} FROM read_parquet('{out / query}/*.parquet')").to_arrow_table()
    except duckdb.IOException as error:
        if "No files found" in str(error):
            raise NothingYetError from error
        raise
    return rows.columns


def by_pyarrow(_: object, out: Path, query: str, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    paths = sorted(glob.glob(f"{glob.escape(str(out / query))}/*.parquet"))
    if not paths:
        raise NothingYetError
    tables = []
    for path in paths:
        with pq.ParquetFile(path) as file:
            tables.append(file.read(columns=list(columns)).select(list(columns)))
    return pa.concat_tables(tables).columns


def by_penstock(_: object, out: Path, query: str, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    try:
        return read(out, query).select(list(columns)).columns
    except RunError as error:
        if "there is no folder" in str(error) or "there are no results" in str(error):
            raise NothingYetError from error
        raise


WAYS: Mapping[str, Reading] = {"duckdb": by_duckdb, "pyarrow": by_pyarrow, "penstock": by_penstock}
