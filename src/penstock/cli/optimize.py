"""`penstock optimize`: the best plan for a join of streams, its drop boxes, and the next best plan."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree as Drawing

from penstock.cli import join_problem as given
from penstock.cli.options import AsJson
from penstock.cli.style import COMPACT, rate, wide_console
from penstock.optimizer import JoinPlan, JoinProblem, plans
from penstock.optimizer import optimize as best_plan
from penstock.optimizer.details import JoinDetail, details
from penstock.optimizer.filters import cost_per_tuple
from penstock.optimizer.plan import Tree, leaves
from penstock.optimizer.search import MOST, Method


def optimize(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The problem, as TOML or JSON.", exists=True, dir_okay=False),
    ] = None,
    rates: Annotated[
        list[str] | None, typer.Option("--rate", metavar="A=10", help="Tuples per second of a stream.")
    ] = None,
    windows: Annotated[
        list[str] | None,
        typer.Option(
            "--window", metavar="A=100", help="Rows in a stream's window; with a unit (5s), its length in time."
        ),
    ] = None,
    joins: Annotated[
        list[str] | None, typer.Option("--join", metavar="A,B=0.5", help="The selectivity of a predicate.")
    ] = None,
    cost: Annotated[
        str | None, typer.Option("--cost", metavar="TIME", help="Cost of a join per tuple, e.g. 3ms.")
    ] = None,
    capacity: Annotated[float | None, typer.Option(help="Available share of a processor.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(get_args(Method))}.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the best plan for a join: the cheapest feasible one, or, if none is, the one that keeps most results.

    Options add to the file or override it; --rate, --window and --join are given once for each stream or pair. A
    file can also have filters, methods, headroom and share (docs/optimizer.md). Exits with 1 if the problem is
    invalid.

    Examples: `penstock optimize --rate A=10 --rate B=70 --rate C=20 --window A=10 --window B=10 --window C=10
    --join A,B=0.5 --join B,C=0.2 --cost 5ms`; `penstock optimize examples/join.toml --capacity 0.2 --json`
    """
    arguments = given.from_file(file) if file else {}
    for key, option, values in (
        ("rates", "--rate", rates),
        ("windows", "--window", windows),
        ("selectivities", "--join", joins),
    ):
        more = given.pairs(values or (), option)
        known = given.mapping(arguments, key)
        replaced = {",".join(reversed(name.split(","))) for name in more}  # a pair in either order
        arguments[key] = {**{name: each for name, each in known.items() if name not in replaced}, **more}
    if cost is not None:
        arguments["join_cost"] = cost
    if not arguments["rates"]:
        raise typer.BadParameter("give a FILE, or --rate, --window, --join and --cost; --help has examples")
    problem = given.made(arguments)
    if capacity is not None:
        problem = replace(problem, capacity=capacity)
    plan = best_plan(problem, method)  # type: ignore[arg-type]
    found = _described(problem, plan)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        wide_console().print(_shown(problem, plan, found))


def _described(problem: JoinProblem, plan: JoinPlan) -> dict[str, Any]:
    """Return the plan as a JSON document."""
    return {
        "order": list(plan.order),
        "tree": plan.tree,
        "feasible": plan.feasible,
        "rate": plan.rate,
        "utilization": plan.utilization,
        "demand": plan.demand,
        "capacity": problem.budget,
        "keep": dict(plan.keep),
        "joins": [
            {
                "streams": list(leaves(each.tree)),
                "rate": each.rate,
                "window": each.window,
                "utilization": each.utilization,
                "methods": list(each.methods),
            }
            for each in details(plan)
        ],
        "runner_up": _runner_up(problem, plan),
        "product_of": [list(part) for part in problem.parts] if len(problem.parts) > 1 else None,
    }


def _runner_up(problem: JoinProblem, plan: JoinPlan) -> dict[str, Any] | None:
    """Return the best other left-deep plan, where all can be listed."""
    if len(problem.streams) > MOST["exhaustive"] or (problem.is_timed and len(problem.streams) > 5):
        return None
    others = [each for each in plans(problem) if each.order != plan.order]
    if not others:
        return None
    return {"order": list(others[0].order), "rate": others[0].rate, "utilization": others[0].utilization}


