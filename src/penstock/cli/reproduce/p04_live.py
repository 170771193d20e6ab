"""Tables of P04 on Spark: values of policies and selectors, and the shares of the time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from penstock.cli.style import COMPACT, rate, seconds

SHOWN = {"delay": ("delay, s", seconds), "memory": ("rows waiting", rate), "rate": ("results/s", rate)}


def live_tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield a table of values, single policies first, then one of the policies that each selector ran."""
    ordered = sorted(rows, key=lambda row: (row["goal"] != "", row["name"] if row["goal"] else ""))
    values = Table(title="Mean of both orders, ± half of their difference", box=SIMPLE_HEAD, **COMPACT)
    values.add_column("", no_wrap=True)
    for header, _ in SHOWN.values():
        values.add_column(header, justify="right", no_wrap=True)
    for row in ordered:
        cells = (f"{said(row['values'][goal]['mean'])} ± {said(row['values'][goal]['noise'])}"
                 for goal, (_, said) in SHOWN.items())  # fmt: skip
        values.add_row(_label(row), *cells)
    yield values
    chosen = [row for row in ordered if row["goal"]]
    shares = Table(title="Share of the time", box=SIMPLE_HEAD, **COMPACT)
    shares.add_column("", no_wrap=True)
    for policy in chosen[0]["shares"]:
        shares.add_column(policy, justify="right", no_wrap=True)
    for row in chosen:
        shares.add_row(_label(row), *(f"{share:.0%}" for share in row["shares"].values()))
    yield shares


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['name']}, for {row['goal']}" if row["goal"] else row["name"]
