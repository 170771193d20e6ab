"""`penstock state`: what a state folder has, whether all of it is right, and making it small."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from penstock.cli.style import COMPACT, NONE, plural, size, span, spinner, wide_console

if TYPE_CHECKING:
    from penstock.storage.inspection import StateReport


def state(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The state folder.", show_default=False)],
    check: Annotated[
        bool, typer.Option("--check", help="Verify all checksums, and that everything that is named is there.")
    ] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="Write what is needed anew, and remove everything else.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")] = False,
) -> None:
    """Show what a folder of `penstock run --state` has: positions, watermarks, what waits, size, last commit.

    A run may use the folder meanwhile; --check and --compact need one that no run
    uses. Exits with 1 if the folder is no state, or if --check finds something wrong.

    Examples: `penstock state state`;
    `penstock state state --json | jq .streams`;
    `penstock state state --check`;
    `penstock state state --compact`
    """
    if check and compact:
        raise typer.BadParameter("--check and --compact cannot be combined", param_hint="--compact")
    if check:
        _check(folder, as_json=as_json)
    elif compact:
        _compact(folder, as_json=as_json)
    else:
        _show(folder, as_json=as_json)


def _show(folder: Path, *, as_json: bool) -> None:
    from penstock.storage.inspection import report_of

    report = report_of(folder)
    if as_json:
        typer.echo(json.dumps(report.as_dict(), indent=2, ensure_ascii=False))
        return
    console = wide_console()
    for line in _head(report):
        console.print(line)
    console.print(_streams(report))
    for line in _foot(report):
        console.print(line)


def _check(folder: Path, *, as_json: bool) -> None:
    from penstock.sinks.durable_parts import missing_results
    from penstock.storage.verification import problems_in

    with _progress("checking") as tell:
        problems = problems_in(folder, tell, missing_results)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "problems": problems}, indent=2, ensure_ascii=False))
    elif problems:
        for problem in problems:
            typer.echo(problem)
    else:
        typer.echo(f"{folder} is whole: every checksum is right, and everything that is named is there")
    if problems:
        raise typer.Exit(code=1)


def _compact(folder: Path, *, as_json: bool) -> None:
    from penstock.storage.compaction import compact

    with _progress("compacting") as tell:
        done = compact(folder, tell)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), **vars(done)}, indent=2))
    else:
        typer.echo(f"{folder}: {size(done.before)} before, {size(done.after)} now")


@contextmanager
def _progress(doing: str) -> Iterator[Callable[[int, int], object]]:
    with spinner(f"{doing} …") as change:
        yield lambda done, of: change(f"{doing}: {done:,} of {of:,} chunks") if done % 100 == 0 else None


def _head(report: "StateReport") -> Iterator[Text]:
    yield Text(f"{report.folder}, the state of {report.script}", style="bold")
    who = report.owner
    used = f"in use by process {who['process']} on {who['machine']}" if who else "not in use"
    yield Text(f"last commit {report.committed} (number {report.entry:,}), {used}; penstock {report.version}")
    counts: dict[str, int] = {}
    for status in report.queries.values():
        counts[status] = counts.get(status, 0) + 1
    said = ", ".join(f"{count:,} {status}" for status, count in counts.items()) or "none"
    ran = span(round(report.seconds) * 1_000_000)
    yield Text(f"ran {ran}; queries: {said}; {plural(report.results, 'result')}")


def _streams(report: "StateReport") -> Table:
    table = Table(box=SIMPLE_HEAD, **COMPACT)
    table.add_column("stream", no_wrap=True)
    for name in ("rows in", "rejected", "waiting", "in windows"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("watermark (UTC)", no_wrap=True)
    for name, stream in report.streams.items():
        table.add_row(
            name,
            f"{stream.rows:,}",
            f"{stream.late + stream.malformed:,}",
            f"{stream.waiting_rows:,}",
            f"{stream.window_rows:,}",
            NONE if stream.watermark is None else stream.watermark,
        )
    return table


def _foot(report: "StateReport") -> Iterator[Text]:
    for name, stream in report.streams.items():
        yield Text(f"{name} goes on after {_position(stream.position)}")
    if report.inside_rows:
        yield Text(f"{plural(report.inside_rows, 'row')} wait between operators")
    parts = ", ".join(f"{name} {size(count)}" for name, count in report.bytes.items() if name != "all" and count)
    yield Text(f"{size(report.bytes['all'])}: {parts}")
    if report.results_folder:
        yield Text(f"results are in {report.results_folder}")
    for note in report.notes:
        yield Text(note, style="yellow")


def _position(position: dict[str, Any]) -> str:
    """Return where a stream goes on, in words.

    >>> _position({"read": 12, "group": [["in/13.csv"], 300]}), _position({"given": 1})
    ('12 files, and 300 rows of 13.csv', '1 row')
    """
    if "read" in position:
        said = plural(position["read"], "file")
        paths, rows = position["group"]
        return f"{said}, and {plural(rows, 'row')} of {_names(paths)}" if paths else said
    return plural(position["given"], "row") if "given" in position else "what was journalled"


def _names(paths: list[str]) -> str:
    first = Path(paths[0]).name
    return first if len(paths) == 1 else f"{first} and {plural(len(paths) - 1, 'more file')}"
