"""`penstock run`: a script on Spark, with a live view and a summary at the end."""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
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

LOG = logging.getLogger("penstock.run")
_POLL_S = 0.05
_STOPPING = "stopping after the running job; Ctrl-C again ends at once"
_STOPPING_WITH_STATE = "stopping within 5 s; Ctrl-C again ends at once"
_AT_LIMIT = "ended at the last commit: the next run does again what was under way"


@takes(RunCommandOptions)
def run(options: RunCommandOptions) -> None:
    """Run a script on Spark until Ctrl-C, for some seconds, or until its streams have ended.

    Ctrl-C and SIGTERM stop the run cleanly; with --state, within 5 seconds.
    The exit code is then 0, or 1 with --drain.

    It is also 1 if the run or a query failed, or if a run with --drain rejected
    most rows of a stream; and 2 if the call was wrong.

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
    from penstock.cli.run.log_file import logging_to

    with logging_to(options.log_file, options.log_level, options.log):
        _run(options, settings)


def _run(options: RunCommandOptions, settings: dict[str, str]) -> None:
    stamp, script, policy = _read(options)
    screen = _Screen(options)
    signals = Signals(options.stopped, partial(_tell_limit, screen.lines))
    with _reported_errors(screen.lines, options.log), signals, ExitStack() as stack:
        with spinner("loading PySpark …", hidden=options.quiet) as change:

            def on_stage(text: str) -> None:
                signals.hold()  # Spark's start replaces the handler of Ctrl-C
                _stage(change, None if options.quiet else screen.lines, text)

            running = stack.enter_context(_started(options, script, policy, settings, screen, on_stage))
            signals.arm(running.end_soon)
        with screen.following(script), _watching(options, stamp, script, running, screen.view):
            summary = _followed(running, signals, screen.view, options)
        screen.finish(summary, running.out)
    if not options.remote and not signals.by_manager:
        _make_archive(options, settings)
    code = _exit_code(options, screen.lines, summary, interrupted=signals.asked)
    if signals.asked and options.state is not None:
        signals.leave(code)
    if code:
        raise typer.Exit(code)


def _read(options: RunCommandOptions) -> "tuple[Stamp | None, Script, Policy]":
    """Return the script and the policy, and when the script's file was changed."""
    from penstock.cli.run.watch import stamp_of
    from penstock.language.script import Script

    stamp = stamp_of(options.file)  # before reading, so that an edit while Spark starts is noticed
    try:
        script = Script.read(options.file)
        return stamp, script, chosen_policy(options.policy, script)
    except PenstockError as error:
        LOG.error("%s", error)
        raise


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
        queries, streams = plural(len(script.queries), "query", "queries"), plural(len(script.streams), "stream")
        text = f"running {queries} on {streams}, {self._options.goal}"
        LOG.info(text)
        if isinstance(self.view, LiveView):
            return Live(self.view, console=self._console, transient=True)
        if not self._options.quiet:
            self.view.event(text)
        return ExitStack()

    def finish(self, summary: "Summary", out: Path | None) -> None:
        """Print the summary: as JSON, or as example results and figures."""
        self.lines.summary(summary)
        if self._options.as_json:
            typer.echo(json.dumps(summary.as_dict(), indent=2, ensure_ascii=False))
        elif self._options.log == "text":
            only_results = self._options.show and self.row_format == "ndjson"
            console = Console(stderr=True) if only_results else wide_console()
            if not only_results:
                self.examples.show(console, summary)
            show_figures(console, self._options.file.name, summary, out)


def _started(
    options: RunCommandOptions,
    script: "Script",
    policy: "Policy",
    settings: dict[str, str],
    screen: _Screen,
    on_stage: Callable[[str], None],
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
        on_stage=on_stage,
        every=options.every,
    )


def _tell_limit(lines: EventLines) -> None:
    lines.event(_AT_LIMIT)
    LOG.warning(_AT_LIMIT)


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
    from penstock.runtime.listeners import Listeners

    return Watcher(options.file, stamp, script, running, Listeners(view.event).warning, options.policy is not None)


def _exit_code(options: RunCommandOptions, lines: EventLines, summary: "Summary", *, interrupted: bool) -> int:
    """Return 1 if a query failed, or if a run that drains did not drain or rejected most rows of a stream."""
    wrong = []
    if options.drain and interrupted:
        wrong.append("stopped before everything was drained")
    if options.drain and summary.rejecting:
        wrong.append(f"most rows of {', '.join(summary.rejecting)} were rejected")
    for text in wrong:
        lines.error(text)
        LOG.error(text)
    return int(bool(summary.failed or wrong))


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


def _followed(
    running: "Running", signals: Signals, view: LiveView | EventLines, options: RunCommandOptions
) -> "Summary":
    """Wait for the end of a run, or stop it when a signal arrives."""
    try:
        while running.alive:
            if signals.asked:
                view.stopping = True
                text = _STOPPING if options.state is None else _STOPPING_WITH_STATE
                LOG.info(text)
                view.event(text)
                return running.stop()
            view.beat()
            time.sleep(_POLL_S)
        return running.wait()
    except (PenstockError, BrokenPipeError):
        raise
    except Exception as error:  # a user gets a sentence, not a traceback
        if options.spark_log:
            traceback.print_exc()
        from penstock.spark.job_errors import explained

        raise RunError(f"the run failed: {type(error).__name__}: {explained(error)}") from error
