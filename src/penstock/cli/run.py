"""`penstock run`: a script on Spark, with a live view, and how it went."""

import json
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.live import Live

from penstock.cli.chosen import chosen_policy
from penstock.cli.figures import Examples, show_figures
from penstock.cli.lines import EventLines, Log
from penstock.cli.live import LiveView
from penstock.cli.signals import Signals
from penstock.cli.spark_options import Conf, DriverMemory, Packages, spark_conf
from penstock.cli.style import plural, spinner, wide_console
from penstock.errors import PenstockError, RunError

if TYPE_CHECKING:
    from penstock.runtime.summary import Summary
    from penstock.spark import Running

ShowAs = Literal["table", "ndjson"]
_LOOK_S = 0.05


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The script.", exists=True, dir_okay=False, show_default=False)
    ],
    policy: Annotated[
        str | None,
        typer.Option(
            help='Schedule by this policy, e.g. hnr or "bsd.every(20)", whatever policy or goals the script sets. '
            "Or by one in a file of yours, which is executed: mypolicy.py:NAME."
        ),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="End after this time.", metavar="N")] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="End when the streams have ended and everything is worked off.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write results to DIR/NAME/*.parquet, one folder per query.", metavar="DIR")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the results of earlier runs that are in DIR.")
    ] = False,
    append: Annotated[bool, typer.Option("--append", help="Add to the results that are in DIR.")] = False,
    master: Annotated[
        str | None, typer.Option(help="Run on this Spark master; without, on this machine.", metavar="URL")
    ] = None,
    remote: Annotated[str | None, typer.Option(help="Run on this Spark Connect server.", metavar="URL")] = None,
    chunk_rows: Annotated[int | None, typer.Option(help="Maximum rows of a chunk.", min=1, metavar="N")] = None,
    batch_rows: Annotated[
        int | None, typer.Option(help="Maximum rows that one job takes of a queue.", min=1, metavar="N")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No live view.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print results as they come; no live view.")] = False,
    form: Annotated[
        ShowAs | None,
        typer.Option("--format", help="How --show prints; ndjson if stdout is no terminal.", show_default=False),
    ] = None,
    every: Annotated[
        float,
        typer.Option(help="Without a live view, print figures every N seconds.", metavar="N", min=0),
    ] = 10.0,
    log: Annotated[
        Log, typer.Option(help="Lines on stderr without a live view: text, or a JSON object each.")
    ] = "text",
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow changes of the file: queries, policy, goals.")
    ] = False,
    conf: Conf = None,
    driver_memory: DriverMemory = None,
    packages: Packages = None,
    spark_log: Annotated[bool, typer.Option("--spark-log", help="Let through what Spark says itself.")] = False,
) -> None:
    """Run a script on Spark until Ctrl-C, for some seconds, or until its streams have ended.

    Exits with 1 if the work failed, be it one query, or if a run that drains rejected most rows of a stream;
    with 2 if the call was wrong. Ctrl-C stops it cleanly, with 0, or with 1 if it was to drain.

    Examples: `penstock run traffic.sql --watch`;
    `penstock run traffic.sql --seconds 30 --policy hnr`;
    `penstock run traffic.sql --seconds 30 --policy "mypolicy.py:LEAST_SLACK.every(20)"`;
    `penstock run files.sql --drain --out results`;
    `penstock run files.sql --drain --out results --append`;
    `penstock run traffic.sql --seconds 10 --json | jq .queries`;
    `penstock run traffic.sql --show | jq 'select(.query == "fast").row'`;
    `penstock run traffic.sql --log json --driver-memory 4g`
    """
    if master and remote:
        raise typer.BadParameter("give a master or a remote, not both", param_hint="--remote")
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter(f"{seconds:g} is not a time to run for", param_hint="--seconds")
    if show and as_json:
        raise typer.BadParameter("JSON stands alone: leave out --show or --json", param_hint="--show")
    if form is not None and not show:
        raise typer.BadParameter("there is nothing to format without --show", param_hint="--format")
    if overwrite and out is None:
        raise typer.BadParameter("there is nothing to overwrite without --out", param_hint="--overwrite")
    settings = spark_conf(conf, driver_memory, packages, remote)
    if append and out is None:
        raise typer.BadParameter("there is nothing to append to without --out", param_hint="--append")
    if append and overwrite:
        raise typer.BadParameter("append to the results in DIR or overwrite them, not both", param_hint="--append")
    from penstock.cli.watch import Watcher, stamp_of
    from penstock.language.script import Script

    read = stamp_of(file)  # before it is read: an edit while Spark starts is an edit
    script = Script.read(file)
    chosen = chosen_policy(policy, script)
    goal = _goal(seconds, drain)
    console = Console()
    form = form or ("table" if console.is_terminal else "ndjson")
    live = console.is_terminal and not (as_json or quiet or show or log == "json")
    lines = EventLines(0 if quiet else every, log)
    view: LiveView | EventLines = LiveView(file.name, goal) if live else lines
    examples = Examples()
    with _told(lines, log), Signals() as signals, ExitStack() as stack:
        with spinner("loading PySpark …", hidden=quiet) as change:
            from penstock.spark import started

            running = stack.enter_context(
                started(
                    script,
                    out=out,
                    overwrite=overwrite,
                    append=append,
                    show=form if show else False,
                    on_rows=examples.take if out is None else None,
                    policy=None if policy is None else chosen,
                    drain=drain,
                    seconds=seconds,
                    chunk_rows=chunk_rows,
                    batch_rows=batch_rows,
                    master=master,
                    remote=remote,
                    conf=settings,
                    spark_log=spark_log,
                    on_event=view.event,
                    on_tick=view.tick,
                    on_stage=partial(_stage, change, None if quiet else lines),
                )
            )
            signals.arm()
        with ExitStack() as screen:
            if isinstance(view, LiveView):
                screen.enter_context(Live(view, console=console, transient=True))
            elif not quiet:
                queries = plural(len(script.queries), "query", "queries")
                view.event(f"running {queries} on {plural(len(script.streams), 'stream')}, {goal}")
            if watch:
                watcher = Watcher(
                    file, read, script, running, partial(_is_live, view), view.event, policy is not None
                )
                screen.enter_context(watcher)
            summary = _followed(running, signals, view, spark_log)
        lines.summary(summary)
        if as_json:
            typer.echo(json.dumps(summary.as_dict(), indent=2, ensure_ascii=False))
        elif log == "text":
            only_results = show and form == "ndjson"
            end = Console(stderr=True) if only_results else wide_console()
            if not only_results:
                examples.show(end, summary)
            show_figures(end, file.name, summary, out)
    if drain and signals.asked:
        lines.error("stopped before everything was drained")
    if drain and summary.rejecting:
        lines.error(f"most rows of {', '.join(summary.rejecting)} were rejected")
    if summary.failed or (drain and (signals.asked or summary.rejecting)):
        raise typer.Exit(code=1)


