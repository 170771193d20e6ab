"""`penstock bench scale`: large files, compared with one batch job and with stock Structured Streaming."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.case_progress import CaseProgress
from penstock.cli.bench.outcome import comparisons_table, exit_after_cases
from penstock.cli.options import AsJson, page_option
from penstock.cli.style import COMPACT, NONE, seconds, short, size, wide_console
from penstock.errors import nearest

if TYPE_CHECKING:
    from penstock.bench.scale.case import ScaleResult
    from penstock.bench.scale.case_list import ScalePlan


def scale(
    quick: Annotated[
        bool, typer.Option("--quick", help="2 million rows, fewer sizes of files, 3 drains of each case.")
    ] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only this part: filters, table, windows, formats or memory; repeatable.", metavar="PART"
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows of an input. Default: 20 million; with --quick 2 million.", min=1000, metavar="N"),
    ] = None,
    file_rows: Annotated[
        list[int] | None,
        typer.Option(
            help="Only files of so many rows, in the parts filters, table and windows; repeatable.", metavar="N"
        ),
    ] = None,
    filters: Annotated[
        list[int] | None,
        typer.Option(help="Of the part filters only so many: 1, 10 or 100; repeatable.", metavar="N"),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(help="Measured drains of each case. Default: 5; with --quick 3.", min=1, metavar="N"),
    ] = None,
    place: Annotated[
        Literal["auto", "resident", "stored"] | None,
        typer.Option(help="Penstock's setting `rows`: where rows are kept. Default: none is set."),
    ] = None,
    state: Annotated[
        bool,
        typer.Option(
            "--state",
            help="Also run Penstock with --state. All folders are then on a disk, not in memory.",
        ),
    ] = False,
    master: Annotated[
        str | None,
        typer.Option(
            help="Spark's master; `cluster` starts a master and two workers of one core each. Default: local.",
            metavar="URL",
        ),
    ] = None,
    report: Annotated[Path | None, page_option("Write a page with plots and how it was measured.")] = None,
    as_json: AsJson = False,
) -> None:
    """Drain files of up to 5 million rows with Penstock, with one batch Spark job and with stock.

    Measures time, CPU time, memory, and how many bytes pass through the driver. All parts take hours on two
    cores, and 3 GB of memory for files. Ctrl-C keeps the cases measured so far. Exits with 1 if a required
    comparison does not hold or results are wrong, with 2 if the call was wrong.

    Examples: `penstock bench scale --quick --report scale.html`;
    `penstock bench scale --part filters --filters 1 --file-rows 1000000 --repeat 10`;
    `penstock bench scale --quick --part windows --master cluster`;
    `penstock bench scale --part filters --file-rows 100000 --state`;
    `penstock bench scale --json | jq '.comparisons[] | {claim, measured, holds}'`
    """
    from penstock.bench.scale.case_list import FILE_ROWS, FILTERS, PARTS, ScalePlan
    from penstock.spark.java import check_java

    for each in part or ():
        if each not in PARTS:
            raise typer.BadParameter(f"there is no part {each!r}.{nearest(each, PARTS)}", param_hint="--part")
    for count in file_rows or ():
        if count not in FILE_ROWS:
            sizes = ", ".join(map(str, FILE_ROWS))
            raise typer.BadParameter(
                f"there are no files of {count:,} rows; expected one of {sizes}", param_hint="--file-rows"
            )
    for count in filters or ():
        if count not in FILTERS:
            raise typer.BadParameter(f"expected 1, 10 or 100, not {count}", param_hint="--filters")
    check_java()
    plan = ScalePlan(part or list(PARTS), quick, rows, repeat, place, file_rows or (), filters or (), state)
    found = _measured(plan, master)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _show(wide_console(), found)
    if report:
        from penstock.report.scale import page

        report.write_text(page(found))
        typer.echo(f"penstock: {report} has plots and how it was measured", err=True)
    exit_after_cases(found, len(plan.cases()))


def _measured(plan: "ScalePlan", master: str | None) -> dict[str, Any]:
    """Run the cases until Ctrl-C; return the JSON document made of their results."""
    from penstock.bench.scale.run import RunListeners, document, opened, run_cases

    began = time.monotonic()
    measured: list[ScaleResult] = []
    interrupted = False
    cases = plan.cases()
    progress = CaseProgress(len(cases))

    def take(one: "ScaleResult") -> None:
        measured.append(one)
        progress.done(one.status, f"{short(one.rows_per_s or 0.0)} rows/s", one.took_s)

    try:
        with progress, opened(master) as where:
            run_cases(cases, where, RunListeners(progress.begin, progress.stage, take))
    except KeyboardInterrupt:
        interrupted = True
    took_s = time.monotonic() - began
    return document(measured, quick=plan.quick, interrupted=interrupted, seconds=took_s, master=master)


def _show(console: Console, found: Mapping[str, Any]) -> None:
    """Print the cases, what was required, and what the columns are."""
    from penstock.bench.machine import in_words

    for title in dict.fromkeys(case["table"] for case in found["cases"]):
        console.print(_cases_table(title, [case for case in found["cases"] if case["table"] == title]))
        console.print()
    console.print(comparisons_table(found["comparisons"]))
    console.print(f"\n{in_words(found['machine'])}; {found['master']}", highlight=False)
    console.print(
        "s: seconds of a drain, median; ±: half of the range; ×: Penstock's speed ÷ this system's. CPU seconds "
        "per million rows: py of the driver's Python, java of its Java, exec of executors elsewhere. driver: "
        "bytes through the driver ÷ input; scans: of each file; memory: peak of the driver's Python."
    )


def _cases_table(title: str, cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the systems of one comparison."""
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    for header in ("s", "±", "×", "py", "java", "exec", "driver", "scans", "memory"):
        table.add_column(header, justify="right", no_wrap=True)
    for case in cases:
        if case["status"] != "ok":
            table.add_row(case["label"], Text(case["status"], style="bold red"))
            continue
        spread = (case["seconds_high"] - case["seconds_low"]) / case["seconds"] / 2
        speed, passed, scans = case["penstock_speed"], case["driver_share"], case["scans_per_file"]
        cpu = (case[f"{name}_cpu_s_per_million"] for name in ("python", "jvm", "executor"))
        table.add_row(
            case["label"],
            seconds(case["seconds"]),
            f"{spread:.0%}" if len(case["drains"]) > 1 else NONE,
            NONE if speed is None else f"{speed['ratio']:.2f}",
            *(NONE if value is None else f"{value:.2f}" for value in cpu),
            NONE if passed is None else f"{passed:.1%}",
            NONE if scans is None else f"{scans:.2g}",
            NONE if case["peak_bytes"] is None else size(case["peak_bytes"]),
        )
    return table
