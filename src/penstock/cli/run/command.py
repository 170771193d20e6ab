"""`penstock run`: a script on Spark, with a live view and a summary at the end."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.live import Live

from penstock.cli.options import takes
from penstock.cli.policy_option import chosen_policy
from penstock.cli.run.live_view import LiveView
from penstock.cli.run.log_lines import EventLines, Log
from penstock.cli.run.options import RowFormat, RunCommandOptions
from penstock.cli.run.summary_tables import Examples, show_figures
from penstock.cli.signals import Signals
from penstock.cli.style import plural, spinner, wide_console
from penstock.errors import PenstockError, RunError

if TYPE_CHECKING:
    from penstock.cli.run.watch import Stamp
    from penstock.language.script import Script
    from penstock.policies import Policy
    from penstock.runtime.summary import Summary
    from penstock.spark import Running

_POLL_S = 0.05


@takes(RunCommandOptions)
def run(options: RunCommandOptions) -> None:
    """Run a script on Spark until Ctrl-C, for some seconds, or until its streams have ended.

    Exits with 1 if the run or one of its queries failed, or if a run with --drain rejected most rows of a stream;
    with 2 if the call was wrong. Ctrl-C stops the run cleanly and exits with 0, or with 1 if --drain was given.

    Examples: `penstock run traffic.sql --watch`;
    `penstock run traffic.sql --seconds 30 --policy hnr`;
    `penstock run traffic.sql --seconds 30 --policy "mypolicy.py:LEAST_SLACK.every(20)"`;
    `penstock run files.sql --drain --out results`;
    `penstock run files.sql --drain --out results --append`;
    `penstock run files.sql --state state --out results`;
    `penstock run traffic.sql --seconds 10 --json | jq .queries`;
    `penstock run traffic.sql --show | jq 'select(.query == "fast").row'`;
    `penstock run traffic.sql --log json --driver-memory 4g`
    """
    options.check()
    settings = options.spark.settings(options.remote)
    from penstock.cli.run.watch import stamp_of
    from penstock.language.script import Script

    stamp = stamp_of(options.file)  # before reading, so that an edit while Spark starts is noticed
    script = Script.read(options.file)
    policy = chosen_policy(options.policy, script)
    screen = _Screen(options)
    with _reported_errors(screen.lines, options.log), Signals() as signals, ExitStack() as stack:
        with spinner("loading PySpark …", hidden=options.quiet) as change:
            running = stack.enter_context(_started(options, script, policy, settings, screen, change))
            signals.arm()
        with screen.following(script), _watching(options, stamp, script, running, screen.view):
            summary = _followed(running, signals, screen.view, options.spark_log)
        screen.finish(summary)
    if not options.remote:
        _make_archive(options, settings)
    _exit(options, screen.lines, summary, interrupted=signals.asked)


class _Screen:
    """Where a run is shown: a live view or lines on stderr, then results and figures."""

    def __init__(self, options: RunCommandOptions) -> None:
        self._options = options
        self._console = Console()
        self.row_format: RowFormat = options.row_format or ("table" if self._console.is_terminal else "ndjson")
        self.lines = EventLines(0 if options.quiet else options.every, options.log)
        silent = options.as_json or options.quiet or options.show or options.log == "json"
        live = self._console.is_terminal and not silent
        self.view: LiveView | EventLines = LiveView(options.file.name, options.goal) if live else self.lines
        self.examples = Examples()

    def following(self, script: "Script") -> AbstractContextManager[object]:
        """Show the run until the context is left: draw the live view, or print a first line."""
        if isinstance(self.view, LiveView):
            return Live(self.view, console=self._console, transient=True)
        if not self._options.quiet:
            queries = plural(len(script.queries), "query", "queries")
            streams = plural(len(script.streams), "stream")
            self.view.event(f"running {queries} on {streams}, {self._options.goal}")
        return ExitStack()

    def finish(self, summary: "Summary") -> None:
        """Print the summary: as JSON, or as example results and figures."""
        self.lines.summary(summary)
        if self._options.as_json:
            typer.echo(json.dumps(summary.as_dict(), indent=2, ensure_ascii=False))
        elif self._options.log == "text":
            only_results = self._options.show and self.row_format == "ndjson"
            console = Console(stderr=True) if only_results else wide_console()
            if not only_results:
                self.examples.show(console, summary)
            show_figures(console, self._options.file.name, summary, self._options.out)


def _started(
    options: RunCommandOptions,
    script: "Script",
    policy: "Policy",
    settings: dict[str, str],
    screen: _Screen,
    change: Callable[[str], None],
) -> "AbstractContextManager[Running]":
    from penstock.spark import started

    return started(
        script,
        out=options.out,
        overwrite=options.overwrite,
        append=options.append,
        state=options.state,
        take_over=options.take_over,
        show=screen.row_format if options.show else False,
        on_rows=screen.examples.take if options.out is None and options.state is None else None,
        policy=None if options.policy is None else policy,
        drain=options.drain,
        seconds=options.seconds,
        chunk_rows=options.chunk_rows,
        batch_rows=options.batch_rows,
        master=options.master,
        remote=options.remote,
        conf=settings,
        spark_log=options.spark_log,
        on_event=screen.view.event,
        on_tick=screen.view.tick,
        on_stage=partial(_stage, change, None if options.quiet else screen.lines),
    )


def _make_archive(options: RunCommandOptions, settings: dict[str, str]) -> None:
    """Let a process in the background make what speeds up the next start, if that is missing."""
    from penstock.spark.archive_making import make_in_background
    from penstock.spark.session import LOCAL

    make_in_background(settings, options.master or LOCAL)


def _watching(
    options: RunCommandOptions,
    stamp: "Stamp | None",
    script: "Script",
    running: "Running",
    view: LiveView | EventLines,
) -> AbstractContextManager[object]:
    """Follow changes of the script's file while the context lasts, if that is asked for."""
    if not options.watch:
        return ExitStack()
    from penstock.cli.run.watch import Watcher

    is_live, fixed_policy = partial(_is_live, view), options.policy is not None
    return Watcher(options.file, stamp, script, running, is_live, view.event, fixed_policy)


