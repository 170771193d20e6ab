"""Reads the results of a drain in a process of its own, so that the measured one does not grow by it.

``python -m penstock.bench.scale.check`` reads a spec from stdin, and removes the results.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.bench.processes import Reporter
from penstock.bench.scale.case import OURS
from penstock.bench.scale.query_set import Sum, row_hashes
from penstock.sinks.read import read

_BY = "query"
"""The column of the query's number, where one pass wrote the results of several."""


def main() -> None:
    """Count what is in the folder that stdin names."""
    spec = json.load(sys.stdin)
    reporter = Reporter()
    out = Path(spec["out"])
    found = found_in(out, spec["system"], spec["queries"], spec["hashed"])
    shutil.rmtree(out)
    reporter.result(found)


def found_in(out: Path, system: str, queries: list[str], hashed: list[str]) -> dict[str, Sum]:
    """Return the number of results of each query and the sum of their hashes."""
    found = dict.fromkeys(queries, (0, 0))
    for query, rows in _tables(out, system, queries, [*hashed, _BY]):
        hashes = row_hashes(rows[hashed[0]].to_numpy(), rows[hashed[1]].to_numpy())
        if query is None:
            numbers = rows[_BY].to_numpy()
            counts = np.bincount(numbers, minlength=len(queries)).tolist()
            sums = np.bincount(numbers, weights=hashes, minlength=len(queries)).tolist()
            added = {
                f"q{i}": (count, int(total)) for i, (count, total) in enumerate(zip(counts, sums, strict=True))
            }
        else:
            added = {query: (rows.num_rows, int(hashes.sum()))}
        for name, (count, total) in added.items():
            found[name] = (found[name][0] + count, found[name][1] + total)
    return found


def _tables(
    out: Path, system: str, queries: list[str], columns: list[str]
) -> Iterator[tuple[str | None, pa.Table]]:
    """Yield tables of results with the query that they are of; None for those with a column that says it."""
    if system in OURS:
        for query in queries:
            yield query, read(out, query)
        return
    for path in out.rglob("*.parquet"):
        with pq.ParquetFile(path) as file:
            by = _BY in file.schema_arrow.names
            rows = file.read([name for name in columns if name in file.schema_arrow.names])
        name = path.parent.name if system == "each" else queries[0]
        yield None if by else name, rows


if __name__ == "__main__":
    main()
