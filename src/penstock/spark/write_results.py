"""Results written by executors: one write for a query or a group; only sums come back to the driver."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from penstock.errors import RunError
from penstock.language.names import quoted
from penstock.plan.columns import is_hidden
from penstock.plan.group import QUERY
from penstock.plan.steps import ARRIVAL, MEMBER
from penstock.runtime.result_limits import Limit
from penstock.runtime.rows.written import ArrivalSums, WriteTarget, WrittenResults
from penstock.spark.guarded_fetch import guarded, too_many
from penstock.spark.paths import literal_path
from penstock.spark.shared_files import is_local
from penstock.spark.sources.text_parser import escaped

_SUMS = (
    "count(1) AS n",
    f"min({ARRIVAL}) AS first_us",
    f"sum(({ARRIVAL} - {{0}}L) / 1e6D) AS since_s",
    f"sum((({ARRIVAL} - {{0}}L) / 1e6D) * (({ARRIVAL} - {{0}}L) / 1e6D)) AS squares",
)
_FEW_PARTITIONS = 16
_HOUR_US = 3_600_000_000


def write_results(
    rows: DataFrame, target: WriteTarget, limit: Limit | None, counted: "Counted", tasks: int
) -> WrittenResults:
    """Write results to the target's folder, and return their files and the sums of their arrivals."""
    if target.seen is not None:
        rows = rows.filter(target.seen)
    rows = guarded(rows, limit)
    columns = _columns(rows, target, counted)
    # An observation cannot group. It takes 0.4 s of a job with 20 million results: only to check what is there
    told = counted.columns if target.members is None else ["count(1) AS n"]
    observed = target.members is None or not is_local(rows.sparkSession)
    if observed:
        rows = rows.observe(counted.observation, *map(F.expr, told))
    place = target.folder / "rows"
    with too_many():
        rows.select(*columns).coalesce(tasks).write.parquet(str(place))
    every = sorted(path for path in place.iterdir() if path.name.startswith("part-"))
    counts = {path: pq.read_metadata(path).num_rows for path in every}
    files = tuple(path for path, count in counts.items() if count)
    total = sum(counts.values())
    if observed:
        _check_seen(total, counted.count(), target.folder)
    found: dict[str, ArrivalSums] = {}
    if files and target.members is None:
        found = {target.name: counted.sums(counted.observation.get)}
    elif files:
        found = _sums_of_group(rows, files, counted)
    return WrittenResults(target.folder, files, total, found)


def _check_seen(seen: int, made: int, folder: Path) -> None:
    """Raise an error if some results that executors wrote are not in the driver's folder."""
    if seen != made:
        raise RunError(
            f"executors wrote {made:,} results to {folder}, and {seen:,} of them are there: "
            "all machines must see this folder under the same path"
        )


def _columns(rows: DataFrame, target: WriteTarget, counted: "Counted") -> list[Column]:
    """Return the columns of the files: times without a zone, as the driver writes them.

    The files of a group also have the name of the query and, unless all rows have the same one, the arrival, from
    which its responses follow.
    """
    columns: list[Column] = []
    for column in rows.schema:
        if is_hidden(column.name):
            continue
        plain = _without_zone(column.dataType)
        name = quoted(column.name)
        kept = plain == column.dataType
        columns.append(F.col(name) if kept else F.col(name).cast(plain).alias(column.name))
    if target.members is None:
        return columns
    names = [target.members.get(number, "") for number in range(max(target.members) + 1)]
    listed = ", ".join(f"'{escaped(name)}'" for name in names)
    whose = F.expr(f"element_at(array({listed}), {quoted(MEMBER)} + 1) AS {QUERY}")
    return [whose, *columns, *map(F.col, counted.reads)]


def _without_zone(kind: DataType) -> DataType:
    """Return a type with times that have no zone, also inside it."""
    if isinstance(kind, TimestampType):
        return TimestampNTZType()
    if isinstance(kind, ArrayType):
        return ArrayType(_without_zone(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_without_zone(kind.keyType), _without_zone(kind.valueType), kind.valueContainsNull)
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, _without_zone(f.dataType), f.nullable) for f in kind.fields])
    return kind


def _sums_of_group(rows: DataFrame, files: tuple[Path, ...], counted: "Counted") -> dict[str, ArrivalSums]:
    """Return the sums of each query of a group, from the files."""
    schema = ", ".join([f"{QUERY} STRING", *(f"{name} BIGINT" for name in counted.reads)])
    written = rows.sparkSession.read.schema(schema).parquet(*map(literal_path, files))
    if int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions"))) > _FEW_PARTITIONS:
        written = written.coalesce(1)  # two narrow columns: one task reads them faster than a shuffle starts
    found = written.groupBy(QUERY).agg(*map(F.expr, counted.columns)).toArrow().to_pylist()
    return {each[QUERY]: counted.sums(each) for each in found}


def observed_values(observation: Observation) -> Mapping[str, Any]:
    """Return what was observed; nothing if Spark optimized the rows away and never computed them."""
    try:
        return observation.get
    except Exception:  # classic raises a Java error, Connect has no values
        return {}


class Counted:
    """Counts results by their arrivals: how many have each of a few, or sums over all of them.

    With `arrivals`, a row has the place of its arrival in this list. Otherwise, sums are of the seconds since the
    hour of the job's first arrival: they stay exact, and jobs of the same hour have the same code.
    """

    def __init__(self, arrivals: Sequence[int] | None, first_us: int) -> None:
        self._arrivals = arrivals
        self._hour_us = first_us // _HOUR_US * _HOUR_US
        self.observation = Observation()

    @property
    def reads(self) -> list[str]:
        """The columns from which that is computed: none if all results have the same arrival."""
        return [] if self._arrivals is not None and len(self._arrivals) == 1 else [ARRIVAL]

    @property
    def columns(self) -> list[str]:
        """What is computed of the results."""
        if self._arrivals is None:
            return [each.format(self._hour_us) for each in _SUMS]
        if not self.reads:
            return ["count(1) AS n0"]
        return [f"count_if({ARRIVAL} = {place}) AS n{place}" for place in range(len(self._arrivals))]

    def count(self) -> int:
        """Return how many results were observed; 0 if Spark optimized them away, because there can be none."""
        found = observed_values(self.observation)
        return sum(int(count) for name, count in found.items() if name == "n" or name[1:].isdigit())

    def sums(self, found: Mapping[str, Any]) -> ArrivalSums:
        """Return the sums that follow from the computed columns."""
        if self._arrivals is None:
            return ArrivalSums(
                int(found["n"]),
                float(found["since_s"]),
                float(found["squares"]),
                int(found["first_us"]),
                self._hour_us,
            )
        counts = {arrival: int(found[f"n{place}"]) for place, arrival in enumerate(self._arrivals)}
        return ArrivalSums.counted({arrival: count for arrival, count in counts.items() if count})
