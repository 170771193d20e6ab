"""`penstock reproduce BBDM03`, `JC03`, `P04`, `SCLP08` and `all`: simulated papers, as sweeps of Spark tasks."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.reproduce.claims import claims_table, reasons
from penstock.cli.reproduce.p04_live import live_tables
from penstock.cli.signals import Signals
from penstock.cli.style import in_a_folder, wide_console
from penstock.report.verdicts import counted

RESULTS = Path("penstock-results")
TRACES = {"SCLP08": "BC-pAug89.parquet", "BBDM03": "DEC-PKT-1-UDP.parquet"}
"""The trace that each paper is run on where a folder of traces is given."""

Quick = Annotated[bool, typer.Option("--quick", help="Fewer tuples, queries and seeds: a first look.")]
Seed = Annotated[int, typer.Option(help="Of the random numbers.", min=0, metavar="N")]
Kept = Annotated[
    Path, typer.Option("--results", help="Where finished simulations are kept.", metavar="DIR", file_okay=False)
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write claims and figures to this page.", metavar="FILE.html", dir_okay=False,
                 callback=in_a_folder),
]  # fmt: skip
Master = Annotated[str | None, typer.Option(help="Spark master; local by default.", metavar="URL")]
Remote = Annotated[str | None, typer.Option(help="Spark Connect server instead.", metavar="URL")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")]
Trace = Annotated[
    Path | None,
    typer.Option(help="Parquet or CSV file with arrival times.", exists=True, dir_okay=False, metavar="FILE"),
]


class On(StrEnum):
    """What an experiment runs on."""

    SIMULATOR = "simulator"
    SPARK = "spark"


def sclp08(
    trace: Trace = None,
    quick: Quick = False,
    seed: Seed = 1,
    results: Kept = RESULTS,
    report: Report = None,
    master: Master = None,
    remote: Remote = None,
    as_json: AsJson = False,
) -> None:
    """Simulate 500 heterogeneous queries under the policies of the paper: its Figures 6 to 30.

    The paper's trace, LBL-PKT-4, could not be had: give another with --trace, else a bursty process stands in.
    About ten minutes on two cores, one with --quick. What is finished is kept, and not done again: after Ctrl-C
    the same command goes on. Exits with 0 whether or not the claims hold.

    Examples: `penstock reproduce SCLP08 --quick`; `penstock reproduce SCLP08 --trace packets.parquet --report
    sclp08.html`; `penstock reproduce SCLP08 --json | jq '.claims[] | select(.holds == false)'`
    """
    _show([_run("SCLP08", trace, quick, seed, results, master, remote)], report, as_json)


def bbdm03(
    trace: Trace = None,
    quick: Quick = False,
    seed: Seed = 1,
    results: Kept = RESULTS,
    report: Report = None,
    master: Master = None,
    remote: Remote = None,
    as_json: AsJson = False,
) -> None:
    """Simulate five plans under Chain, Greedy, FIFO and round robin: queue memory over time.

    On a synthetic stream, and on the trace that is given: the paper has DEC-PKT. Results are kept as for SCLP08.

    Examples: `penstock reproduce BBDM03 --trace DEC-PKT-1-UDP.parquet`; `penstock reproduce BBDM03 --quick --json`
    """
    _show([_run("BBDM03", trace, quick, seed, results, master, remote)], report, as_json)


def jc03(
    quick: Quick = False,
    seed: Seed = 1,
    results: Kept = RESULTS,
    report: Report = None,
    master: Master = None,
    remote: Remote = None,
    as_json: AsJson = False,
) -> None:
    """Simulate 16 queries of 116 operators over five self-similar streams: Figures 2 to 4, with threshold added.

    Results are kept as for SCLP08.

    Examples: `penstock reproduce JC03`; `penstock reproduce JC03 --quick --report jc03.html`
    """
    _show([_run("JC03", None, quick, seed, results, master, remote)], report, as_json)


def p04(
    on: Annotated[
        On, typer.Option(help="In virtual time, or shortened as Spark jobs in real time.")
    ] = On.SIMULATOR,
    quick: Quick = False,
    seed: Seed = 1,
    results: Kept = RESULTS,
    report: Report = None,
    master: Master = None,
    remote: Remote = None,
    as_json: AsJson = False,
) -> None:
    """Let selectors choose among four policies by one goal or several, against each alone: Figures 6.2 to 6.7.

    The paper's roulette wheel, three bandits and Penstock's own selector. Results are kept as for SCLP08.

    With --on spark: roulette and Penstock's own, one goal at a time, on queries that really run, in one order
    and in the opposite one. Less than six minutes, two with --quick (without roulette); nothing is kept.

    Examples: `penstock reproduce P04 --quick`; `penstock reproduce P04 --report p04.html`; `penstock reproduce P04
    --on spark`
    """
    if on is On.SIMULATOR:
        found = _run("P04", None, quick, seed, results, master, remote)
    else:
        found = _live(quick, seed, master, remote)
    _show([found], report, as_json)


def every_paper(
    traces: Annotated[
        Path | None,
        typer.Option(help=f"Folder with {' and '.join(TRACES.values())}.", exists=True, file_okay=False,
                     envvar="PENSTOCK_TRACES", metavar="DIR"),
    ] = None,
    quick: Quick = False,
    seed: Seed = 1,
    results: Kept = RESULTS,
    report: Report = None,
    master: Master = None,
    remote: Remote = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Reproduce AN04, BBDM03, JC03, P04 and SCLP08, one after the other, on one page.

    About 20 minutes on two cores, 3 with --quick. What is finished is kept, and not done again.

    Examples: `penstock reproduce all --quick`; `penstock reproduce all --traces traces/ --report papers.html`
    """
    documents = []
    for paper in ("BBDM03", "JC03", "P04", "SCLP08"):
        found = traces / TRACES[paper] if traces and paper in TRACES else None
        trace = found if found is not None and found.is_file() else None
        documents.append(_run(paper, trace, quick, seed, results, master, remote))
    documents.append(_an04(quick, seed))
    _show(documents, report, as_json)


