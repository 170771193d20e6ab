"""`penstock bench policies`: compares policies on Spark, near saturation."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.bench.outcome import conclude, keep
from penstock.cli.options import BENCHMARK_RESULTS, AsJson, ReportFolder
from penstock.cli.own_policy import policy_given
from penstock.cli.policy_option import on_spark
from penstock.cli.style import COMPACT, seconds
from penstock.errors import PolicyError, nearest
from penstock.policies import Policy

_FIGURES = {"avg_response": "average response", "avg_slowdown": "average slowdown"}


def policies(
    workload: Annotated[
        str,
        typer.Option(help="What runs: `selections`, or `aggregates` over windows and filters.", metavar="NAME"),
    ] = "selections",
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
    """Run queries of very different cost and selectivity under each policy, on the same bursty input.

    The workload `selections` has thirty queries; `aggregates` has twenty aggregates over windows and twenty
    filters. Beside what is measured is what the simulator predicts for the measured costs.

    The load is 90 % of the capacity in large batches, which is measured first. Every unit is a job of its own, so
    that there is something to schedule; `plain` policies ignore the set-up cost of a job. Takes about 18 minutes,
    with --quick 7; `aggregates` about 13, and 6. Exits with 1 if a required comparison does not hold.

    Examples: `penstock bench policies --quick`; `penstock bench policies --workload aggregates`;
    `penstock bench policies --json | jq .policies`;
    `penstock bench policies --quick -p lsf -p examples/least_slack.py:LEAST_SLACK`
    """
    from penstock.bench.policies.run import POLICIES, WORKLOADS, measured
    from penstock.report.policies import page
    from penstock.spark.java import check_java

    if workload not in WORKLOADS:
        there = ", ".join(WORKLOADS)
        raise typer.BadParameter(
            f"{workload!r} is not one of {there}.{nearest(workload, WORKLOADS)}", param_hint="--workload"
        )
    others = _others(more or (), POLICIES[workload])
    check_java()
    usual = 25.0 if workload == "aggregates" else 30.0
    with Console(stderr=True).status("") as status:
        found = measured(
            WORKLOADS[workload](),
            length or (15.0 if quick else usual),
            repeat or (1 if quick else 2),
            status.update,
            others,
        )
    name = f"policies{'' if workload == 'selections' else f'-{workload}'}{'-quick' if quick else ''}"
    report = keep(found, page, out, name)
    tables: list[RenderableType] = [_table(found), *_by_kind(found), *_prediction(found), *_orders(found)]
    conclude(found, tables, f"{report} has plots.", as_json=as_json)


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


def _by_kind(found: dict[str, Any]) -> Iterator[Table]:
    """Yield a table for each kind of query, if there are several."""
    for kind in found["policies"][0]["kinds"]:
        has_p99 = "p99_response" in found["policies"][0]["kinds"][kind]
        table = Table(title=f"Results of {kind}", box=SIMPLE_HEAD, **COMPACT)
        if has_p99:
            table.caption = "responses are from the end of the window"
        table.add_column("policy", no_wrap=True)
        for header in ("response", *(("99 %",) if has_p99 else ()), "max", "ℓ2", "slowdown", "max"):
            table.add_column(header, justify="right", no_wrap=True)
        for policy in found["policies"]:
            each = policy["kinds"][kind]
            keys = ("avg_response", *(("p99_response",) if has_p99 else ()), "max_response")
            cells = [*(seconds(each[key]) for key in keys), f"{each['l2_response']:,.0f}"]
            cells += [f"{each['avg_slowdown']:.2f}", f"{each['max_slowdown']:.1f}"]
            table.add_row(policy["policy"], *cells)
        yield table


def _prediction(found: dict[str, Any]) -> Iterator[Table]:
    """Yield tables of what was measured and what the simulator predicts, side by side."""
    for kind in (None, *found["policies"][0]["kinds"]):
        title = f"Predicted by the simulator: {kind or 'all results'}"
        table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
        table.add_column("policy", no_wrap=True)
        for header in ("response", "predicted", "slowdown", "predicted"):
            table.add_column(header, justify="right", no_wrap=True)
        for both in zip(found["policies"], found["prediction"]["policies"], strict=True):
            ours, theirs = (each if kind is None else each["kinds"][kind] for each in both)
            cells = [seconds(each["avg_response"]) for each in (ours, theirs)]
            cells += [f"{each['avg_slowdown']:.1f}" for each in (ours, theirs)]
            table.add_row(both[0]["policy"], *cells)
        yield table


def _orders(found: dict[str, Any]) -> Iterator[Text]:
    """Yield how well the predicted order of policies agrees with the measured one."""
    for each in found["prediction"]["orders"]:
        what = f"{_FIGURES[each['figure']]}, {each['results']}: Kendall's tau {each['tau']:.2f}"
        yield Text(f"{what}; measured {' < '.join(each['measured'])}; predicted {' < '.join(each['predicted'])}.")
