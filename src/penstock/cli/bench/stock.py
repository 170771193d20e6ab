"""`penstock bench stock`: Penstock compared with stock Structured Streaming."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.case_progress import CaseProgress
from penstock.cli.bench.outcome import comparisons_table, exit_after_cases, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder
from penstock.cli.style import COMPACT, NONE, rate, seconds, short, size, wide_console
from penstock.errors import nearest

if TYPE_CHECKING:
    from penstock.bench.stock.case import CaseResult, StockCase


def stock(
    quick: Annotated[
        bool, typer.Option("--quick", help="A reduced set of cases, in less than five minutes.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this part: filters, sizes, mixed, paced, windows, cost or chunks; repeatable.",
            metavar="PART",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            help="Measure each case N times and take the median. Default: 2; slow cases of --quick: 1.",
            min=1,
            metavar="N",
        ),
    ] = None,
    state: Annotated[
        bool,
        typer.Option(
            "--state",
            help="Also run Penstock with --state. All folders are then on a disk, not in memory.",
        ),
    ] = False,
    out: ReportFolder = BENCHMARK_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run the same input and queries through Penstock and through stock Structured Streaming.

    All parts take one to two hours on two cores. DIR gets stock.json and stock.html, with --quick
    stock-quick.json and stock-quick.html, with --state stock-state.json and so on; Ctrl-C keeps the cases
    measured so far. Exits with 1 if a required comparison does not hold or results are wrong, with 2 if the call
    was wrong.

    Examples: `penstock bench stock --quick`;
    `penstock bench stock --only mixed --repeat 3`;
    `penstock bench stock --only filters --only chunks --state`;
    `penstock bench stock --json | jq '.comparisons[] | {claim, measured, holds}'`
    """
    cases = _planned(only, quick=quick, repeat=repeat, with_state=state)
    from penstock.report.stock import page
    from penstock.spark.java import check_java

    check_java()
    found = _measured(cases, quick=quick)
    kept = keep(found, page, out, "stock" + "-quick" * quick + "-state" * state)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), found, kept)
    exit_after_cases(found, len(cases))


def _planned(parts: list[str] | None, *, quick: bool, repeat: int | None, with_state: bool) -> "list[StockCase]":
    """Return the cases of these parts, or of all."""
    from penstock.bench.stock.case_list import PARTS, plan

    for part in parts or ():
        if part not in PARTS:
            raise typer.BadParameter(f"there is no part {part!r}.{nearest(part, PARTS)}", param_hint="--only")
    cases = plan(parts or list(PARTS), quick=quick, repeat=repeat, with_state=with_state)
    if not cases:
        raise typer.BadParameter("--quick has no case of that part: leave it out", param_hint="--only")
    return cases


def _measured(cases: "list[StockCase]", *, quick: bool) -> dict[str, Any]:
    """Run the cases until Ctrl-C; return the JSON document made of their results."""
    from penstock.bench.stock.run import document, run_cases

    began = time.monotonic()
    measured: list[CaseResult] = []
    interrupted = False
    progress = CaseProgress(len(cases))

    def take(one: "CaseResult") -> None:
        measured.append(one)
        paced = one.case.feeding != "drain"
        response = f"average response {seconds(one.avg_response or 0.0)} s"
        progress.done(one.status, response if paced else f"{rate(one.rate or 0.0)} row-queries/s", one.took_s)

    try:
        with progress:
            run_cases(cases, progress.stage, take, progress.begin)
    except KeyboardInterrupt:
        interrupted = True
    took_s = time.monotonic() - began
    return document(measured, quick=quick, interrupted=interrupted, seconds=took_s)


def _show(console: Console, found: dict[str, Any], report: Path) -> None:
    """Print the cases, what was required, and how it was measured."""
    from penstock.bench.machine import in_words

    for title in dict.fromkeys(case["table"] for case in found["cases"]):
        console.print(_cases_table(title, [case for case in found["cases"] if case["table"] == title]))
        console.print()
    console.print(comparisons_table(found["comparisons"]))
    console.print()
    console.print(in_words(found["machine"]), highlight=False)
    console.print(
        "Rate: row-queries per second, median and half of the range (±); ×: ratio to stock, one query each, FIFO. "
        "Times in seconds; start: until all queries have answered a first file."
    )
    for entry in found["guarantees"]:
        console.print(f"[bold]{entry['system']}.[/] {entry['text']}", highlight=False)
    for entry in found["left_out"]:
        console.print(f"[bold]{entry['mode']}[/] is not in the table. {entry['text']}", highlight=False)
    console.print(f"\n{report} has plots and how it was measured.", highlight=False)


def _cases_table(title: str, cases: list[dict[str, Any]]) -> Table:
    """Return a table of the systems of one comparison, with their ratios to stock with one query each."""
    behind = [case["label"] for case in cases if case["sustained"] is False]
    caption = f"Not sustained by: {', '.join(behind)}" if behind else None
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    for header in ("rate", "±", "×", "avg", "p99", "max", "start", "memory"):
        table.add_column(header, justify="right", no_wrap=True)
    base = next((case["row_queries_per_s"] for case in cases if case["system"] == "each-fifo"), None)
    for case in cases:
        if case["status"] != "ok":
            table.add_row(case["label"], Text(case["status"], style="bold red"))
            continue
        measured, low, high = (case[f"row_queries_per_s{end}"] for end in ("", "_low", "_high"))
        factor = measured / base if base and case["feeding"] == "drain" else None
        times = [case[key] for key in ("avg_response", "p99_response", "max_response", "start_s")]
        table.add_row(
            case["label"],
            short(measured),
            NONE if len(case["runs"]) < 2 else f"{(high - low) / measured / 2:.0%}",
            NONE if factor is None else f"{factor:.3g}",
            *(NONE if value is None else seconds(value) for value in times),
            NONE if case["peak_bytes"] is None else size(case["peak_bytes"]),
        )
    return table
