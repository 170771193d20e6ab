"""`penstock examples`: computes the papers' worked examples and compares the printed numbers."""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, wide_console
from penstock.experiments.examples import EXAMPLES, Example, ExampleCell
from penstock.experiments.examples.cells import decimals


def examples(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list, one entry per number.")] = False,
) -> None:
    """Compute the papers' worked examples and compare every printed number.

    Exits with 1 if one differs in a printed digit.

    Examples: `penstock examples`; `penstock examples --json | jq '.[] | select(.ok | not)'`
    """
    computed = [(example, example.cells()) for example in EXAMPLES]
    cells = [cell for _, some in computed for cell in some]
    if as_json:
        typer.echo(json.dumps([cell.as_json() for cell in cells], indent=2))
    else:
        console = wide_console()
        for example, some in computed:
            console.print(_table(example, some))
            console.print()
        differ = sum(not cell.ok for cell in cells)
        verdict = f"differing in a printed digit: {differ}" if differ else "all agree in every printed digit"
        console.print(f"{len(cells)} numbers compared, {verdict}.")
    if not all(cell.ok for cell in cells):
        raise typer.Exit(code=1)


def _table(example: Example, cells: list[ExampleCell]) -> Table:
    """Return a table of one example: a column per time or metric, a printed and a computed row per quantity."""
    columns = list(dict.fromkeys(cell.at for cell in cells))  # the first quantity has them all, in order
    title = f"{example.paper}, {example.name}"
    table = Table(title=title, caption=example.note or None, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(column.removeprefix("t = "), justify="right", no_wrap=True)
    if columns[0].startswith("t = "):
        table.columns[1].header = "t ="
    for series, group in groupby(cells, key=lambda cell: cell.series):
        found = {cell.at: cell for cell in group}
        metric, _, policy = series.partition(", ")
        table.add_row(metric, "printed", *_row(columns, found, computed=False))
        table.add_row(policy, "computed", *_row(columns, found, computed=True), end_section=True)
    return table


def _row(columns: Iterable[str], cells: dict[str, ExampleCell], computed: bool) -> list[Text]:
    texts = []
    for column in columns:
        cell = cells.get(column)
        if cell is None:
            texts.append(Text("–", style="dim"))
        elif not computed:
            texts.append(Text(cell.printed))
        elif cell.ok:
            texts.append(Text(f"{float(cell.computed):.{decimals(cell.printed)}f}", style="green"))
        else:
            texts.append(Text(f"{float(cell.computed):g} ✗", style="bold red"))
    return texts
