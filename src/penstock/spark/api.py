"""`run` and `started`: run scripts from Python."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import RunEndedError, RunError, nearest
from penstock.language.script import Script
from penstock.policies import Policy
from penstock.qos import Goals
from penstock.runtime.clock import WallClock
from penstock.runtime.defaults import PUBLISH_OF_STATE_US
from penstock.runtime.options import RunOptions
from penstock.runtime.sink import Sink
from penstock.runtime.start_stages import Stages
from penstock.sinks.callback_sink import Callback, CallbackSink
from penstock.sinks.memory_sink import MemorySink
from penstock.sinks.ndjson_sink import NdjsonSink
from penstock.sinks.parquet_sink import ParquetSink
from penstock.sinks.screen_sink import ScreenSink
from penstock.spark.session import LOCAL, prepared, spark_session

if TYPE_CHECKING:
    from penstock.runtime.figures_log import FiguresLog
    from penstock.runtime.loop import Runtime
    from penstock.runtime.summary import Summary
    from penstock.storage.started import StartedState

_NEEDED_NEXT = ("penstock.spark.backend", "scipy.optimize")
"""What a run needs once Spark has started; Python loads it while Java starts."""


class Running:
    """A script that runs in the background. Use it in a `with` statement, or call `stop` or `wait`."""

    def __init__(
        self,
        runtime: "Runtime",
        memory: MemorySink | None,
        figures: "FiguresLog | None" = None,
        out: Path | None = None,
    ) -> None:
        self._runtime = runtime
        self.memory = memory
        self.out = out
        """The folder of the results, if they go to files; a state knows it from run to run."""
        self._figures = figures
        self._summary: Summary | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._go, name="penstock", daemon=True)
        self._thread.start()

    def _go(self) -> None:
        try:
            summary = self._runtime.run()
            if self._figures is not None:
                self._figures.end(summary)
            self._summary = summary
        except BaseException as error:
            _log_error(error)
            self._error = error

    def execute(self, sql: str, timeout: float | None = 60.0) -> list[str]:
        """Create or drop queries, or set the policy, qos, selector or candidates; return what happened.

        The answer has the sequence numbers at which a query begins, or before which it ends. A query whose name
        a dropped one has begins when that has ended. After `timeout` seconds TimeoutError is raised, and what
        was asked for is still done.
        """
        if not self._thread.is_alive():
            raise RunEndedError("the run has ended") from self._error
        return self._runtime.execute(sql, timeout)

    @property
    def alive(self) -> bool:
        """Whether the script still runs."""
        return self._thread.is_alive()

    def summary(self) -> "Summary":
        """Return the current state of the run."""
        return self._summary or self._runtime.summary()

    @property
    def results(self) -> Mapping[str, pa.Table]:
        """Results so far, by query, if they are kept in memory."""
        if self.memory is None:
            raise RunError("results are not kept in memory: they went to `out`, `on_rows` or `show`")
        return self.memory.results

    @property
    def rejected(self) -> Mapping[str, pa.Table]:
        """Rejected rows so far, by stream, if results are kept in memory."""
        return {} if self.memory is None else self.memory.rejected

    def settle(self, timeout: float | None = None) -> None:
        """Wait until everything that has arrived by now is read, drained as far as possible, and written."""
        try:
            self._runtime.settle().result(timeout)
        except TimeoutError as error:
            raise RunError(f"the run has not settled after {timeout} s") from error

    def end_soon(self) -> None:
        """Ask the run to end, as `stop` does, and return at once."""
        self._runtime.stop()

    def stop(self) -> "Summary":
        """End the run: running jobs finish, waiting rows are abandoned."""
        self._runtime.stop()
        return self.wait()

    def wait(self, timeout: float | None = None) -> "Summary":
        """Wait until the run has ended."""
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        if self._summary is None:
            raise RunError(f"the run has not ended after {timeout} s")
        return self._summary

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._thread.is_alive():
            self._runtime.stop()
            self._thread.join()


class RunKeywords(TypedDict, total=False):
    """The keyword arguments of `run` and `started`."""

    out: str | Path | None
    overwrite: bool
    append: bool
    state: str | Path | None
    take_over: bool
    on_rows: Callback | None
    show: bool | Literal["table", "ndjson"]
    policy: str | Policy | None
    qos: Goals | str | Mapping[str, float] | None
    selector: str | None
    drain: bool
    seconds: float | None
    chunk_rows: int | None
    batch_rows: int | None
    master: str | None
    remote: str | None
    spark: SparkSession | None
    conf: Mapping[str, object] | None
    spark_log: bool
    on_event: Callable[[str], object] | None
    on_tick: "Callable[[Summary], object] | None"
    on_stage: Callable[[str], object] | None
    every: float


_FOR_OPTIONS = ("policy", "qos", "selector", "drain", "seconds", "chunk_rows", "batch_rows", "publish_us")
_FOR_LISTENERS = ("on_event", "on_tick")


def started(script: Script | str | Path, **keywords: Unpack[RunKeywords]) -> AbstractContextManager[Running]:
    """Start a script in the background and yield it; it is stopped at the end of the `with` block.

    The arguments are those of `run`. Without `out`, `on_rows` and `show`, results are kept in memory.
    """
    _check_keywords("started", keywords)
    return _started(script, keywords)


@contextmanager
def _started(script: Script | str | Path, keywords: RunKeywords) -> Iterator[Running]:
    with ExitStack() as stack:
        stages = Stages(keywords.get("on_stage") or keywords.get("on_event"))
        stack.callback(stages.close)
        try:
            opened = _opened(stack, script, stages, keywords)
        except Exception as error:
            _log_error(error)
            raise
        stages.close()
        with Running(*opened) as running:
            yield running


def run(script: Script | str | Path, **keywords: Unpack[RunKeywords]) -> "Results":
    """Run a script to its end and return its summary and results.

    `script` is a `Script`, the path of a file, or the text itself. The keyword arguments:

    - `drain`, `seconds`: with `drain`, the run ends when the streams have ended and everything is drained; with
      `seconds`, when that time has passed; with both, streams end after that time and the rest is drained.
    - `out`, `on_rows`, `show`: results go to parquet files under `out`, to the function `on_rows(query, table)`,
      to the screen with `show` (with `show="ndjson"` to stdout as JSON, one result per line). Without any of these
      they are kept in memory. If `out` holds results of earlier runs, `overwrite` removes them and `append` adds
      to them.
    - `state`: a folder in which everything is kept that is needed to go on. If it has a state, the run goes on
      there, and results that an earlier process committed are not made again. With `take_over`, also if another
      process that will not go on still holds it. `on_rows` may take a third argument, the number of a batch; a
      number comes again only after a crash, with the same rows.
    - `policy`: overrides the script's own, and stays. Without it, `qos` and `selector` override the script's own:
      goals, as a text, `Goals` or a mapping from statistic to weight, and what chooses the policy by them.
    - `chunk_rows`, `batch_rows`: rows of a chunk at most, and rows that one job takes of a queue at most.
    - `spark`, `master`, `remote`, `conf`, `spark_log`: the session is `spark` if given, else the active one, else
      one is made for the run: local, on `master`, or on a Connect server at `remote`, with the settings of Spark
      in `conf`. A local one has a quarter of the machine's memory as heap, unless `conf` has another
      `spark.driver.memory`. With `spark_log`, Spark's own messages go to stderr.
    - `on_event`, `on_tick`, `on_stage`: functions that are told what happens, several times per second the current
      `Summary`, and what the start waits for. Without `on_stage`, `on_event` is told that.
    - The same goes to Python's logging, to the loggers `penstock.start`, `penstock.run`, `penstock.figures`,
      `penstock.jobs` and `penstock.state`; `every` is the time between two records of figures, 10 seconds by
      default; 0: none but the last.
    """
    _check_keywords("run", keywords)
    with _started(script, keywords) as running:
        summary = running.wait()
        return Results(summary, {} if running.memory is None else running.results, running.rejected)


class Results:
    """The outcome of a run: its `summary`, the `results` by query, and the `rejected` rows by stream."""

    def __init__(
        self, summary: "Summary", results: Mapping[str, pa.Table], rejected: Mapping[str, pa.Table]
    ) -> None:
        self.summary = summary
        self.results = results
        self.rejected = rejected

    def __repr__(self) -> str:
        return f"<Results: {self.summary.rows_in:,} rows in, {self.summary.rows_out:,} out>"


def read_script(script: Script | str | Path) -> Script:
    """Return a script, read from a file or from the text itself."""
    if isinstance(script, Script):
        return script
    if isinstance(script, Path) or (";" not in script and "\n" not in script):
        return Script.read(script)
    return Script.parse(script)


def _check_keywords(function: str, keywords: RunKeywords) -> None:
    unknown = [name for name in keywords if name not in RunKeywords.__annotations__]
    if unknown:
        hint = nearest(unknown[0], RunKeywords.__annotations__)
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}.{hint}")


def _opened(
    stack: ExitStack, script: Script | str | Path, stages: Stages, keywords: RunKeywords
) -> "tuple[Runtime, MemorySink | None, FiguresLog, Path | None]":
    """Return the runtime of a script, the sink in memory, if any, what logs figures, and the folder of results."""
    program = read_script(script)
    given: dict[str, Any] = dict(keywords)
    started = _opened_state(stack, program, keywords)
    if started is not None:
        program = started.script
        given["publish_us"] = PUBLISH_OF_STATE_US
    options = RunOptions.of(program, **{name: given[name] for name in _FOR_OPTIONS if name in given})
    told = {name: given[name] for name in _FOR_LISTENERS if given.get(name) is not None}
    sinks = _opened_sinks(stack, program, keywords, started)
    memory = next((sink for sink in sinks if isinstance(sink, MemorySink)), None)
    spark = _opened_session(stack, stages, keywords)
    from penstock.runtime.figures_log import EVERY_S, FiguresLog
    from penstock.runtime.listeners import Listeners
    from penstock.spark.backend import spark_runtime
    from penstock.spark.run_log import ticks_of
    from penstock.spark.split_results import split_by_query

    for sink in sinks:
        if isinstance(sink, ParquetSink):
            sink.split_with(partial(split_by_query, spark))
    scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-")))
    figures = FiguresLog(keywords.get("every", EVERY_S))
    told["on_tick"] = ticks_of(figures, keywords.get("on_tick"))
    listeners = Listeners(**told, on_stage=stages)
    store = None if started is None else started.store(options, listeners.warning)
    clock = WallClock(0 if started is None else started.now_us)
    runtime = spark_runtime(program, spark, sinks, scratch, options, listeners, clock, store=store)
    if started is not None:
        for note in started.folder.notes:
            listeners.warning(note)
        runtime.apply(started.changes)
    out = next((sink.folder for sink in sinks if isinstance(sink, ParquetSink)), None)
    return runtime, memory, figures, out


def _opened_state(stack: ExitStack, script: Script, keywords: RunKeywords) -> "StartedState | None":
    """Open the state of a run, if it has one."""
    state = keywords.get("state")
    if state is None:
        if keywords.get("take_over"):
            raise RunError("take_over needs a state")
        return None
    from penstock.storage.started import StartedState

    started = StartedState.open(Path(state), script, take_over=keywords.get("take_over", False))
    stack.callback(started.folder.owner.release)
    return started


def _opened_sinks(
    stack: ExitStack, script: Script, keywords: RunKeywords, started: "StartedState | None"
) -> list[Sink]:
    sinks: list[Sink] = []
    out, on_rows, show = keywords.get("out"), keywords.get("on_rows"), keywords.get("show")
    if started is not None and out is None:
        out = started.results
    if out is not None:
        if started is not None:
            started.check_results(Path(out))
        overwrite, append = keywords.get("overwrite", False), keywords.get("append", False)
        files = ParquetSink(
            out,
            overwrite=overwrite,
            append=append,
            roll=script.settings.get("roll"),
            state=None if started is None else started.folder.id,
            goes_on=started is not None and started.results is not None,
            take_over=keywords.get("take_over", False),
        )
        stack.callback(files.release)
        sinks.append(files)
    if on_rows is not None:
        sinks.append(CallbackSink(on_rows))
    if show:
        sinks.append(NdjsonSink() if show == "ndjson" else ScreenSink())
    if started is not None and not sinks:
        raise RunError(
            "results of a run with a state need a place that lasts: name a folder (--out, out=) or a function "
            "(on_rows=)"
        )
    return sinks or [MemorySink()]


def _opened_session(stack: ExitStack, stages: Stages, keywords: RunKeywords) -> SparkSession:
    spark, master, remote = keywords.get("spark"), keywords.get("master"), keywords.get("remote")
    conf = keywords.get("conf")
    if spark is None and master is None and remote is None:
        spark = SparkSession.getActiveSession()
    if spark is not None and conf:
        raise RunError("conf is for a session that the run starts; the session in use already has its settings")
    if spark is not None:
        stack.enter_context(prepared(spark))
        return spark
    stages(f"starting Spark on {remote or master or LOCAL}")
    threading.Thread(target=_load, args=_NEEDED_NEXT, name="penstock-load", daemon=True).start()
    noise = keywords.get("spark_log", False)
    return stack.enter_context(spark_session(master, remote, noise=noise, settings=conf))


def _log_error(error: BaseException) -> None:
    from penstock.spark.run_log import log_error  # imports more than a start should wait for

    log_error(error)


def _load(*modules: str) -> None:
    """Load modules; an error in one of them is raised where it is imported by name."""
    for name in modules:
        with contextlib.suppress(Exception):
            import_module(name)
