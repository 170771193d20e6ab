"""`penstock simulate`: policies side by side on a network of numbers, in virtual time."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.join_problem import seconds as in_seconds
from penstock.cli.own_policy import is_own, policy_given
from penstock.cli.signals import INTERRUPTED
from penstock.cli.simulate import runs as simulation
from penstock.cli.simulate import screen
from penstock.cli.style import in_a_folder, spinner, wide_console
from penstock.errors import PlanError, PolicyError, QosError
from penstock.network import Network
from penstock.policies import Policy
from penstock.qos import DEFAULT as DEFAULT_GOALS
from penstock.qos import SELECTORS, Goals, Selection
from penstock.qos.settings import goals_among

DEFAULT = ("fifo", "hr", "hnr", "bsd", "chain")
TUPLES = 20_000


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"it must be above 0 and finite, not {value:g}")
    return value


def simulate(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK", help="A network file, TOML or JSON, or a population.", show_default=False
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the populations: the papers' queries.")] = False,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help='Once for each: hnr, "bsd.every(20)", or one in a file: mypolicy.py:NAME. '
            f"Default: {' '.join(DEFAULT)}.",
        ),
    ] = None,
    tuples: Annotated[
        int | None, typer.Option(help=f"Arrivals on all streams. Default: {TUPLES}.", min=1, metavar="N")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Or arrivals up to this time.", metavar="S", callback=_positive)
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="[STREAM=]FILE",
            help="Arrival times from a .parquet or .csv file, for all streams or one.",
        ),
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column of times in the trace.", metavar="NAME")] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="poisson, bursty, flows or redrawn. Default: the population's own, or poisson."
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            help="Arrivals a second on all streams: faster, costs as they are.", metavar="R", callback=_positive
        ),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            help="Scale the costs so that the arrivals need this share of the time.",
            metavar="L",
            callback=_positive,
        ),
    ] = None,
    queries: Annotated[int | None, typer.Option(help="Of sclp08 and its variants.", min=1, metavar="N")] = None,
    seed: Annotated[int, typer.Option(help="Of arrivals, fates and populations.", min=0, metavar="N")] = 1,
    setup_cost: Annotated[
        str, typer.Option(help="What each run costs before its tuple: 1ms.", metavar="TIME")
    ] = "0",
    memory: Annotated[
        float | None, typer.Option(help="The limit of threshold policies.", metavar="SIZE", callback=_positive)
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="Decide anew after a query or after an operator.", metavar="query|operator")
    ] = None,
    blocking: Annotated[
        bool | None,
        typer.Option(
            "--blocking/--no-blocking", help="Joins wait for an empty input. Default: as the population has it."
        ),
    ] = None,
    qos: Annotated[
        str | None,
        typer.Option(
            "--qos",
            metavar="GOALS",
            help="Also choose among the policies on the way, by goals as in SET qos: latency, "
            "'minimize avg_slowdown 0.7, minimize queue_memory 0.3'. Every policy ranks by weights of queries: "
            "'weigh q1 5', alone or behind goals.",
        ),
    ] = None,
    selectors: Annotated[
        list[str] | None,
        typer.Option(
            "--selector", metavar="NAME", help=f"By which selector, once for each: {', '.join(SELECTORS)}."
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write plots to this page.", metavar="FILE.html", dir_okay=False, callback=in_a_folder),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")] = False,
) -> None:
    """Run policies on the same tuples in virtual time, and show their figures side by side.

    NETWORK is a file of streams, operators and queries (docs/simulator.md, examples/network.toml), or the name of
    a population, the queries of a paper's experiments. The first run on a machine compiles the simulator for about
    a minute. Ctrl-C shows the policies that are finished and exits with 130. Exits with 1 if a file is wrong or
    something does not fit, with 2 if the call was wrong.

    Examples: `penstock simulate examples/network.toml`;
    `penstock simulate sclp08 --queries 100 --load 0.9 -p hnr -p "bsd.every(20)"`;
    `penstock simulate bbdm03_join -p fifo -p chain --report chain.html`;
    `penstock simulate sclp08 --queries 50 --qos latency --selector foresight --selector roulette`;
    `penstock simulate examples/network.toml --qos 'weigh echoes 5'`;
    `penstock simulate examples/network.toml -p fifo -p examples/least_slack.py:LEAST_SLACK`;
    `penstock simulate examples/network.toml --trace packets=packets.csv --column time --json`
    """
    if listed:
        screen.show_populations(as_json)
        return
    if network is None:
        raise typer.BadParameter("give a network file or a population; --list lists those", param_hint="NETWORK")
    if tuples is not None and seconds is not None:
        raise typer.BadParameter("give --tuples or --seconds, not both", param_hint="--seconds")
    if column is not None and not traces:
        raise typer.BadParameter("there is no --trace that could have a column", param_hint="--column")
    chosen = _policies(policies or DEFAULT, level)
    goals = _goals(qos)
    choosing = _selections(goals, selectors, chosen, seed)
    paid = _setup_cost(setup_cost)
    with spinner("building the network …", hidden=as_json):
        from penstock.cli.simulate.workload import with_processes, workload_named

        work = with_processes(
            workload_named(network, load=load, queries=queries, seed=seed), traces or (), column, arrivals
        )
        work = work if rate is None else work.with_rate(rate)
        work = work if load is None else work.with_load(load)
        times = work.times(seed, None if seconds else tuples or TUPLES, seconds)
    options = {
        "seed": seed,
        "setup_cost": paid,
        "memory": memory,
        "blocking": work.blocking if blocking is None else blocking,
    }
    hidden = as_json and not sys.stdout.isatty()
    weights = _weights(goals, work.network)
    network_weighed = work.network.weighed(weights)
    runs, interrupted = simulation.run(network_weighed, times, {**chosen, **choosing}, options, hidden=hidden)
    told = {**options, "level": level, "weights": weights}
    found = simulation.described(work, times, runs, told, chosen, interrupted)
    if report and runs:
        from penstock.report.simulation import page

        report.write_text(page(found, {name: simulation.over_time(result) for name, result in runs.items()}))
    _show(found, report if runs else None, as_json)
    if interrupted:
        raise typer.Exit(code=INTERRUPTED)


def _policies(names: Sequence[str], level: str | None) -> dict[str, Policy]:
    """Return the policies by the names that were given, each once."""
    if level not in (None, "query", "operator"):
        raise typer.BadParameter(f"a level is query or operator, not {level!r}", param_hint="--level")
    found = {}
    for name in names:
        try:
            policy = policy_given(name.strip())
            found[name.strip()] = policy if level is None else policy.level(level)  # type: ignore[arg-type]
        except PolicyError as error:
            raise typer.BadParameter(str(error), param_hint="--policy") from error
    return found


def _goals(qos: str | None) -> Goals | None:
    try:
        return None if qos is None else Goals.parse(qos)
    except QosError as error:
        raise typer.BadParameter(str(error), param_hint="--qos") from error


def _weights(goals: Goals | None, network: Network) -> dict[str, float]:
    """Return the weights of queries by their names in the network."""
    try:
        return {} if goals is None else dict(goals_among(goals, network.query_by_name).queries)
    except QosError as error:
        raise typer.BadParameter(str(error), param_hint="--qos") from error


def _selections(
    goals: Goals | None, selectors: Sequence[str] | None, policies: Mapping[str, Policy], seed: int
) -> dict[str, Selection]:
    """Return what chooses among the policies, by selector; nothing where only weights are given."""
    if (goals is None or goals.implied) and not selectors:
        return {}
    goals = DEFAULT_GOALS if goals is None else replace(goals, implied=False)
    own = next((name for name, policy in policies.items() if is_own(policy)), None)
    if own is not None:
        raise typer.BadParameter(
            f"selectors choose among policies of the table, which {own} is not: leave out --qos and --selector, "
            "or give weights of queries alone",
            param_hint="--policy",
        )
    candidates = list(dict.fromkeys(policy.name for policy in policies.values()))
    found = {}
    for name in selectors or ("foresight",):
        try:
            found[name] = Selection(goals, name, candidates, seed=seed)
        except QosError as error:
            raise typer.BadParameter(str(error), param_hint="--selector") from error
    return found


def _setup_cost(given: str) -> float:
    try:
        cost = in_seconds(given, "the set-up cost")
    except PlanError as error:
        raise typer.BadParameter(str(error), param_hint="--setup-cost") from error
    if not 0 <= cost < math.inf:
        raise typer.BadParameter(f"it must be 0 or more, not {given}", param_hint="--setup-cost")
    return cost


def _show(found: dict[str, Any], report: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = wide_console()
    for part in screen.shown(found):
        console.print(part, highlight=False)
    if report:
        console.print(f"\n{report} has the plots.", highlight=False)
