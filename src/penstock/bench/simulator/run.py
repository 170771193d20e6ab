"""The whole benchmark: warm up, time all cases by turns, then the long run."""

from collections.abc import Callable
from importlib.metadata import version
from statistics import median
from typing import Any

from penstock.bench.machine import described
from penstock.bench.simulator import memory
from penstock.bench.simulator.cases import SIZES, TimingCase, cases, has_simpy
from penstock.bench.simulator.claims import comparisons
from penstock.bench.simulator.timing import LOAD, POPULATION, Timing, queries, timed

TAKEN = "the best of a case's timings, all cases by turns"
"""Other work on the machine can only slow a case. Medians are in the JSON document, too."""
WARM_QUERIES, WARM_PACKETS = 5, 2

OnStage = Callable[[str, float], object]
"""Called with the current stage, and the share that is done."""


def measured(*, quick: bool, on_stage: OnStage) -> dict[str, Any]:
    """Time everything and return it for JSON.

    Every case is timed once before one is timed again, so that other work on the machine affects all alike.
    """
    sizes = SIZES[quick]
    planned = cases(sizes)
    on_stage("compiling: a minute the first time", 0.0)
    warm_up(planned)
    given = {size.queries: queries(size.queries) for size in sizes}
    found: dict[TimingCase, list[Timing]] = {case: [] for case in planned}
    turns = [
        case for turn in range(max(case.repeats for case in planned)) for case in planned if turn < case.repeats
    ]
    for number, case in enumerate(turns):
        on_stage(case.name, number / (len(turns) + 1))
        found[case].append(timed(case, given[case.size.queries]))
    long = None
    if not quick:
        on_stage(f"{memory.PACKETS:,} packets", len(turns) / (len(turns) + 1))
        long = memory.measured()
    rates = [_figures(case, timings) for case, timings in found.items()]
    return {
        "benchmark": "simulator",
        "machine": described(),
        "numba": version("numba"),
        "simpy": version("simpy") if has_simpy() else None,
        "quick": quick,
        "population": POPULATION,
        "load": LOAD,
        "queries": [size.queries for size in sizes],
        "taken": TAKEN,
        "rates": rates,
        "memory": long,
        "comparisons": [each.as_dict() for each in comparisons(rates, long)],
    }


def warm_up(planned: list[TimingCase]) -> None:
    """Run every case on a few queries, so that everything is compiled."""
    few = queries(WARM_QUERIES)
    for case in {(case.system, case.policy): case for case in planned}.values():
        timed(case, few, WARM_PACKETS)


def _figures(case: TimingCase, timings: list[Timing]) -> dict[str, Any]:
    rates = [each.rate for each in timings]
    return {
        "policy": case.policy,
        "queries": case.size.queries,
        "system": case.system,
        "decisions": timings[0].decisions,
        "rates": rates,
        "median": median(rates),
        "best": max(rates),
    }
