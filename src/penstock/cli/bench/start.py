"""`penstock bench start`: how long a run of 100 rows takes, with and without the archive of Java's classes."""

from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench.outcome import conclude
from penstock.cli.options import AsJson
from penstock.cli.style import COMPACT, seconds, size


def start(
    repeat: Annotated[int, typer.Option(help="Number of runs of each kind.", min=1, metavar="N")] = 5,
    as_json: AsJson = False,
) -> None:
    """Drain a file of 100 rows in new processes, with and without the archive of Java's classes in turn.

    Makes the archive if there is none. Takes about two minutes. Exits with 1 if a run with the archive takes more
    than 9 s.

    Examples: `penstock bench start`; `penstock bench start --repeat 9 --json | jq .medians`
    """
    from penstock.bench.start import measured
    from penstock.spark.java import check_java

    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(repeat, status.update)
    conclude(found, [_table(found), ""], f"The archive has {size(found['archive_bytes'])}.", as_json=as_json)


def _table(found: dict[str, Any]) -> Table:
    title = f"penstock run of {found['rows']} rows: median of {found['repeat']}, in seconds"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    for header in ("wall time", "fastest", "slowest", "processor time"):
        table.add_column(header, justify="right", no_wrap=True)
    for way, medians in found["medians"].items():
        walls = [each["wall_s"] for each in found["runs"][way]]
        values = (medians["wall_s"], min(walls), max(walls), medians["cpu_s"])
        table.add_row(way, *map(seconds, values))
    return table
