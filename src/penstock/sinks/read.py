"""`read`: return the results that runs wrote to a folder."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import RunError, nearest
from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL
from penstock.sinks.folder_layout import GROUPS, PartId, parts_in, staged_in
from penstock.sinks.manifest import Manifest
from penstock.sinks.rolling_files import HeldParts
from penstock.sinks.schemas import fitted, plain, schema_of

_TRIES = 100
_OLDER_QUERY = "query"
"""The column with the query's name in files of groups of an older Penstock."""


def read(out: str | Path, query: str) -> pa.Table:
    """Return all results of a query in a folder, as an Arrow table.

    `out` is the folder given to `penstock run --out` or `run(out=…)`. Each row is returned once, also while a run
    writes to the folder, and after a run that did not finish.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise RunError(f"there is no folder {str(out)!r} with results")
    columns = Manifest.read(folder).queries
    older = [path.name.removeprefix("query=") for path in folder.glob("query=*") if path.is_dir()]
    if query in columns:
        return _read(folder, query, schema_of(columns[query]))
    if query in older:
        return _read_older(folder, query)
    raise RunError(
        f"there are no results of a query {query!r} in {str(out)!r}.{nearest(query, [*columns, *older])}"
    )


def _read(folder: Path, query: str, schema: pa.Schema) -> pa.Table:
    for _ in range(_TRIES):
        # In this order, a part that is published in between is found twice rather than missed
        staged = list(_staged(folder, query))
        try:
            published = list(_published(folder / query))
        except FileNotFoundError:  # a file was merged with another in between
            continue
        until = max((held.until for held, _ in published), default=(0, 0))
        tables = [rows for held, rows in published if not any(other.contains(held) for other, _ in published)]
        tables += [rows for part, rows in staged if part > until]
        return pa.concat_tables([schema.empty_table(), *(fitted(rows, schema) for rows in tables)])
    raise RunError(f"the files of query {query!r} keep changing while they are read; try again")


def _published(place: Path) -> Iterator[tuple[HeldParts, pa.Table]]:
    for part, path in parts_in(place):
        with pq.ParquetFile(path) as file:
            yield HeldParts.of(file, part), file.read()


def _staged(folder: Path, query: str) -> Iterator[tuple[PartId, pa.Table]]:
    """Return the unpublished parts of a query; a file that is published before it is read is skipped."""
    for each in staged_in(folder):
        if each.place in (None, query):
            try:
                with pq.ParquetFile(each.path) as file:
                    rows = file.read()
            except FileNotFoundError:
                continue
            rows = _of_query(rows, QUERY, query) if each.place is None else rows
            if rows.num_rows:  # a group without rows of the query may have other columns
                yield each.part, rows


def _of_query(rows: pa.Table, column: str, query: str) -> pa.Table:
    own = [name for name in (column, ARRIVAL) if name in rows.column_names]
    return rows.filter(pc.equal(rows.column(column), query)).drop_columns(own)


def _read_older(folder: Path, query: str) -> pa.Table:
    """Return results of an older Penstock, without a manifest: in ``query=NAME``, and in the files of groups."""
    files = sorted((folder / f"query={query}").glob("[!.]*.parquet"))
    tables = [pq.ParquetFile(path).read() for path in files]
    for path in sorted((folder / GROUPS).glob("*/[!.]*.parquet")):
        if not any(_holds(each, path) for each in files):
            rows = _of_query(pq.ParquetFile(path).read(), _OLDER_QUERY, query)
            tables += [rows] if rows.num_rows else []  # a group without rows of the query may have other columns
    if not tables:
        raise RunError(f"query {query!r} has no file in {str(folder)!r}")
    schema = plain(tables[0].schema)
    return pa.concat_tables([fitted(rows, schema) for rows in tables])


def _holds(published: Path, part: Path) -> bool:
    """Whether a published file holds the rows of a group's file: its name has its first and last part."""
    group, *parts = published.stem.split(".")
    return group == part.parent.name and parts[0] <= part.stem <= parts[-1]
