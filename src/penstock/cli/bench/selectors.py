"""`penstock bench selectors`: the regret of choosing policies during a run, against the best in hindsight."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.outcome import conclude, share_bar
from penstock.cli.options import AsJson, page_option
from penstock.cli.style import COMPACT


def selectors(
    traces: Annotated[
        Path | None,
        typer.Option(
            help="Folder with BC-pAug89.parquet and DEC-PKT-1-UDP.parquet: adds workloads of real arrivals.",
            metavar="DIR",
            exists=True,
            file_okay=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed instead of three, 60 instead of 240 seconds.")
    ] = False,
    report: Annotated[
        Path | None,
        page_option("Write a page with a plot of the regrets."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let every selector choose among policies in the simulator, and compare with each policy alone.

    Workloads are steady, bursty, drifting, with changing goals, and traces. The regret is how much worse a
    selector did than the best single policy in hindsight, on the same tuples; below 0, it did better than every
    policy. Takes 5 to 15 minutes on two cores, with --quick 1 to 4. Exits with 1 if a requirement on Penstock's
    own selector, foresight, does not hold.

    Examples: `penstock bench selectors --quick`; `penstock bench selectors --traces traces/ --report regret.html`;
    `penstock bench selectors --json | jq '.selectors'`
    """
    from penstock.bench.selectors.run import measured

    with share_bar() as on_stage:
        found = measured(quick=quick, traces=traces, on_stage=on_stage)
    if report:
        from penstock.report.selectors import page

        report.write_text(page(found))
    conclude(found, _tables(found), f"{report} has a plot." if report else "", as_json=as_json)


def _tables(found: Mapping[str, Any]) -> Iterator[Table]:
    names = list(found["selectors"])
    table = Table(title="Regret in %, mean over seeds", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    kind = ""
    for row in found["workloads"]:
        if row["kind"] != kind:
            kind = row["kind"]
            table.add_row(Text(kind, "bold"))
        table.add_row(f" {row['name']}", *(percent(row["regret"][name]) for name in names))
    yield table
    table = Table(title="Over all workloads", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for title, key, scale in (
        ("mean regret, %", "mean_regret", 1.0),
        ("largest regret, %", "largest_regret", 1.0),
        ("better than every policy, % of runs", "beats_every_policy", 100.0),
        ("best policy used most, % of runs", "most_used_is_best", 100.0),
    ):
        table.add_row(title, *(percent(scale * found["selectors"][name][key]) for name in names))
    per_second = [found["selectors"][name]["seconds_of_computing"] / found["seconds"] for name in names]
    table.add_row("computing, % of the run's time", *(percent(100 * each) for each in per_second))
    yield table


def percent(value: float) -> str:
    """Return a percentage, without decimals from 100 on.

    >>> percent(0.04), percent(-12.34), percent(431.2)
    ('0.0', '-12.3', '431')
    """
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"
