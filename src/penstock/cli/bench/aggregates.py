"""`penstock bench aggregates`: aggregates over windows, compared with stock Structured Streaming."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.case_progress import CaseProgress
from penstock.cli.bench.outcome import comparisons_table, exit_after_cases
from penstock.cli.options import AsJson
from penstock.cli.style import COMPACT, NONE, seconds, short, size, wide_console
from penstock.errors import nearest

if TYPE_CHECKING:
    from penstock.bench.aggregates.case import AggregateCase, AggregateResult


def aggregates(
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Fewer rows, 100,000 keys, and fewer systems, in about twelve minutes."),
    ] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this part: one, fifty, thousand, windows, long, keys, latency or sharing; repeatable.",
            metavar="PART",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            help="Measure each case N times and take the median. Default: 5, fewer where it takes long; the part "
            "keys always has 8.",
            min=1,
            metavar="N",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run aggregates over windows through Penstock and through stock Structured Streaming.

    The parts: one query; 50 queries, also as one stock job written by hand; 1,000 queries that differ in
    constants; 100 with windows of their own; a million keys with a state and a restart; the time from a window's
    close to its results; 50 queries without groups. All parts take one to two hours on two cores. Ctrl-C keeps
    the cases measured so far. Exits with 1 if a required comparison does not hold or results are wrong, with 2 if
    the call was wrong.

    Examples: `penstock bench aggregates --quick`;
    `penstock bench aggregates --part one --part keys --repeat 5`;
    `penstock bench aggregates --json > aggregates.json`;
    `penstock bench aggregates --part latency --json | jq '.comparisons[] | {claim, measured, holds}'`
    """
    from penstock.bench.aggregates.case_list import PARTS, plan
    from penstock.spark.java import check_java

    for each in part or ():
        if each not in PARTS:
            raise typer.BadParameter(f"there is no part {each!r}.{nearest(each, PARTS)}", param_hint="--part")
    cases = plan(part or list(PARTS), quick=quick, repeat=repeat)
    check_java()
    found = _measured(cases, quick=quick)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), found)
    exit_after_cases(found, len(cases))


def _measured(cases: "list[AggregateCase]", *, quick: bool) -> dict[str, Any]:
    """Run the cases until Ctrl-C; return the JSON document made of their results."""
    from penstock.bench.aggregates.run import RunListeners, document, run_cases

    began = time.monotonic()
    measured: list[AggregateResult] = []
    interrupted = False
    progress = CaseProgress(len(cases))

    def take(one: "AggregateResult") -> None:
        measured.append(one)
        response = f"from close to result {seconds(one.avg_response or 0.0)} s"
        rows = f"{short(one.rows_per_s or 0.0)} rows/s"
        progress.done(one.status, response if one.case.feeding == "paced" else rows, one.took_s)

    try:
        with progress:
            run_cases(cases, RunListeners(progress.begin, progress.stage, take))
    except KeyboardInterrupt:
        interrupted = True
    return document(measured, quick=quick, interrupted=interrupted, seconds=time.monotonic() - began)


def _show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the cases, what was required, and what the columns are."""
    from penstock.bench.machine import in_words

    for title in dict.fromkeys((case["part"], case["table"]) for case in found["cases"]):
        cases = [case for case in found["cases"] if (case["part"], case["table"]) == title]
        console.print(_cases_table(": ".join(title), cases))
        console.print()
    console.print(comparisons_table(found["comparisons"]))
    console.print(f"\n{in_words(found['machine'])}", highlight=False)
    console.print(
        "rows/s: of the input, median and half of the range (±); s: seconds of a part; s/query: s ÷ queries; "
        "close: average seconds from a window's close to its results, of a drain from its start. Memory: peaks of "
        "Python and of Java; growth: Python's after all parts ÷ after half of them."
    )


def _cases_table(title: str, cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the systems of one comparison."""
    behind = [case["system_name"] for case in cases if case["sustained"] is False]
    caption = f"Not sustained by: {'; '.join(behind)}" if behind else None
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("")
    for header in ("rows/s", "±", "s", "s/query", "close", "python", "growth", "java"):
        table.add_column(header, justify="right", no_wrap=True)
    for case in cases:
        if case["status"] != "ok":
            table.add_row(case["system_name"], Text(case["status"], style="bold red"))
            continue
        low, high = case["rows_per_s_low"], case["rows_per_s_high"]
        growth = case["python_growth"]
        table.add_row(
            case["system_name"],
            short(case["rows_per_s"]),
            NONE if len(case["runs"]) < 2 else f"{(high - low) / (high + low):.0%}",
            seconds(case["seconds_measured"]),
            f"{case['seconds_per_query']:.2g}",
            seconds(case["avg_response"]),
            NONE if case["python_peak_bytes"] is None else size(case["python_peak_bytes"]),
            NONE if growth is None else f"{growth:.2f}",
            NONE if case["java_peak_bytes"] is None else size(case["java_peak_bytes"]),
        )
    return table
