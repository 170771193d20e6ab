"""Shared output of the `penstock bench` commands: progress, result files, requirements, the exit code."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from penstock.cli.signals import INTERRUPTED
from penstock.cli.style import COMPACT, NONE, plural, wide_console


@contextmanager
def share_bar() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar on stderr; yield the function that takes a text and the share that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda text, share: bar.update(task, description=text, completed=share)


def keep(found: dict[str, Any], page: Callable[[dict[str, Any]], str], folder: Path, name: str) -> Path:
    """Write the figures as JSON, then a page made of them; return the page. An error in it does not lose them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    place = folder / f"{name}.html"
    place.write_text(page(found))
    return place


def conclude(found: dict[str, Any], parts: Iterable[RenderableType], remark: str, *, as_json: bool) -> None:
    """Print the figures, as JSON or as tables, and exit with 1 if a required comparison does not hold."""
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        screen = wide_console()
        for part in (*parts, comparisons_table(found["comparisons"])):
            screen.print(part, highlight=False)
        if remark:
            screen.print(f"\n{remark}", highlight=False)
    if any(each["holds"] is False for each in found["comparisons"]):
        raise typer.Exit(code=1)


def exit_after_cases(found: dict[str, Any], planned: int) -> None:
    """Name the cases that failed; exit with 130 after Ctrl-C, with 1 if a case or a comparison failed."""
    wrong = [case for case in found["cases"] if case["status"] != "ok"]
    for case in wrong:
        typer.echo(f"penstock: {case['name']}: {case['status'].upper()}: {case['reason']}", err=True)
    if found["interrupted"]:
        kept = plural(len(found["cases"]), "case")
        typer.echo(f"penstock: interrupted; {kept} of {planned} kept", err=True)
        raise typer.Exit(code=INTERRUPTED)
    if wrong or any(comparison["holds"] is False for comparison in found["comparisons"]):
        raise typer.Exit(code=1)


def comparisons_table(comparisons: list[dict[str, Any]]) -> Table:
    """Return a table of required and measured values."""
    table = Table(title="Required", box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", ratio=1)
    table.add_column("required", justify="right", no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    marks = {True: Text("holds", "green"), False: Text("does not hold", "bold red"), None: Text("–", "dim")}
    for each in comparisons:
        sign = "≥" if each["side"] == "at least" else "≤"
        value = NONE if each["measured"] is None else f"{each['measured']:.3g}"
        table.add_row(each["claim"], f"{sign} {each['required']:.3g}", value, marks[each["holds"]])
    return table
