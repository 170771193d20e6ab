"""`penstock bench optimizer`: planning time of each method by the number of streams."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from penstock.cli.bench.outcome import conclude
from penstock.cli.options import AsJson, page_option
from penstock.cli.style import COMPACT, NONE


def optimizer(
    most: Annotated[int, typer.Option(help="Maximum number of streams.", min=2, max=16, metavar="N")] = 12,
    repeat: Annotated[int, typer.Option(help="Number of problems of each size.", min=1, metavar="N")] = 3,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, metavar="N")] = 1,
    report: Annotated[
        Path | None,
        page_option("Write a page with a plot of the times."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Plan random overloaded joins with each method, and measure planning time and output rate.

    A method that took over five seconds for a plan gets no larger problems. Takes about a minute. Exits with 1 if
    a required time is exceeded.

    Examples: `penstock bench optimizer --most 8`; `penstock bench optimizer --json | jq .methods`
    """
    from penstock.bench.optimizer import measured

    with Console(stderr=True).status("") as status:
        found = measured(most, repeat, seed, status.update)
    if report:
        from penstock.report.optimizer import page

        report.write_text(page(found))
    stopped = [f"{each['method']} {each['stopped']}." for each in found["methods"] if each["stopped"]]
    parts: list[RenderableType] = [_times(found), *stopped, "", _rates(found), ""]
    conclude(found, parts, f"{report} has a plot." if report else "", as_json=as_json)


def _times(found: Mapping[str, Any]) -> Table:
    title = f"Planning time in milliseconds: median and longest of {found['repeat']}"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("streams", justify="right", no_wrap=True)
    for each in found["methods"]:
        for header in (each["method"], "max"):
            table.add_column(header, justify="right", no_wrap=True)
    for streams in range(2, found["most"] + 1):
        cells = (
            NONE if timed is None else _milliseconds(timed[key])
            for timed in _of_size(found["methods"], streams)
            for key in ("median_s", "longest_s")
        )
        table.add_row(str(streams), *cells)
    return table


def _rates(found: Mapping[str, Any]) -> Table:
    title = "Output rate ÷ the exact method's: average and lowest"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("streams", justify="right", no_wrap=True)
    others = [each for each in found["methods"] if each["method"] != "exact"]
    for each in others:
        for header in (each["method"], "min"):
            table.add_column(header, justify="right", no_wrap=True)
    for streams in range(2, found["most"] + 1):
        cells = (
            NONE if timed is None or timed[key] is None else f"{timed[key]:.3f}"
            for timed in _of_size(others, streams)
            for key in ("ratio", "lowest_ratio")
        )
        table.add_row(str(streams), *cells)
    return table


def _of_size(methods: Sequence[Mapping[str, Any]], streams: int) -> list[Mapping[str, Any] | None]:
    """Return the times of each method for this number of streams; None where it was not run."""
    return [next((each for each in method["series"] if each["streams"] == streams), None) for method in methods]


def _milliseconds(value: float) -> str:
    return f"{1000 * value:.1f}" if value < 0.00995 else f"{1000 * value:,.0f}"