def _an04(quick: bool, seed: int) -> dict[str, Any]:
    from penstock.experiments.an04.reproduce import reproduced

    with Console(stderr=True).status("") as status:
        found = reproduced(200 if quick else 1000, seed, 0, status.update)
    return {
        "paper": "AN04",
        "title": "AN04: shedding load from joins of streams",
        "notes": [
            f"{found['queries']:,} random joins. `penstock reproduce AN04 --report FILE.html` has the figures."
        ],
        "quick": quick,
        "claims": found["claims"],
        "figures": [],
    }


def _run(
    paper: str,
    trace: Path | None,
    quick: bool,
    seed: int,
    results: Path,
    master: str | None,
    remote: str | None,
) -> dict[str, Any]:
    from penstock.experiments.reproduction import Settings, reproduced

    settings = Settings(quick, trace.resolve() if trace else None, seed)
    kept = f"What is finished is in {results}: the same command goes on from there."
    with _progress(paper, kept) as told:
        return reproduced(paper, settings, results / paper, told, master=master, remote=remote)


def _live(quick: bool, seed: int, master: str | None, remote: str | None) -> dict[str, Any]:
    from penstock.experiments.p04.live import reproduced
    from penstock.experiments.reproduction import Settings

    with _progress("P04", "Nothing was kept.") as told, ExitStack() as starting:
        starting.enter_context(Signals())

        def heard(done: int, total: int, label: str) -> None:
            starting.close()  # Spark is there: from now on Ctrl-C is an exception again
            told(done, total, label)

        return reproduced(Settings(quick, seed=seed), heard, master=master, remote=remote)


@contextmanager
def _progress(paper: str, kept: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show how far it is; on Ctrl-C say what is kept."""
    # Spark's start redirects stderr for a while: a copy of it goes on.
    with os.fdopen(os.dup(sys.stderr.fileno()), "w") as file:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = Console(file=file)
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(paper, total=None)

            def told(done: int, total: int, label: str) -> None:
                bar.update(task, completed=done, total=total, description=label or paper)

            try:
                yield told
            except KeyboardInterrupt:
                bar.stop()
                console.print(f"Interrupted. {kept}")
                raise typer.Exit(130) from None


def _show(documents: Sequence[dict[str, Any]], report: Path | None, as_json: bool) -> None:
    if report:
        from penstock.report.reproduction import page

        report.write_text(page(documents))
    if as_json:
        found = documents[0] if len(documents) == 1 else _together(documents)
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    screen = wide_console()
    for document in documents:
        for note in document["notes"]:
            screen.print(f"· {note}", style="dim", highlight=False)
        screen.print()
        for table in live_tables(document["values"]) if "values" in document else ():
            screen.print(table)
        screen.print(claims_table(document["claims"], document["title"]))
        for reason in reasons(document["claims"]):
            screen.print(reason, style="dim", highlight=False)
        for each in document.get("undecided", ()):
            screen.print(f"Within noise, not judged: {each}.", style="dim", highlight=False)
        spent = f"; {document['seconds']:.0f} s" if "seconds" in document else ""
        screen.print(f"\n{counted(document['claims'])}{spent}.\n", highlight=False)
    if report:
        screen.print(f"{report} has the figures.", highlight=False)


def _together(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    claims = [{"paper": document["paper"], **claim} for document in documents for claim in document["claims"]]
    return {"claims": claims, "papers": list(documents)}
