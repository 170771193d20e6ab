"""`penstock reproduce AN04`: join plans under load shedding, and the error of the paper's heuristic."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from penstock.cli.options import AsJson, page_option
from penstock.cli.reproduce.claims import claims_table, reasons
from penstock.cli.style import COMPACT, NONE, plural, rate, wide_console
from penstock.report.verdicts import counted


def an04(
    queries: Annotated[int, typer.Option(help="Number of random queries.", min=1, metavar="N")] = 1000,
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, metavar="N")] = 1,
    steps: Annotated[
        int, typer.Option(help="Steps of each search for hard problems; 0 for no search.", min=0, metavar="N")
    ] = 1200,
    report: Annotated[
        Path | None,
        page_option("Write the figures to this page."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Optimise random joins of five streams with fewer and fewer resources, as in section 6 of the paper.

    Every query is planned by listing all left-deep plans, by the paper's dynamic programming and by the exact
    method. Then a search looks for problems on which the dynamic programming errs most. Takes half a minute. Exits
    with 0 whether or not the claims hold.

    Examples: `penstock reproduce AN04`; `penstock reproduce AN04 --steps 0 --report an04.html`;
    `penstock reproduce AN04 --json | jq '.claims[] | select(.holds == false)'`
    """
    from penstock.experiments.an04.reproduce import reproduced

    with Console(stderr=True).status("") as status:
        found = reproduced(queries, seed, steps, status.update)
    if report:
        from penstock.report.an04 import page

        report.write_text(page(found))
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    screen = wide_console()
    for part in _shown(found):
        screen.print(part, highlight=False)
    if report:
        screen.print(f"\n{report} has the figures.", highlight=False)


def _shown(found: Mapping[str, Any]) -> Iterator[Any]:
    count = plural(found["queries"], "random query", "random queries")
    yield _levels(found["levels"], f"{count} of five streams, seed {found['seed']}")
    yield ""
    yield claims_table(found["claims"])
    yield from (Text(reason, "dim") for reason in reasons(found["claims"]))
    yield ""
    yield _verdict(found)
    if found["hardest"]:
        yield ""
        yield _searched(found["searched"])
        yield ""
        yield _hardest(found["hardest"])


def _levels(levels: Sequence[Mapping[str, float]], title: str) -> Table:
    caption = (
        "gain of the best plan over the one of lowest utilisation: average, average of the queries that gain, "
        "largest; error of the paper's heuristic: average, largest"
    )
    table = Table(title=title, caption=caption, box=SIMPLE_HEAD, **COMPACT)
    for header in ("resources", "gaining", "gain", "of gaining", "largest", "error", "largest"):
        table.add_column(header, justify="right", no_wrap=True)
    for level in levels:
        gains = (level[key] for key in ("gain", "gain_of_gaining", "largest_gain"))
        errors = (level[key] for key in ("error", "largest_error"))
        table.add_row(
            f"{level['resources']:.0%}",
            f"{level['gaining']:.1%}",
            *(f"{gain:,.2%}" for gain in gains),
            *(f"{error:.3%}" for error in errors),
        )
    return table


def _verdict(found: Mapping[str, Any]) -> str:
    off = max(level["exact_error"] for level in found["levels"])
    return (
        f"{counted(found['claims'])}; {found['seconds']:.0f} s. "
        f"The exact method is off the best of all plans by {off:.0e} at most."
    )


def _searched(kinds: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title="Where the heuristic errs most", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("searched", no_wrap=True)
    for header in ("error", "at resources of"):
        table.add_column(header, justify="right", no_wrap=True)
    for each in kinds:
        at = f"{each['resources']:.1%}" if each["error"] > 1e-9 else NONE
        table.add_row(each["kind"], f"{each['error']:.1%}", at)
    return table


def _hardest(hard: Mapping[str, Any]) -> Group:
    """Return the hardest problem: its numbers, and both plans."""
    title = f"The hardest of them: {hard['join_cost'] * 1000:.6g} ms per tuple"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("stream", no_wrap=True)
    for header in ("rate", "window", "heuristic keeps", "best keeps"):
        table.add_column(header, justify="right", no_wrap=True)
    for name in hard["rates"]:
        keeps = (f"{hard[plan]['keep'][name]:.2%}" for plan in ("heuristic", "best"))
        table.add_row(name, f"{hard['rates'][name]:g}/s", f"{hard['windows'][name]:g}", *keeps)
    shares = ", ".join(f"{pair.replace(',', '⋈')} {share:g}" for pair, share in hard["selectivities"].items())
    brings = {
        plan: f"{' ⋈ '.join(hard[plan]['order'])}, {rate(hard[plan]['rate'])} results/s"
        for plan in ("heuristic", "best")
    }
    lines = (
        f"Selectivities: {shares}",
        f"Heuristic: {brings['heuristic']}, {hard['error']:.1%} fewer than the best",
        f"Best:      {brings['best']}",
    )
    return Group(table, *(Text(line) for line in lines))
