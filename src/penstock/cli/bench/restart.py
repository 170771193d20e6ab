"""`penstock bench restart`: how long going on takes with thousands of queries and millions of rows in windows."""

from typing import Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.cli.bench.outcome import conclude
from penstock.cli.options import AsJson
from penstock.cli.style import COMPACT, seconds, size


def restart(
    queries: Annotated[int, typer.Option(help="Number of queries.", min=2, max=100_000, metavar="N")] = 5_000,
    rows: Annotated[int, typer.Option(help="Rows in the windows of a join.", min=1_000, metavar="N")] = 10_000_000,
    file_format: Annotated[
        Literal["parquet", "csv"],
        typer.Option("--format", help="Files of the streams; rows of CSV files are kept in the state."),
    ] = "parquet",
    repeat: Annotated[int, typer.Option(help="Number of starts of each kind.", min=1, metavar="N")] = 3,
    as_json: AsJson = False,
) -> None:
    """Fill windows, stop, and go on with --state, in turn with runs that begin anew with the same queries.

    Takes some ten minutes and 1 GB of disk. Exits with 1 if going on takes over 5 s more than beginning anew.

    Examples: `penstock bench restart`; `penstock bench restart --queries 100 --rows 1000000 --json`
    """
    from penstock.bench.restart import measured
    from penstock.spark.java import check_java

    check_java()
    with Console(stderr=True).status("") as status:
        found = measured(queries, rows, file_format, repeat, status.update)
    remark = (
        f"The state has {size(found['state_bytes'])}; filling it took {seconds(found['filled_s'])} s. running: "
        "until all is restored and streams are read; results: until those of a new file are out."
    )
    conclude(found, [_table(found), ""], remark, as_json=as_json)


def _table(found: dict[str, Any]) -> Table:
    title = f"{found['queries']:,} queries, {found['window_rows']:,} rows in windows: seconds, median (range)"
    table = Table(title=title, box=SIMPLE_HEAD, **COMPACT)
    table.add_column("", no_wrap=True)
    for header in ("running", "results"):
        table.add_column(header, justify="right", no_wrap=True)
    for way, medians in found["medians"].items():
        values = [
            f"{seconds(medians[key])} ({seconds(min(some))}–{seconds(max(some))})"
            for key in medians
            for some in [[each[key] for each in found["runs"][way]]]
        ]
        table.add_row(way, *values)
    return table
