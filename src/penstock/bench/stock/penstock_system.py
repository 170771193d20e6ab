"""Penstock as the benchmark runs it: a script over the same folders, with results in files."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.bench.stock.workload import BenchWorkload
from penstock.spark import Running, started
from penstock.spark.session import spark_session


@contextmanager
def penstock_session(heap: str) -> Iterator[SparkSession]:
    """Open a session as Penstock does, with the heap that stock has."""
    with spark_session(settings={"spark.driver.memory": heap}) as spark:
        yield spark


def script_of(workload: BenchWorkload, folder: Path, settings: Mapping[str, str] | None = None) -> str:
    """Return the script: streams, tables, queries. Files of jobs stay as they are: they say when results came.

    >>> from penstock.bench.stock.filters import Filters
    >>> print(script_of(Filters(1), Path("/f")))
    CREATE STREAM s (k INT, v INT, sent BIGINT) FROM files WITH (path = '/f/in/s', format = 'parquet');
    CREATE QUERY q0 AS SELECT k, v, sent FROM s WHERE v >= 0 AND v < 100;
    SET publish = '0 s';
    """
    lines = []
    for stream in workload.streams:
        time_option = f", timestamp = '{stream.timestamp}'" if stream.timestamp else ""
        options = f"path = '{folder}/in/{stream.name}', format = 'parquet'{time_option}"
        lines.append(f"CREATE STREAM {stream.name} ({stream.columns}) FROM files WITH ({options});")
    for name, columns in workload.tables.items():
        lines.append(f"CREATE TABLE {name} ({columns}) FROM parquet WITH (path = '{folder}/{name}.parquet');")
    lines += [f"CREATE QUERY {query.name} AS {query.penstock};" for query in workload.queries]
    values = {"publish": "'0 s'", **(settings or {})}
    return "\n".join([*lines, *(f"SET {name} = {value};" for name, value in values.items())])


class PenstockSystem:
    """A running script, with or without a state."""

    def __init__(
        self,
        spark: SparkSession,
        workload: BenchWorkload,
        folder: Path,
        *,
        has_state: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._spark = spark
        self._script = script_of(workload, folder, settings)
        self._out = folder / "out"
        self._state = folder / "state" if has_state else None
        self._running: Running | None = None

    def start(self) -> None:
        """Start all queries."""
        # The context is never left: the process ends with the case
        self._block = started(self._script, out=self._out, state=self._state, spark=self._spark)
        self._running = self._block.__enter__()

    def settle(self) -> None:
        """Return when everything that is there has been read, processed and written."""
        assert self._running is not None
        self._running.settle()
