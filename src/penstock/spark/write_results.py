"""Results written by executors: one write for a query or a group; only sums come back to the driver."""

import re
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from penstock.language.names import named, quoted
from penstock.plan.columns import is_hidden
from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL
from penstock.plan.template import MEMBER
from penstock.runtime.result_limits import Limit
from penstock.runtime.rows.written import ArrivalSums, WriteTarget, WrittenResults
from penstock.spark.guarded_fetch import guarded, too_many
from penstock.spark.sources.paths import for_spark

_SUMS = (
    "count(1) AS n",
    "sum((__a - {0}L) / 1e6D) AS since_s",
    "sum(((__a - {0}L) / 1e6D) * ((__a - {0}L) / 1e6D)) AS squares",
    f"min({ARRIVAL}) AS first_us",
)


def write_results(
    rows: DataFrame, target: WriteTarget, limit: Limit | None, reference_us: int, tasks: int
) -> WrittenResults:
    """Write results to the target's folder, and return their files and the sums of their arrivals."""
    if target.seen is not None:
        rows = rows.filter(target.seen)
    rows = guarded(rows, limit)
    sums = [F.expr(each.format(reference_us)) for each in _SUMS]
    observed = Observation()
    columns = _columns(rows, target)
    if target.members is None:
        rows = rows.observe(observed, *sums)
    place = target.folder / "rows"
    writer = rows.selectExpr(*columns).coalesce(tasks).write
    with too_many():
        writer.parquet(str(place))
    files = tuple(sorted(path for path in place.iterdir() if path.name.startswith("part-")))
    counts = [pq.read_metadata(path).num_rows for path in files]
    files = tuple(path for path, count in zip(files, counts, strict=True) if count)
    found: dict[str, ArrivalSums] = {}
    if files and target.members is None:
        found = {target.name: _sums(observed.get, reference_us)}
    elif files:
        found = _sums_of_group(rows, files, reference_us)
    return WrittenResults(target.folder, files, sum(counts), found)


def _columns(rows: DataFrame, target: WriteTarget) -> list[str]:
    """Return the columns of the files: times without a zone, as the driver writes them.

    The files of a group also have the name of the query, and the arrival, from which its responses follow.
    """
    columns = []
    for column in rows.schema:
        if is_hidden(column.name):
            continue
        kind = column.dataType.simpleString()
        plain = re.sub(r"\btimestamp\b", "timestamp_ntz", kind)
        name = quoted(column.name)
        columns.append(name if plain == kind else named(f"CAST({name} AS {plain})", column.name))
    if target.members is None:
        return columns
    names = [target.members.get(number, "") for number in range(max(target.members) + 1)]
    listed = ", ".join(f"'{_escaped(name)}'" for name in names)
    return [f"element_at(array({listed}), {quoted(MEMBER)} + 1) AS {QUERY}", *columns, ARRIVAL]


def _sums_of_group(rows: DataFrame, files: tuple[Path, ...], reference_us: int) -> dict[str, ArrivalSums]:
    """Return the sums of each query of a group, from the files: an observation cannot group."""
    session = rows.sparkSession
    written = session.read.schema(f"{QUERY} STRING, {ARRIVAL} BIGINT").parquet(*map(for_spark, files))
    sums = [F.expr(each.format(reference_us)) for each in _SUMS]
    # Two narrow columns: one task reads them faster than a shuffle starts
    found = written.coalesce(1).groupBy(QUERY).agg(*sums).toArrow().to_pylist()
    return {each[QUERY]: _sums(each, reference_us) for each in found}


def _sums(found: dict[str, float], reference_us: int) -> ArrivalSums:
    return ArrivalSums(
        int(found["n"]), float(found["since_s"]), float(found["squares"]), int(found["first_us"]), reference_us
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
