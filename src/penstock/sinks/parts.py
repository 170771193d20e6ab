"""Parts that are not published yet: their rows, kept in memory for a while or read from their files."""

from collections.abc import Iterable
from pathlib import Path
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL
from penstock.runtime.rows.driver_traffic import TRAFFIC
from penstock.sinks.folder_layout import PartId, Staged

_KEPT_BYTES = 32 * 1000 * 1000


class KeptTables:
    """The rows of the last parts, so that publishing need not read what was just written."""

    def __init__(self) -> None:
        self._tables: dict[PartId, pa.Table] = {}
        self._bytes = 0
        self._lock = Lock()

    def add(self, part: PartId, rows: pa.Table) -> None:
        """Keep the rows of a part, if there is room."""
        with self._lock:
            if self._bytes + rows.nbytes <= _KEPT_BYTES:
                self._tables[part] = rows
                self._bytes += rows.nbytes

    def get(self, part: PartId) -> pa.Table | None:
        """Return the rows of a part, if they are kept."""
        return self._tables.get(part)

    def drop(self, part: PartId) -> None:
        """Forget a part that is published."""
        with self._lock:
            rows = self._tables.pop(part, None)
            self._bytes -= 0 if rows is None else rows.nbytes


def rows_in(files: Iterable[Path]) -> int:
    """Return how many rows parquet files have, by their footers."""
    return sum(int(pq.read_metadata(path).num_rows) for path in files)


def read_part(staged: Staged) -> pa.Table:
    """Read the rows of a part; those of a group have the query's name as a dictionary."""
    with pq.ParquetFile(staged.path, read_dictionary=[QUERY] if staged.place is None else None) as file:
        rows = file.read()
    TRAFFIC.add(read=rows.nbytes)
    return rows.drop_columns([ARRIVAL]) if ARRIVAL in rows.column_names and staged.place is None else rows
