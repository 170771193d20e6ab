"""`penstock bench policies`: compares policies on Spark, near saturation."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench.outcome import conclude, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder
from penstock.cli.own_policy import policy_given
from penstock.cli.policy_option import on_spark
from penstock.cli.style import COMPACT, seconds
from penstock.errors import PolicyError
from penstock.policies import Policy


def policies(
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs, one of each policy.")] = False,
    more: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help="Also compare this policy: lsf, or one in a file: mypolicy.py:NAME; repeatable.",
        ),
    ] = None,
    repeat: Annotated[int | None, typer.Option(help="Runs of each policy.", min=1, metavar="N")] = None,
    length: Annotated[
        float | None, typer.Option("--seconds", help="How long rows arrive in each run.", min=5, metavar="S")
    ] = None,
    out: ReportFolder = BENCHMARK_RESULTS,
    as_json: AsJson = False,
) -> None:
    """Run thirty queries of very different cost and selectivity under each policy, on the same bursty input.

    The load is 90 % of the capacity in large batches, which is measured first. Every unit is a job of its own, so
    that there is something to schedule; `plain` policies ignore the set-up cost of a job. Takes about 18 minutes,
    with --quick 7. Exits with 1 if a required comparison does not hold.

    Examples: `penstock bench policies --quick`; `penstock bench policies --json | jq .policies`;
    `penstock bench policies --quick -p lsf -p examples/least_slack.py:LEAST_SLACK`
    """
    from penstock.bench.policies.run import POLICIES, measured
    from penstock.report.policies import page
    from penstock.spark.java import check_java

    others = _others(more or (), POLICIES)
    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(length or (15.0 if quick else 30.0), repeat or (1 if quick else 2), status.update, others)
    name = "policies-quick" if quick else "policies"
    report = keep(found, page, out, name)
    conclude(found, [_table(found)], f"{report} has plots.", as_json=as_json)


def _others(names: Sequence[str], there: Sequence[str]) -> list[Policy]:
    """Return the additional policies to compare."""
    found: list[Policy] = []
    for name in names:
        try:
            policy = on_spark(policy_given(name.strip()))
        except PolicyError as error:
            raise typer.BadParameter(str(error), param_hint="--policy") from error
        if policy.name in (*there, *(other.name for other in found)):
            raise typer.BadParameter(f"policy {policy.name!r} is already compared", param_hint="--policy")
        found.append(policy)
    return found


def _table(found: dict[str, Any]) -> Table:
    title = (
        f"{found['queries']} queries, {found['offered_rows_per_s']:,.0f} rows/s offered of "
        f"{found['capacity_rows_per_s']:,.0f}"
    )
    caption = "response: average and longest, in seconds; slowdown: response ÷ the query's own time"
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("policy", no_wrap=True)
    for header in ("response", "max", "slowdown", "max", "jobs", "busy", "deciding"):
        table.add_column(header, justify="right", no_wrap=True)
    for each in found["policies"]:
        table.add_row(
            each["policy"],
            seconds(each["avg_response"]),
            seconds(each["max_response"]),
            f"{each['avg_slowdown']:.2f}",
            f"{each['max_slowdown']:.1f}",
            f"{each['jobs']:,.0f}",
            f"{each['utilization']:.0%}",
            f"{each['deciding']:.1%}",
        )
    return table
