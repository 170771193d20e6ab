"""The options of `penstock reproduce PAPER` for simulated papers."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import AsJson, page_option

TRACES = {"SCLP08": "BC-pAug89.parquet", "BBDM03": "DEC-PKT-1-UDP.parquet"}
"""The trace of each paper, in the folder given by --traces."""


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Options of every simulated paper."""

    quick: Annotated[bool, typer.Option("--quick", help="Fewer tuples, queries and seeds.")] = False
    seed: Annotated[int, typer.Option(help="Random seed.", min=0, metavar="N")] = 1
    results: Annotated[
        Path, typer.Option(help="Folder in which finished simulations are kept.", metavar="DIR", file_okay=False)
    ] = Path("penstock-results")
    report: Annotated[
        Path | None,
        page_option("Write claims and figures to this page."),
    ] = None
    master: Annotated[str | None, typer.Option(help="Spark master; local by default.", metavar="URL")] = None
    remote: Annotated[str | None, typer.Option(help="Spark Connect server instead.", metavar="URL")] = None
    as_json: AsJson = False


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """Options of a paper that can be run on a trace."""

    trace: Annotated[
        Path | None,
        typer.Option(help="Parquet or CSV file with arrival times.", exists=True, dir_okay=False, metavar="FILE"),
    ] = None
    sweep: SweepOptions


class On(StrEnum):
    """What an experiment runs on."""

    SIMULATOR = "simulator"
    SPARK = "spark"


@dataclass(frozen=True, kw_only=True)
class P04Options:
    """Options of P04, which also runs on Spark."""

    on: Annotated[On, typer.Option(help="In virtual time, or a short version as Spark jobs in real time.")] = (
        On.SIMULATOR
    )
    sweep: SweepOptions


@dataclass(frozen=True, kw_only=True)
class AllPapersOptions:
    """Options of `penstock reproduce all`."""

    traces: Annotated[
        Path | None,
        typer.Option(
            help=f"Folder with {' and '.join(TRACES.values())}.",
            exists=True,
            file_okay=False,
            envvar="PENSTOCK_TRACES",
            metavar="DIR",
        ),
    ] = None
    sweep: SweepOptions
