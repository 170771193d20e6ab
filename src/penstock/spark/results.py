"""`read`: the results that a run wrote."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.errors import RunError, nearest
from penstock.language.group import QUERY
from penstock.spark.sinks import GROUPS


def read(out: str | Path, query: str) -> pa.Table:
    """Return all rows that a run wrote for a query, as an Arrow table.

    `out` is the folder given to `penstock run --out` or `run(out=…)`. Rows that its group wrote and that are not
    published yet are among them.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise RunError(f"there is no folder {str(out)!r} with results")
    place = folder / f"query={query}"
    if "/" in query or not place.is_dir():
        names = [path.name.removeprefix("query=") for path in folder.glob("query=*")]
        raise RunError(f"there are no results of a query {query!r} in {str(out)!r}.{nearest(query, names)}")
    unpublished = list(_unpublished(folder, query))
    files = sorted(path for path in place.glob("*.parquet") if not path.name.startswith("."))
    tables = [rows for path, rows in unpublished if not any(_holds(each, path) for each in files)]
    tables += [pq.ParquetFile(path).read() for path in files]
    if not tables:
        raise RunError(f"query {query!r} has no file in {str(out)!r} yet")
    return pa.concat_tables(tables)


def _unpublished(folder: Path, query: str) -> Iterator[tuple[Path, pa.Table]]:
    """Return the rows of a query in files of groups; a file may be published and gone before it is read."""
    for path in sorted((folder / GROUPS).glob("*/[!.]*.parquet")):
        try:
            table = pq.ParquetFile(path).read()
        except FileNotFoundError:
            continue
        rows = table.filter(pc.equal(table.column(QUERY), query)).drop_columns([QUERY])
        if rows.num_rows:
            yield path, rows


def _holds(published: Path, part: Path) -> bool:
    """Whether a published file holds the rows of a file of a group: it is named after the first and the last."""
    group, *parts = published.stem.split(".")
    return group == part.parent.name and parts[0] <= part.stem <= parts[-1]
