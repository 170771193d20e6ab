"""The runtime's backend on Spark: runs work as jobs, opens sources, checks queries."""

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.language.script import Script
from penstock.language.statements import QueryDef, StreamDef
from penstock.plan.plan import Plan
from penstock.plan.template import QueryTemplate
from penstock.runtime.clock import Clock
from penstock.runtime.listeners import Listeners
from penstock.runtime.loop import Runtime
from penstock.runtime.options import RunOptions
from penstock.runtime.rows.place_choice import PlaceChoice
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.runtime.sink import Sink
from penstock.runtime.source import Source
from penstock.runtime.work import Outcome, Work
from penstock.spark.driver_memory import RESULTS_SHARE
from penstock.spark.job_builder import JobBuilder
from penstock.spark.job_errors import check_room, explained, unreadable_file
from penstock.spark.query_checks import QueryChecks
from penstock.spark.session import check_alive, heap_of, slots_of
from penstock.spark.shared_files import can_write, why_unreadable
from penstock.spark.sources import opened_source
from penstock.spark.sources.context import SourceContext
from penstock.spark.tables import loaded_tables

if TYPE_CHECKING:
    from penstock.storage.store import StateStore


class SparkBackend:
    """A Spark session with the stored tables of a script."""

    errors: tuple[type[BaseException], ...] = (PySparkException, OSError)

    def __init__(
        self,
        script: Script,
        spark: SparkSession,
        scratch: Path,
        options: RunOptions,
        listeners: Listeners,
        store: "StateStore | None" = None,
    ) -> None:
        self._spark = spark
        self._places = PlaceChoice(options.rows)
        stores = options.rows != "resident" and why_unreadable(spark, _probe(scratch, store)) is None
        self.segments = _segments(scratch, options, store) if stores else None
        self._context = SourceContext(
            spark,
            script.folder,
            options.drain,
            options.seconds,
            options.chunk_rows,
            options.chunk_us,
            scratch,
            listeners.event,
            options.buffer_bytes,
            options.has_memory_limit,
            None if store is None else store.folder.path,
            self._places,
            frozenset() if store is None or store.image is None else store.image.files,
        )
        if script.tables:
            what = "table" if len(script.tables) == 1 else "tables"
            listeners.on_stage(f"reading {what} {', '.join(script.tables)}")
        self._frames = loaded_tables(self._context, script.tables)
        self._checks = QueryChecks(self._frames, script.name, grouping=options.groups)
        self.slots = slots_of(spark)
        self.result_bytes = heap_of(spark) * RESULTS_SHARE

    def run(self, work: Work) -> Outcome:
        """Run some work as one Spark job."""
        try:
            return JobBuilder(self._frames, work, self._places, 2 * self.slots).run()
        except Exception as error:
            check_room(error)
            raise

    def open_source(self, stream: StreamDef, position: Mapping[str, Any] | None = None) -> Source:
        """Open the source of a stream, at a position if it goes on; raise `RunError` if that is impossible."""
        return opened_source(stream, self._context, position)

    def result_schema(self, query: QueryDef, plan: Plan) -> pa.Schema:
        """Check a query with Spark, and return the columns of its results."""
        return self._checks.schema_of(query, plan)

    def may_group(self, template: QueryTemplate) -> bool:
        """Whether the queries of a template have the same columns if they run as one group."""
        return self._checks.may_group(template)

    def explain(self, error: BaseException) -> str:
        """Return the message of a job's error for users."""
        return explained(error)

    def unreadable_file(self, error: BaseException) -> Path | None:
        """Return the file that a job could not read, if that is why it failed."""
        return unreadable_file(error)

    def can_write(self, folder: Path) -> bool:
        """Whether what executors write to a folder appears there."""
        return can_write(self._spark, folder)

    def check_alive(self) -> None:
        """Raise `RunError` if Spark no longer answers."""
        check_alive(self._spark)

    def interrupt(self) -> None:
        """Cancel all running jobs, if Spark still answers."""
        with contextlib.suppress(Exception):
            self._spark.interruptAll()


def _segments(scratch: Path, options: RunOptions, store: "StateStore | None") -> SegmentWriter:
    """Return what writes rows for executors: into the scratch folder, or into the state."""
    always = options.rows == "stored"
    if store is None:
        return SegmentWriter(scratch / "segments", always=always)
    return store.segment_writer(always=always)


def _probe(scratch: Path, store: "StateStore | None") -> Path:
    """Return a small file in the folder of segments, to see whether executors can read there."""
    path = (scratch if store is None else store.folder.path) / "probe"
    path.write_text("penstock")
    return path


def spark_runtime(
    script: Script,
    spark: SparkSession,
    sinks: Sequence[Sink],
    scratch: Path,
    options: RunOptions | None = None,
    listeners: Listeners | None = None,
    clock: Clock | None = None,
    store: "StateStore | None" = None,
) -> Runtime:
    """Return the runtime of a script on a Spark session. `scratch` is a folder for temporary files."""
    options = options or RunOptions.of(script)
    listeners = listeners or Listeners()
    backend = SparkBackend(script, spark, scratch, options, listeners, store)
    return Runtime(script, backend, sinks, options, listeners, clock, store)