@contextmanager
def _told(lines: EventLines, log: Log) -> Iterator[None]:
    """Say an error as the other lines are said. Whoever stops to read the results ends the run, and knows it."""
    try:
        yield
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else it would be tried again at the end
        raise typer.Exit from error
    except PenstockError as error:
        if log == "text":
            raise
        lines.error(str(error))
        raise typer.Exit(code=1) from error


def _stage(change: Callable[[str], None], lines: EventLines | None, text: str) -> None:
    """Show what the start waits for: in the spinner, or as a line where there is none."""
    change(f"{text} …")
    if lines is not None and not Console(stderr=True).is_terminal:
        lines.stage(text)


def _followed(running: "Running", signals: Signals, view: LiveView | EventLines, with_trace: bool) -> "Summary":
    """Wait for the end of a run, or end it when a signal asks for that."""
    try:
        while running.alive:
            if signals.asked:
                view.stopping = True
                view.event("stopping: the job that runs is finished first; Ctrl-C again ends at once")
                return running.stop()
            view.beat()
            time.sleep(_LOOK_S)
        return running.wait()
    except (PenstockError, BrokenPipeError):
        raise
    except Exception as error:  # whatever it is, a person gets a sentence
        if with_trace:
            traceback.print_exc()
        from penstock.spark.job_errors import explained

        raise RunError(f"the run broke off: {type(error).__name__}: {explained(error)}") from error


def _goal(seconds: float | None, drain: bool) -> str:
    if seconds is None:
        return "until the streams end" if drain else "until Ctrl-C"
    return f"streams end after {seconds:g} s" if drain else f"for {seconds:g} s"


def _is_live(view: LiveView | EventLines, query: str) -> bool:
    found = view.latest.queries.get(query) if view.latest else None
    return found is not None and found.status in ("running", "ending")
