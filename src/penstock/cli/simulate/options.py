"""The options of `penstock simulate`, and the policies, goals and costs that they name."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.join_problem import seconds as in_seconds
from penstock.cli.options import AsJson, page_option
from penstock.cli.own_policy import is_own, policy_given
from penstock.errors import PlanError, PolicyError, QosError
from penstock.policies import Policy
from penstock.qos import DEFAULT as DEFAULT_GOALS
from penstock.qos import SELECTORS, Goals, Selection

DEFAULT = ("fifo", "hr", "hnr", "bsd", "chain")
TUPLES = 20_000


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"it must be above 0 and finite, not {value:g}")
    return value


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """The options of `penstock simulate`, in the order of its help."""

    network: Annotated[
        str | None,
        typer.Argument(
            metavar="NETWORK", help="A network file (TOML or JSON) or a population.", show_default=False
        ),
    ] = None
    listed: Annotated[bool, typer.Option("--list", help="List the populations.")] = False
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            help='A policy: hnr, "bsd.every(20)", or one in a file: mypolicy.py:NAME; repeatable. '
            f"Default: {' '.join(DEFAULT)}.",
        ),
    ] = None
    tuples: Annotated[
        int | None, typer.Option(help=f"Number of arrivals on all streams. Default: {TUPLES}.", min=1, metavar="N")
    ] = None
    seconds: Annotated[
        float | None,
        typer.Option(help="Instead of --tuples: arrivals up to this time.", metavar="S", callback=_positive),
    ] = None
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="[STREAM=]FILE",
            help="Arrival times from a .parquet or .csv file, for all streams or one.",
        ),
    ] = None
    column: Annotated[str | None, typer.Option(help="The column of times in the trace.", metavar="NAME")] = None
    arrivals: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="poisson, bursty, flows or redrawn. Default: the population's own, or poisson."
        ),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option(
            help="Arrivals per second on all streams; costs stay as they are.", metavar="R", callback=_positive
        ),
    ] = None
    load: Annotated[
        float | None,
        typer.Option(
            help="Scale the costs so that the arrivals take this share of the time.",
            metavar="L",
            callback=_positive,
        ),
    ] = None
    queries: Annotated[
        int | None, typer.Option(help="Number of queries, for sclp08 and its variants.", min=1, metavar="N")
    ] = None
    seed: Annotated[
        int, typer.Option(help="Random seed of arrivals, fates and populations.", min=0, metavar="N")
    ] = 1
    setup_cost: Annotated[str, typer.Option(help="Set-up cost of each run, e.g. 1ms.", metavar="TIME")] = "0"
    memory: Annotated[
        float | None, typer.Option(help="Memory limit of threshold policies.", metavar="SIZE", callback=_positive)
    ] = None
    level: Annotated[
        str | None, typer.Option(help="Decide after each query or after each operator.", metavar="query|operator")
    ] = None
    blocking: Annotated[
        bool | None,
        typer.Option(
            "--blocking/--no-blocking", help="Joins wait for an empty input. Default: the population's own."
        ),
    ] = None
    qos: Annotated[
        str | None,
        typer.Option(
            "--qos",
            metavar="GOALS",
            help="Also let selectors choose among the policies during the run, by goals as in SET qos: latency, "
            "'minimize avg_slowdown 0.7, minimize queue_memory 0.3'. Weights of queries apply to every policy: "
            "'weigh q1 5', alone or after goals.",
        ),
    ] = None
    selectors: Annotated[
        list[str] | None,
        typer.Option(
            "--selector", metavar="NAME", help=f"A selector for --qos: {', '.join(SELECTORS)}; repeatable."
        ),
    ] = None
    report: Annotated[
        Path | None,
        page_option("Write plots to this page."),
    ] = None
    as_json: AsJson = False

    def check(self) -> str:
        """Return the network that is named; raise `BadParameter` where options do not fit together."""
        if self.network is None:
            raise typer.BadParameter(
                "give a network file or a population; --list shows the populations", param_hint="NETWORK"
            )
        if self.tuples is not None and self.seconds is not None:
            raise typer.BadParameter("--tuples and --seconds cannot be combined", param_hint="--seconds")
        if self.column is not None and not self.traces:
            raise typer.BadParameter("--column needs --trace", param_hint="--column")
        return self.network

    def chosen_policies(self) -> dict[str, Policy]:
        """Return the policies by the names that were given, each once."""
        if self.level not in (None, "query", "operator"):
            raise typer.BadParameter(f"must be query or operator, not {self.level!r}", param_hint="--level")
        found = {}
        for name in self.policies or DEFAULT:
            try:
                policy = policy_given(name.strip())
                found[name.strip()] = policy if self.level is None else policy.level(self.level)  # type: ignore[arg-type]
            except PolicyError as error:
                raise typer.BadParameter(str(error), param_hint="--policy") from error
        return found

    def goals(self) -> Goals | None:
        """Return the goals and weights of --qos."""
        try:
            return None if self.qos is None else Goals.parse(self.qos)
        except QosError as error:
            raise typer.BadParameter(str(error), param_hint="--qos") from error

    def selections(self, goals: Goals | None, policies: Mapping[str, Policy]) -> dict[str, Selection]:
        """Return the selections among the policies, by selector; none where only weights are given."""
        if (goals is None or goals.implied) and not self.selectors:
            return {}
        goals = DEFAULT_GOALS if goals is None else replace(goals, implied=False)
        own = next((name for name, policy in policies.items() if is_own(policy)), None)
        if own is not None:
            raise typer.BadParameter(
                f"selectors choose among built-in policies only, and {own} is not one: leave out --qos and "
                "--selector, or give only weights of queries",
                param_hint="--policy",
            )
        candidates = list(dict.fromkeys(policy.name for policy in policies.values()))
        found = {}
        for name in self.selectors or ("foresight",):
            try:
                found[name] = Selection(goals, name, candidates, seed=self.seed)
            except QosError as error:
                raise typer.BadParameter(str(error), param_hint="--selector") from error
        return found

    def setup_cost_s(self) -> float:
        """Return the set-up cost of each run, in seconds."""
        try:
            cost = in_seconds(self.setup_cost, "the set-up cost")
        except PlanError as error:
            raise typer.BadParameter(str(error), param_hint="--setup-cost") from error
        if not 0 <= cost < math.inf:
            raise typer.BadParameter(f"it must be 0 or more, not {self.setup_cost}", param_hint="--setup-cost")
        return cost
