"""The runtime's backend on Spark: runs work as jobs, opens sources, checks queries."""

from collections.abc import Sequence
from pathlib import Path

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
from penstock.runtime.sink import Sink
from penstock.runtime.source import Source
from penstock.runtime.work import Outcome, Work
from penstock.spark.driver_memory import RESULTS_SHARE
from penstock.spark.job_builder import JobBuilder
from penstock.spark.job_errors import explained
from penstock.spark.query_checks import QueryChecks
from penstock.spark.session import check_alive, heap_of, slots_of
from penstock.spark.sources import opened_source
from penstock.spark.sources.context import SourceContext
from penstock.spark.tables import loaded_tables


class SparkBackend:
    """A Spark session with the stored tables of a script."""

    errors: tuple[type[BaseException], ...] = (PySparkException, OSError)

    def __init__(
        self, script: Script, spark: SparkSession, scratch: Path, options: RunOptions, listeners: Listeners
    ) -> None:
        self._spark = spark
        self._places = PlaceChoice(options.rows)
        self._context = SourceContext(
            spark,
            script.folder,
            options.drain,
            options.seconds,
            options.chunk_rows,
            options.chunk_us,
            scratch,
            listeners.on_event,
            options.buffer_bytes,
            self._places,
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
        return JobBuilder(self._frames, work, self._places).run()

    def open_source(self, stream: StreamDef) -> Source:
        """Open the source of a stream; raise `RunError` if that is impossible."""
        return opened_source(stream, self._context)

    def result_schema(self, query: QueryDef, plan: Plan) -> pa.Schema:
        """Check a query with Spark, and return the columns of its results."""
        return self._checks.schema_of(query, plan)

    def may_group(self, template: QueryTemplate) -> bool:
        """Whether the queries of a template have the same columns if they run as one group."""
        return self._checks.may_group(template)

    def explain(self, error: BaseException) -> str:
        """Return the message of a job's error for users."""
        return explained(error)

    def check_alive(self) -> None:
        """Raise `RunError` if Spark no longer answers."""
        check_alive(self._spark)

    def interrupt(self) -> None:
        """Cancel all running jobs."""
        self._spark.interruptAll()


def spark_runtime(
    script: Script,
    spark: SparkSession,
    sinks: Sequence[Sink],
    scratch: Path,
    options: RunOptions | None = None,
    listeners: Listeners | None = None,
    clock: Clock | None = None,
) -> Runtime:
    """Return the runtime of a script on a Spark session. `scratch` is a folder for temporary files."""
    options = options or RunOptions.of(script)
    listeners = listeners or Listeners()
    backend = SparkBackend(script, spark, scratch, options, listeners)
    return Runtime(script, backend, sinks, options, listeners, clock)
