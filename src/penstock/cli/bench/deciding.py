"""`penstock bench deciding`: the share of the time that scheduling decisions take."""

from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.bench.outcome import conclude, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder


def deciding(
    quick: Annotated[bool, typer.Option("--quick", help="Leave out the case of 5,000 ungrouped queries.")] = False,
    length: Annotated[
        float, typer.Option("--seconds", help="How long each case runs.", min=5, metavar="S")
    ] = 60.0,
    out: ReportFolder = BENCHMARK_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run hundreds and thousands of queries, and measure how long scheduling decisions take.

    Deciding is choosing the next units, updating cost estimates, and releasing rows. Takes about 6 minutes, with
    --quick 4: thousands of ungrouped queries take long to start.

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
