"""Reproduces a simulated paper: runs its sweep, judges its claims, draws its figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from penstock.errors import RunError
from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.sweep import SweepCell, Told, swept


class CellResults:
    """Results of the cells of a sweep, by study and settings."""

    def __init__(self, cells: Sequence[SweepCell], results: Mapping[str, Mapping[str, Any]]) -> None:
        self._by_text = {cell.text: results[cell.key] for cell in cells}
        self.cells = cells

    def of(self, cell: SweepCell) -> Mapping[str, Any]:
        """Return the result of a cell."""
        return self._by_text[cell.text]


class Experiment(Protocol):
    """An experiment, which `experiment(settings)` in the module of a paper returns."""

    title: str
    notes: Sequence[str]

    def cells(self) -> list[SweepCell]:
        """Return every simulation that it needs."""

    def claims(self, found: CellResults) -> list[Claim]:
        """Return what the paper says beside what was measured."""

    def figures(self, found: CellResults) -> list[Figure]:
        """Return the figures."""


@dataclass(frozen=True)
class ReproductionSettings:
    """Settings of a reproduction: less work, a trace instead of the default arrivals, the seed."""

    quick: bool = False
    trace: Path | None = None
    seed: int = 1


def experiment_of(paper: str, settings: ReproductionSettings) -> Experiment:
    """Return the experiment of a paper."""
    made: Callable[[ReproductionSettings], Experiment] = import_module(
        f"penstock.experiments.{paper.lower()}.experiment"
    ).experiment
    return made(settings)


def reproduced(
    paper: str,
    settings: ReproductionSettings,
    folder: Path,
    told: Told,
    *,
    master: str | None = None,
    remote: str | None = None,
) -> dict[str, Any]:
    """Run the missing simulations of a paper, and return its claims and figures as a JSON document."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file, and results are kept in a folder")
    begun = perf_counter()
    experiment = experiment_of(paper, settings)
    cells = experiment.cells()
    found = CellResults(cells, swept(cells, folder, told, master=master, remote=remote))
    return {
        "paper": paper,
        "title": experiment.title,
        "notes": list(experiment.notes),
        "cells": len(cells),
        "quick": settings.quick,
        "seconds": perf_counter() - begun,
        "claims": [claim.as_dict() for claim in experiment.claims(found)],
        "figures": [figure.as_dict() for figure in experiment.figures(found)],
    }
