"""`penstock bench orders`: a join in the optimizer's order and in the order written, on Spark."""

from statistics import median
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench.outcome import conclude, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder
from penstock.cli.style import COMPACT, seconds


def orders(
    repeat: Annotated[
        int, typer.Option(help="Runs of each order, after two warm-up runs.", min=1, metavar="N")
    ] = 5,
    length: Annotated[
        float, typer.Option("--seconds", help="Seconds of stream time to process.", min=20, metavar="S")
    ] = 100.0,
    out: ReportFolder = BENCHMARK_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Join four streams, written in a bad order: in the optimizer's order and in the order written.

    Compares results, times, and the utilisation predicted for both orders from runs in the optimizer's order.
    Takes about 4 minutes. Exits with 1 if a required comparison does not hold; they are meant for the defaults.

    Examples: `penstock bench orders`; `penstock bench orders --json | jq .plans`
    """
    from penstock.bench.orders import measured
    from penstock.report.orders import page
    from penstock.spark.java import check_java

    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(length, repeat, status.update)
    report = keep(found, page, out, "orders")
    conclude(found, [_table(found)], f"{report} has plots.", as_json=as_json)


def _table(found: dict[str, Any]) -> Table:
    title = f"{found['rows']:,} rows of four streams, {found['stream_seconds']:g} s of stream time"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("order", no_wrap=True)
    for header in ("seconds", "predicted", "measured", "jobs", "results"):
        table.add_column(header, justify="right", no_wrap=True)
    for name, plan in found["plans"].items():
        table.add_row(
            "the optimizer's" if name == "optimizer" else "as written",
            seconds(median(plan["seconds"])),
            f"{median(plan['predicted']):.1%}",
            f"{median(plan['demand']):.1%}",
            f"{median(plan['jobs']):g}",
            f"{plan['results']:,}",
        )
    table.caption = "predicted, measured: share of the machine at the streams' own rates; all figures are medians"
    return table
