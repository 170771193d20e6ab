"""`penstock bench overload`: a join at three times the machine's capacity, with a memory limit, on Spark."""

from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench.outcome import conclude
from penstock.cli.options import AsJson
from penstock.cli.style import COMPACT, NONE, size

QUICK_S = 45.0


def overload(
    length: Annotated[
        float, typer.Option("--seconds", help="How long the overload lasts.", min=30, metavar="S")
    ] = 120.0,
    quick: Annotated[bool, typer.Option("--quick", help=f"Only {QUICK_S:g} seconds of overload.")] = False,
    as_json: AsJson = False,
) -> None:
    """Join three streams at three times the machine's capacity, with a memory limit, and check load shedding.

    First the join's demand is measured, then its streams run at three times the sustainable rate. Compares queue
    memory with the limit, the output with the optimizer's prediction for the drop boxes, the order of the join
    with the best one for what is kept, and the counts of dropped rows with the record of the boxes. Takes about 4
    minutes, and needs an idle machine. Exits with 1 if a comparison does not hold.

    Examples: `penstock bench overload`; `penstock bench overload --quick --json | jq .streams`
    """
    from penstock.bench.overload import measured
    from penstock.spark.java import check_java

    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(QUICK_S if quick else length, status.update)
    conclude(found, [_streams(found), _figures(found)], "", as_json=as_json)


def _streams(found: dict[str, Any]) -> Table:
    taken = f"{found['demand_at_speed_1']:.0%} of the machine"
    title = f"{found['seconds']:g} s at {found['speed']:.3g} times the rates that take {taken}"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("stream", no_wrap=True)
    for header in ("rows", "kept", "dropped", "by boxes", "boxes", "keep share, last"):
        table.add_column(header, justify="right", no_wrap=True)
    for name, stream in found["streams"].items():
        counts = [f"{stream[key]:,}" for key in ("rows", "kept", "dropped", "said_by_boxes")]
        table.add_row(name, *counts, f"{len(stream['boxes']) - 1}", f"{found['keep'][name]:.3g}")
    return table


def _figures(found: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_header=False, **COMPACT)
    table.add_column("", ratio=1)
    table.add_column("", justify="right", no_wrap=True)
    for label, value, form in (
        ("utilisation predicted with nothing dropped", found["predicted_demand"], "{:.2f}"),
        ("results", found["results"], "{:,}"),
        ("results predicted by the optimizer for the drop boxes", found["predicted_results"], "{:,.0f}"),
    ):
        table.add_row(label, NONE if value is None else form.format(value))
    peak, limit = size(found["peak_bytes"]), size(found["memory_limit"])
    table.add_row("peak queue memory, and the limit", f"{peak} of {limit}")
    for when, label in (("before", "before anything was dropped"), ("after", "with drop boxes")):
        best = ", then ".join(found["expected_orders"][when])
        table.add_row(f"a row of a probes, {label} (best: {best})", ", then ".join(found["orders"][when]) or NONE)
    return table
