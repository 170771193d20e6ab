"""Claims of a paper on the terminal: published and measured values, whether the claim holds, and why not."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, NONE

MARKS = {True: Text("yes", "green"), False: Text("no", "bold red"), None: Text("not measured", "dim")}


def claims_table(claims: Sequence[Mapping[str, Any]], title: str = "What the paper says") -> Table:
    """Return a table of the claims, figure by figure."""
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", ratio=1, min_width=24)
    table.add_column("published", justify="right", max_width=17)
    for header in ("holds if", "measured", ""):
        table.add_column(header, justify="right", no_wrap=True)
    for figure, some in groupby(claims, key=lambda each: each["figure"]):
        table.add_row(Text(figure, "dim"))
        for each in some:
            mark = MARKS[each["holds"]]
            table.add_row(f" {each['what']}", each["published"], each["judged"], _measured(each["measured"]), mark)
    return table


def reasons(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return why claims do not hold or were not measured, each reason once, with its figures."""
    about: dict[str, list[str]] = {}
    for each in claims:
        if each.get("why") and not each["holds"]:
            why = each["why"] if each["holds"] is False else f"Not measured. {each['why']}"
            about.setdefault(why, []).append(each["figure"])
    return [f"{', '.join(dict.fromkeys(names))}: {why}" for why, names in about.items()]


def _measured(value: float | None) -> str | Text:
    if value is None:
        return NONE
    return "< 0.001" if 0 < value < 0.001 else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
