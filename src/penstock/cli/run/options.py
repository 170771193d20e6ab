"""The options of `penstock run`, and which of them exclude each other."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.cli.options import SparkOptions
from penstock.cli.run.log_lines import Level, Log

RowFormat = Literal["table", "ndjson"]


@dataclass(frozen=True, kw_only=True)
class RunCommandOptions:
    """The options of `penstock run`, in the order of its help."""

    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The script.", exists=True, dir_okay=False, show_default=False)
    ]
    policy: Annotated[
        str | None,
        typer.Option(
            help='Schedule by this policy, e.g. hnr or "bsd.every(20)"; overrides policy and goals of the script. '
            "Also a policy in your own file, which is executed: mypolicy.py:NAME."
        ),
    ] = None
    seconds: Annotated[float | None, typer.Option(help="End after N seconds.", metavar="N")] = None
    drain: Annotated[
        bool, typer.Option("--drain", help="End when the streams have ended and all rows are processed.")
    ] = False
    out: Annotated[
        Path | None, typer.Option(help="Write results to DIR/NAME/*.parquet, one folder per query.", metavar="DIR")
    ] = None
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Remove the results of earlier runs that are in DIR.")
    ] = False
    append: Annotated[bool, typer.Option("--append", help="Add to the results that are in DIR.")] = False
    state: Annotated[
        Path | None,
        typer.Option(
            help="Keep everything in DIR, and go on from there: after Ctrl-C, a crash, or an edit of the script.",
            metavar="DIR",
        ),
    ] = None
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Go on with a state that a process still holds which will never go on."),
    ] = False
    master: Annotated[
        str | None, typer.Option(help="Run on this Spark master. Default: this machine.", metavar="URL")
    ] = None
    remote: Annotated[str | None, typer.Option(help="Run on this Spark Connect server.", metavar="URL")] = None
    chunk_rows: Annotated[int | None, typer.Option(help="Maximum rows of a chunk.", min=1, metavar="N")] = None
    batch_rows: Annotated[
        int | None, typer.Option(help="Maximum rows that one job takes of a queue.", min=1, metavar="N")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, nothing else.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="No live view.")] = False
    show: Annotated[bool, typer.Option("--show", help="Print results as they come; no live view.")] = False
    row_format: Annotated[
        RowFormat | None,
        typer.Option(
            "--format", help="Format of --show. Default: table on a terminal, else ndjson.", show_default=False
        ),
    ] = None
    every: Annotated[
        float,
        typer.Option(
            help="Print figures every N seconds, without a live view, and to the log file.", metavar="N", min=0
        ),
    ] = 10.0
    log: Annotated[
        Log, typer.Option(help="Lines on stderr without a live view: text, or one JSON object per line.")
    ] = "text"
    log_file: Annotated[
        Path | None,
        typer.Option(
            help="Also log to FILE, with levels; with --log json as JSON. At 10 MB it becomes FILE.1; five older "
            "files are kept.",
            metavar="FILE",
            dir_okay=False,
        ),
    ] = None
    log_level: Annotated[
        Level, typer.Option(help="Level of the log file: debug, info, warning or error.", metavar="LEVEL")
    ] = "info"
    watch: Annotated[
        bool, typer.Option("--watch", help="Apply changes of the file while it runs: queries, policy, goals.")
    ] = False
    spark: SparkOptions
    spark_log: Annotated[bool, typer.Option("--spark-log", help="Show Spark's own log.")] = False

    def check(self) -> None:
        """Raise `BadParameter` for the first option that does not fit the others."""
        for option, message in self._misfits():
            raise typer.BadParameter(message, param_hint=option)

    def _misfits(self) -> Iterator[tuple[str, str]]:
        if self.master and self.remote:
            yield "--remote", "--master and --remote cannot be combined"
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            yield "--seconds", f"it must be above 0 and finite, not {self.seconds:g}"
        if self.show and self.as_json:
            yield "--show", "--show and --json cannot be combined"
        if self.row_format is not None and not self.show:
            yield "--format", "--format needs --show"
        if self.take_over and self.state is None:
            yield "--take-over", "--take-over needs --state"
        if self.state is not None and self.out is None and not self.show and not self.state.exists():
            yield "--state", "a new state needs --out, for the results; later runs know the folder"
        if self.overwrite and self.out is None:
            yield "--overwrite", "--overwrite needs --out"
        if self.append and self.out is None:
            yield "--append", "--append needs --out"
        if self.append and self.overwrite:
            yield "--append", "--append and --overwrite cannot be combined"

    @property
    def stopped(self) -> int | None:
        """The exit code of a run with a state that a signal ends; None without a state."""
        return None if self.state is None else int(self.drain)

    @property
    def goal(self) -> str:
        """When the run ends, as the live view says it."""
        if self.seconds is None:
            return "until the streams end" if self.drain else "until Ctrl-C"
        return f"streams end after {self.seconds:g} s" if self.drain else f"for {self.seconds:g} s"
