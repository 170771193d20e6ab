"""`penstock bench orders`: a join in the optimizer's order beside the order written, on Spark."""

from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench_parts import conclude, keep
from penstock.cli.style import COMPACT, seconds


def orders(
    repeat: Annotated[
        int, typer.Option(help="Runs of each order, after two that warm up.", min=1, metavar="N")
    ] = 5,
    length: Annotated[
        float, typer.Option("--seconds", help="How much of the streams' time is worked off.", min=20, metavar="S")
    ] = 100.0,
    out: Annotated[
        Path, typer.Option(help="Keep the figures and a report here.", metavar="DIR", file_okay=False)
    ] = Path("benchmarks/results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Join four streams whose conditions stand in a bad order, as the optimizer chooses and as written.

    Compares results, times, and the utilisation that was predicted for both orders from runs in the optimizer's.
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
    title = f"{found['rows']:,} rows of four streams, {found['stream_seconds']:g} s of their time"
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
    table.caption = "predicted, measured: the share of the machine at the streams' own pace; medians, like seconds"
    return table
