"""Results as the systems wrote them: totals by window, and when each file was committed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.bench.aggregates.case import OURS
from penstock.bench.aggregates.window_totals import Numbers, Totals, totals_of_rows
from penstock.bench.stock.outputs import CommittedFile, grouped_files, one_each_files, penstock_files

_COLUMNS = ("k", "n", "s", "window_end")


@dataclass(frozen=True)
class ResultTotals:
    """What a file of results has, and when it was committed."""

    committed: float
    totals: Totals


class ResultReader:
    """Reads what a system wrote, file by file, each file once."""

    def __init__(self, system: str, out: Path) -> None:
        self._files = _files_of(system)
        self._out = out
        self._read: set[Path] = set()

    def new_results(self) -> list[ResultTotals]:
        """Return files that were not read before; Penstock publishes those of a crashed run when it goes on."""
        files = [file for file in self._files(self._out) if file.path not in self._read]
        self._read |= {file.path for file in files}
        return [ResultTotals(file.committed, _totals(file)) for file in files]


def _files_of(system: str) -> Callable[[Path], Iterator[CommittedFile]]:
    if system in OURS:
        return penstock_files
    return one_each_files if system.startswith("each") else grouped_files


def _totals(file: CommittedFile) -> Totals:
    columns = [*_COLUMNS, *([] if file.by is None else [file.by])]
    # Read as a file, not as a data set: the name of a folder above it must not become a column
    table = pq.ParquetFile(file.path).read(columns=columns)
    k, n, s = (table.column(name).to_numpy().astype(np.int64) for name in ("k", "n", "s"))
    ends = pc.cast(table.column("window_end"), pa.timestamp("us"), safe=False).cast(pa.int64()).to_numpy()
    return totals_of_rows(_queries(table, file), ends, k, n, s)


def _queries(table: pa.Table, file: CommittedFile) -> Numbers:
    """Return the number of the query of each row."""
    if file.by is None:
        return np.full(table.num_rows, int(file.query.removeprefix("q")), np.int64)
    column = table.column(file.by)
    if pa.types.is_integer(column.type):
        whole: Numbers = column.to_numpy().astype(np.int64)
        return whole
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    numbers = np.array([int(name.removeprefix("q")) for name in coded.dictionary.to_pylist()], np.int64)
    found: Numbers = numbers[coded.indices.to_numpy()]
    return found
