"""`penstock reproduce BBDM03`, `JC03`, `P04`, `SCLP08` and `all`: simulated papers, as sweeps of Spark tasks."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.options import takes
from penstock.cli.reproduce.claims import claims_table, reasons
from penstock.cli.reproduce.options import TRACES, AllPapersOptions, On, P04Options, SweepOptions, TraceOptions
from penstock.cli.reproduce.p04_live import live_tables
from penstock.cli.signals import Signals
from penstock.cli.style import wide_console
from penstock.report.verdicts import counted


@takes(TraceOptions)
def sclp08(options: TraceOptions) -> None:
    """Simulate 500 heterogeneous queries under the policies of the paper: its Figures 6 to 30.

    The paper's trace, LBL-PKT-4, is not available: give another with --trace; the default is a bursty process.
    Takes about ten minutes on two cores, one with --quick. Finished simulations are kept: after Ctrl-C the same
    command continues. Exits with 0 whether or not the claims hold.

    Examples: `penstock reproduce SCLP08 --quick`; `penstock reproduce SCLP08 --trace packets.parquet --report
    sclp08.html`; `penstock reproduce SCLP08 --json | jq '.claims[] | select(.holds == false)'`
    """
    _show([_run("SCLP08", options.trace, options.sweep)], options.sweep)


@takes(TraceOptions)
def bbdm03(options: TraceOptions) -> None:
    """Simulate five plans under Chain, Greedy, FIFO and round robin: queue memory over time.

    Runs on a synthetic stream, and on the given trace: the paper has DEC-PKT. Results are kept as for SCLP08.

    Examples: `penstock reproduce BBDM03 --trace DEC-PKT-1-UDP.parquet`; `penstock reproduce BBDM03 --quick --json`
    """
    _show([_run("BBDM03", options.trace, options.sweep)], options.sweep)


@takes(SweepOptions)
def jc03(options: SweepOptions) -> None:
    """Simulate 16 queries of 116 operators over five self-similar streams: Figures 2 to 4, with threshold added.

    Results are kept as for SCLP08.

    Examples: `penstock reproduce JC03`; `penstock reproduce JC03 --quick --report jc03.html`
    """
    _show([_run("JC03", None, options)], options)


@takes(P04Options)
def p04(options: P04Options) -> None:
    """Let selectors choose among four policies by one goal or several, against each alone: Figures 6.2 to 6.7.

    Selectors are the paper's roulette wheel, three bandits and Penstock's own. Results are kept as for SCLP08.

    With --on spark: roulette and Penstock's own, one goal at a time, on queries that run on Spark, in one order
    and in the opposite one. Takes less than six minutes, two with --quick (without roulette); nothing is kept.

    Examples: `penstock reproduce P04 --quick`; `penstock reproduce P04 --report p04.html`; `penstock reproduce P04
    --on spark`
    """
    found = _run("P04", None, options.sweep) if options.on is On.SIMULATOR else _live(options.sweep)
    _show([found], options.sweep)


@takes(AllPapersOptions)
def every_paper(options: AllPapersOptions) -> None:
    """Reproduce AN04, BBDM03, JC03, P04 and SCLP08, one after the other, on one page.

    Takes about 20 minutes on two cores, 3 with --quick. Finished simulations are kept and not run again.

    Examples: `penstock reproduce all --quick`; `penstock reproduce all --traces traces/ --report papers.html`
    """
    documents = []
    for paper in ("BBDM03", "JC03", "P04", "SCLP08"):
        found = options.traces / TRACES[paper] if options.traces and paper in TRACES else None
        trace = found if found is not None and found.is_file() else None
        documents.append(_run(paper, trace, options.sweep))
    documents.append(_an04(options.sweep.quick, options.sweep.seed))
    _show(documents, options.sweep)


def _an04(quick: bool, seed: int) -> dict[str, Any]:
    from penstock.experiments.an04.reproduce import reproduced

    with Console(stderr=True).status("") as status:
        found = reproduced(200 if quick else 1000, seed, 0, status.update)
    return {
        "paper": "AN04",
        "title": "AN04: shedding load from joins of streams",
        "notes": [
            f"{found['queries']:,} random joins. `penstock reproduce AN04 --report FILE.html` draws the figures."
        ],
        "quick": quick,
        "claims": found["claims"],
        "figures": [],
    }


def _run(paper: str, trace: Path | None, sweep: SweepOptions) -> dict[str, Any]:
    from penstock.experiments.reproduction import ReproductionSettings, reproduced

    settings = ReproductionSettings(sweep.quick, trace.resolve() if trace else None, sweep.seed)
    kept = f"Finished simulations are in {sweep.results}; the same command continues from there."
    with _progress(paper, kept) as told:
        return reproduced(paper, settings, sweep.results / paper, told, master=sweep.master, remote=sweep.remote)


def _live(sweep: SweepOptions) -> dict[str, Any]:
    from penstock.experiments.p04.live import reproduced
    from penstock.experiments.reproduction import ReproductionSettings

    with _progress("P04", "Nothing was kept.") as told, ExitStack() as starting:
        starting.enter_context(Signals())

        def heard(done: int, total: int, label: str) -> None:
            starting.close()  # Spark has started: from now on Ctrl-C is an exception again
            told(done, total, label)

        settings = ReproductionSettings(sweep.quick, seed=sweep.seed)
        return reproduced(settings, heard, master=sweep.master, remote=sweep.remote)


@contextmanager
def _progress(paper: str, kept: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar; on Ctrl-C, say what is kept."""
    # Spark's start redirects stderr for a while: the bar writes to a copy.
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


def _show(documents: Sequence[dict[str, Any]], sweep: SweepOptions) -> None:
    if sweep.report:
        from penstock.report.reproduction import page

        sweep.report.write_text(page(documents))
    if sweep.as_json:
        found = documents[0] if len(documents) == 1 else _together(documents)
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    console = wide_console()
    for document in documents:
        _show_paper(console, document)
    if sweep.report:
        console.print(f"{sweep.report} has the figures.", highlight=False)


def _show_paper(console: Console, document: dict[str, Any]) -> None:
    for note in document["notes"]:
        console.print(f"· {note}", style="dim", highlight=False)
    console.print()
    for table in live_tables(document["values"]) if "values" in document else ():
        console.print(table)
    console.print(claims_table(document["claims"], document["title"]))
    for reason in reasons(document["claims"]):
        console.print(reason, style="dim", highlight=False)
    for each in document.get("undecided", ()):
        console.print(f"Within noise, not judged: {each}.", style="dim", highlight=False)
    spent = f"; {document['seconds']:.0f} s" if "seconds" in document else ""
    console.print(f"\n{counted(document['claims'])}{spent}.\n", highlight=False)


def _together(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    claims = [{"paper": document["paper"], **claim} for document in documents for claim in document["claims"]]
    return {"claims": claims, "papers": list(documents)}