def _shown(problem: JoinProblem, plan: JoinPlan, found: dict[str, Any]) -> RenderableType:
    parts: list[RenderableType] = [_summary(problem, plan), Text(""), _drawing(plan)]
    if not plan.feasible:
        parts += [Text(""), _boxes(problem, plan)]
        gone = [name for name, share in plan.keep.items() if not share and problem.windows[name].kind == "rows"]
        if gone:
            held = f"{', '.join(gone)}: dropped completely; their windows of rows keep the last rows they had."
            parts.append(Text(held, style="yellow"))
    if found["product_of"]:
        groups = " × ".join("{" + ", ".join(part) + "}" for part in found["product_of"])
        parts.append(Text(f"\nNo predicate connects {groups}: their product is formed.", style="yellow"))
    if found["runner_up"]:
        parts.append(Text("\n" + _behind(plan, found["runner_up"]), style="dim"))
    return Group(*parts)


def _summary(problem: JoinProblem, plan: JoinPlan) -> Text:
    text = Text.assemble(
        (" ⋈ ".join(plan.order), "bold"), f"  {rate(plan.rate)} results/s, {plan.utilization:.1%} of a processor"
    )
    if plan.feasible:
        return text.append(", feasible", style="green")
    return text.append(f" ({plan.demand:.1%} without shedding)", style="yellow")


def _drawing(plan: JoinPlan) -> Drawing:
    by_tree: dict[Tree, JoinDetail] = {each.tree: each for each in details(plan)}

    def grow(tree: Tree, parent: Drawing | None) -> Drawing:
        label = _leaf(plan, tree) if isinstance(tree, str) else _join(by_tree[tree])
        node = parent.add(label) if parent else Drawing(label, guide_style="dim")
        for side in () if isinstance(tree, str) else tree:
            grow(side, node)
        return node

    return grow(plan.tree, None)


def _join(each: JoinDetail) -> Text:
    ways = "" if each.methods[0] == each.methods[1] == "join" else f"  {each.methods[0]}/{each.methods[1]}"
    label = Text.assemble(("⋈", "bold"), f"  {rate(each.rate)}/s, window {each.window:,.4g}, ")
    return label.append(f"{each.utilization:.1%}", style="cyan").append(ways, style="dim")


def _leaf(plan: JoinPlan, name: str) -> Text:
    window = plan.problem.windows[name]
    unit = "s" if window.kind == "range" else "row" if window.size == 1 else "rows"
    arriving = float(plan.problem.rates[name])
    label = Text.assemble((name, "bold"), f" [{window.size:g} {unit}]  {rate(arriving)}/s")
    if plan.problem.filters[name]:
        cost, passed = cost_per_tuple(plan.problem.filters[name])
        taken = arriving * plan.keep[name] * cost / float(plan.problem.share)
        label.append(f", filters pass {passed:.1%}, ").append(f"{taken:.1%}", style="cyan")
    if plan.keep[name] < 1:
        label.append(f"  drop box keeps {plan.keep[name]:.1%}", style="yellow")
    return label


def _boxes(problem: JoinProblem, plan: JoinPlan) -> Table:
    table = Table(title="Drop boxes, at the sources", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("stream", no_wrap=True)
    for header in ("arrives", "kept", "dropped"):
        table.add_column(header, justify="right", no_wrap=True)
    for name in problem.streams:
        arrives, keep = float(problem.rates[name]), plan.keep[name]
        table.add_row(name, f"{rate(arrives)}/s", f"{keep:.1%}", f"{rate(arrives * (1 - keep))}/s")
    return table


def _behind(plan: JoinPlan, other: dict[str, Any]) -> str:
    order = " ⋈ ".join(other["order"])
    if plan.rate > other["rate"] * (1 + 1e-9):
        return (
            f"Next best: {order} with {rate(other['rate'])} results/s, {1 - other['rate'] / plan.rate:.1%} fewer."
        )
    more = other["utilization"] / plan.utilization - 1
    return (
        f"Next best: {order} with {other['utilization']:.1%} of a processor, {more:.1%} more."
        if more > 1e-9
        else f"As good: {order}."
    )
