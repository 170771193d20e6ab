"""`penstock simulate`: compares policies on a network of costs and selectivities, in virtual time."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from penstock.cli.options import takes
from penstock.cli.signals import INTERRUPTED
from penstock.cli.simulate import runs as simulation
from penstock.cli.simulate import screen
from penstock.cli.simulate.options import TUPLES, SimulateOptions
from penstock.cli.style import spinner, wide_console
from penstock.errors import QosError
from penstock.network import Network
from penstock.qos import Goals
from penstock.qos.settings import goals_among

if TYPE_CHECKING:
    from penstock.cli.simulate.workload import SimulatedWorkload
    from penstock.workloads import Times


@takes(SimulateOptions)
def simulate(options: SimulateOptions) -> None:
    """Run policies on the same tuples in virtual time, and compare their metrics.

    NETWORK is a file of streams, operators, aggregates and queries (docs/simulator.md, examples/network.toml,
    examples/aggregates.toml), or the name of a population: the queries of a paper's experiments. The first run on
    a machine compiles the simulator, which takes about a minute. Ctrl-C shows the policies that have finished and
    exits with 130. Exits with 1 if a file is wrong or the options do not fit it, with 2 if the call was wrong.

    Examples: `penstock simulate examples/network.toml`;
    `penstock simulate sclp08 --queries 100 --load 0.9 -p hnr -p "bsd.every(20)"`;
    `penstock simulate examples/aggregates.toml -p fifo -p hnr -p chain`;
    `penstock simulate bbdm03_join -p fifo -p chain --report chain.html`;
    `penstock simulate sclp08 --queries 50 --qos latency --selector foresight --selector roulette`;
    `penstock simulate examples/network.toml --qos 'weigh echoes 5'`;
    `penstock simulate examples/network.toml -p fifo -p examples/least_slack.py:LEAST_SLACK`;
    `penstock simulate examples/network.toml --trace packets=packets.csv --column time --json`
    """
    if options.listed:
        screen.show_populations(options.as_json)
    else:
        _simulate(options)


def _simulate(options: SimulateOptions) -> None:
    network = options.check()
    policies = options.chosen_policies()
    goals = options.goals()
    selections = options.selections(goals, policies)
    setup_cost = options.setup_cost_s()
    with spinner("building the network …", hidden=options.as_json):
        work, times = _workload(network, options)
    arguments = {
        "seed": options.seed,
        "setup_cost": setup_cost,
        "memory": options.memory,
        "blocking": work.blocking if options.blocking is None else options.blocking,
    }
    weights = _weights(goals, work.network)
    runs, interrupted = simulation.run(
        work.network.weighed(weights),
        times,
        {**policies, **selections},
        {**arguments, "detail": not selections and simulation.keeps_events(work, times)},
        hidden=options.as_json and not sys.stdout.isatty(),
    )
    told = {**arguments, "level": options.level, "weights": weights}
    found = simulation.described(work, times, runs, told, policies, interrupted)
    if options.report and runs:
        from penstock.report.simulation import page

        series = {name: simulation.over_time(result) for name, result in runs.items()}
        options.report.write_text(page(found, series))
    _show(found, options.report if runs else None, options.as_json)
    if interrupted:
        raise typer.Exit(code=INTERRUPTED)


def _workload(network: str, options: SimulateOptions) -> "tuple[SimulatedWorkload, dict[str, Times]]":
    """Return the network with its arrival processes as the options have them, and its arrival times."""
    from penstock.cli.simulate.workload import with_processes, workload_named

    work = workload_named(network, load=options.load, queries=options.queries, seed=options.seed)
    work = with_processes(work, options.traces or (), options.column, options.arrivals)
    if options.rate is not None:
        work = work.with_rate(options.rate)
    if options.load is not None:
        work = work.with_load(options.load)
    tuples = None if options.seconds else options.tuples or TUPLES
    return work, work.times(options.seed, tuples, options.seconds)


def _weights(goals: Goals | None, network: Network) -> dict[str, float]:
    """Return the weights of queries by their names in the network."""
    try:
        return {} if goals is None else dict(goals_among(goals, network.query_by_name).queries)
    except QosError as error:
        raise typer.BadParameter(str(error), param_hint="--qos") from error


def _show(found: dict[str, Any], report: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = wide_console()
    for part in screen.shown(found):
        console.print(part, highlight=False)
    if report:
        console.print(f"\n{report} has the plots.", highlight=False)
