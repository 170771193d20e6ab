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

from penstock.cli.bench.outcome import comparisons_table, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder
from penstock.cli.signals import INTERRUPTED
from penstock.cli.style import COMPACT, NONE, plural, rate, seconds, size, wide_console
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
            help="Run only this part: filters, sizes, mixed, paced, windows or cost; repeatable.", metavar="PART"
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
    out: ReportFolder = BENCHMARK_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run the same input and queries through Penstock and through stock Structured Streaming.

    All parts take one to two hours on two cores. DIR gets stock.json and stock.html, with --quick
    stock-quick.json and stock-quick.html; Ctrl-C keeps the cases measured so far. Exits with 1 if a required
    comparison does not hold or results are wrong, with 2 if the call was wrong.

    Examples: `penstock bench stock --quick`;
    `penstock bench stock --only mixed --repeat 3`;
    `penstock bench stock --json | jq '.comparisons[] | {claim, measured, holds}'`
    """
    cases = _planned(only, quick=quick, repeat=repeat)
    from penstock.report.stock import page
    from penstock.spark.java import check_java

    check_java()
    measured, found = _measured(cases, quick=quick)
    kept = keep(found, page, out, "stock-quick" if quick else "stock")
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), found, kept)
    wrong = [one for one in measured if one.status != "ok"]
    for one in wrong:
        typer.echo(f"penstock: {one.case.name}: {one.status.upper()}: {one.reason}", err=True)
    if found["interrupted"]:
        typer.echo(f"penstock: interrupted; {plural(len(measured), 'case')} of {len(cases)} kept", err=True)
        raise typer.Exit(code=INTERRUPTED)
    if wrong or any(comparison["holds"] is False for comparison in found["comparisons"]):
        raise typer.Exit(code=1)


def _planned(parts: list[str] | None, *, quick: bool, repeat: int | None) -> "list[StockCase]":
    """Return the cases of these parts, or of all."""
    from penstock.bench.stock.case_list import PARTS, plan

    for part in parts or ():
        if part not in PARTS:
            raise typer.BadParameter(f"there is no part {part!r}.{nearest(part, PARTS)}", param_hint="--only")
    cases = plan(parts or list(PARTS), quick=quick, repeat=repeat)
    if not cases:
        raise typer.BadParameter("--quick has no case of that part: leave it out", param_hint="--only")
    return cases


def _measured(cases: "list[StockCase]", *, quick: bool) -> "tuple[list[CaseResult], dict[str, Any]]":
    """Run the cases until Ctrl-C; return the results, and the JSON document made of them."""
    from penstock.bench.stock.run import document, run_cases

    began = time.monotonic()
    measured: list[CaseResult] = []
    interrupted = False
    progress = _Progress(len(cases))

    def take(one: "CaseResult") -> None:
        measured.append(one)
        progress.done(one)

    try:
        with progress:
            run_cases(cases, progress.stage, take, progress.begin)
    except KeyboardInterrupt:
        interrupted = True
    seconds = time.monotonic() - began
    return measured, document(measured, quick=quick, interrupted=interrupted, seconds=seconds)


class _Progress:
    """Progress on stderr: a status line on a terminal, and a line for every finished case."""

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True)
        self._status = self._console.status("")
        self._total = total
        self._number = 0
        self._name = ""

    def __enter__(self) -> None:
        self._status.start()

    def __exit__(self, *exception: object) -> None:
        self._status.stop()

    def begin(self, name: str) -> None:
        """Begin a case."""
        self._number += 1
        self._name = name

    def stage(self, text: str) -> None:
        """Show the stage of a case."""
        self._status.update(f"{self._number}/{self._total} {self._name} [dim]({text})[/]")

    def done(self, one: "CaseResult") -> None:
        """Print the result of a case."""
        if one.status != "ok":
            figures = Text(one.status, style="bold red")
        elif one.case.feeding == "paced":
            figures = Text(f"average response {seconds(one.avg_response or 0.0)} s")
        else:
            figures = Text(f"{rate(one.rate or 0.0)} row-queries/s")
        line = Text.assemble(
            (f"{self._number}/{self._total} ", "dim"),
            one.case.name,
            "  ",
            figures,
            (f"  {one.took_s:.0f} s", "dim"),
        )
        self._console.print(line, highlight=False, soft_wrap=True)


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
            _short(measured),
            NONE if len(case["runs"]) < 2 else f"{(high - low) / measured / 2:.0%}",
            NONE if factor is None else f"{factor:.3g}",
            *(NONE if value is None else seconds(value) for value in times),
            NONE if case["peak_bytes"] is None else size(case["peak_bytes"]),
        )
    return table


def _short(value: float) -> str:
    """Return a large number with three digits.

    >>> _short(950), _short(182_275), _short(46_207_737)
    ('950', '182k', '46.2M')
    """
    for unit, amount in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= amount:
            return f"{value / amount:.3g}{unit}"
    return f"{value:.3g}"