def _exit(options: RunCommandOptions, lines: EventLines, summary: "Summary", *, interrupted: bool) -> None:
    """Exit with 1 if a query failed, or if a run that drains did not drain or rejected most rows of a stream."""
    if options.drain and interrupted:
        lines.error("stopped before everything was drained")
    if options.drain and summary.rejecting:
        lines.error(f"most rows of {', '.join(summary.rejecting)} were rejected")
    if summary.failed or (options.drain and (interrupted or summary.rejecting)):
        raise typer.Exit(code=1)


@contextmanager
def _reported_errors(lines: EventLines, log: Log) -> Iterator[None]:
    """Report errors in the format of the log. End quietly if the reader of stdout has gone."""
    try:
        yield
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python would flush again at exit
        raise typer.Exit from error
    except PenstockError as error:
        if log == "text":
            raise
        lines.error(str(error))
        raise typer.Exit(code=1) from error


def _stage(change: Callable[[str], None], lines: EventLines | None, text: str) -> None:
    """Show the stage of the start: in the spinner, or as a line where there is none."""
    change(f"{text} …")
    if lines is not None and not Console(stderr=True).is_terminal:
        lines.stage(text)


def _followed(running: "Running", signals: Signals, view: LiveView | EventLines, with_trace: bool) -> "Summary":
    """Wait for the end of a run, or stop it when a signal arrives."""
    try:
        while running.alive:
            if signals.asked:
                view.stopping = True
                view.event("stopping after the running job; Ctrl-C again ends at once")
                return running.stop()
            view.beat()
            time.sleep(_POLL_S)
        return running.wait()
    except (PenstockError, BrokenPipeError):
        raise
    except Exception as error:  # a user gets a sentence, not a traceback
        if with_trace:
            traceback.print_exc()
        from penstock.spark.job_errors import explained

        raise RunError(f"the run failed: {type(error).__name__}: {explained(error)}") from error


def _is_live(view: LiveView | EventLines, query: str) -> bool:
    found = view.latest.queries.get(query) if view.latest else None
    return found is not None and found.status in ("running", "ending")
