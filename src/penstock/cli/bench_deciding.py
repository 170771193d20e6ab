"""`penstock bench deciding`: what share of the time decisions take."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.bench_parts import conclude, keep


def deciding(
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out 5,000 queries that run by themselves.")
    ] = False,
    length: Annotated[
        float, typer.Option("--seconds", help="How long each case runs.", min=5, metavar="S")
    ] = 60.0,
    out: Annotated[
        Path, typer.Option(help="Keep the figures and a report here.", metavar="DIR", file_okay=False)
    ] = Path("benchmarks/results"),
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Run hundreds and thousands of queries, and measure how long it takes to decide which runs next.

    Deciding is choosing the next units, learning from what was measured, and letting go of rows. Takes about 6
    minutes, with --quick 4: thousands of queries that run by themselves take long to start.

    Examples: `penstock bench deciding --quick`; `penstock bench deciding --json | jq .cases`
    """
    from penstock.bench.deciding import measured
    from penstock.report.deciding import page
    from penstock.spark.java import check_java

    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(length, quick=quick, on_stage=status.update)
    report = keep(found, page, out, "deciding-quick" if quick else "deciding")
    conclude(found, [], f"{report} has more.", as_json=as_json)
