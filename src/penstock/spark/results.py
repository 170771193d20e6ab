"""`read`: the results that a run wrote."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.errors import RunError, nearest


def read(out: str | Path, query: str) -> pa.Table:
    """Return all rows that a run wrote for a query, as an Arrow table.

    `out` is the folder given to `penstock run --out` or `run(out=…)`.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise RunError(f"there is no folder {str(out)!r} with results")
    place = folder / f"query={query}"
    if "/" in query or not place.is_dir():
        names = [path.name.removeprefix("query=") for path in folder.glob("query=*")]
        raise RunError(f"there are no results of a query {query!r} in {str(out)!r}.{nearest(query, names)}")
    files = sorted(path for path in place.glob("*.parquet") if not path.name.startswith("."))
    if not files:
        raise RunError(f"query {query!r} has no file in {str(out)!r} yet")
    return pa.concat_tables([pq.ParquetFile(path).read() for path in files])
