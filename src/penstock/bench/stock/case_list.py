"""The cases of the full benchmark and of the quick one."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from penstock.bench.stock.case import StockCase

PARTS = {
    "filters": "parameterised filters, N = 1 to 1,000",
    "sizes": "other selectivities and file sizes",
    "mixed": "forty mixed queries",
    "paced": "bursty arrivals at the same load for all",
    "windows": "one join of two streams, windows of 1,000 to 1,000,000 rows",
    "cost": "cost against N, up to 5,000, for Penstock alone",
    "chunks": "small files at a steady pace, for Penstock alone: responses",
}
"""What `--only` can name."""

EACH = ("each-fifo", "each-fair")
MANY = 50
MOST = 1000
CHUNKS = StockCase("chunks", "penstock", queries=MANY, feeding="steady", file_rows=1000)


def plan(
    parts: Collection[str], *, quick: bool, repeat: int | None = None, with_state: bool = False
) -> list[StockCase]:
    """Return the cases of these parts, in the order in which they run.

    With a state, Penstock runs twice, without it and with it, and all folders are on a disk.

    A paced case comes after the drained one that its load is taken from, which is added if it is missing. Without
    `repeat`, each case has its own.
    """
    cases: list[StockCase] = []
    for case in _quick(with_state=with_state) if quick else _whole():
        if case.part not in parts:
            continue
        source = load_source(case)
        if source is not None and source not in cases:
            cases.append(source)
        cases.append(case)
        if with_state and case.system == "penstock":
            cases.append(replace(case, system="penstock-state"))
    return list(dict.fromkeys(replace(case, repeat=repeat or case.repeat, on_disk=with_state) for case in cases))


def load_source(case: StockCase) -> StockCase | None:
    """Return the case whose rate the load of a paced case is taken from."""
    if case.feeding != "paced":
        return None
    usual = StockCase(case.part, case.system)
    if case.workload == "windowed":
        return replace(case, system="each-fifo", feeding="drain")
    part = "mixed" if case.workload == "mixed" else "filters"
    return replace(case, part=part, system="each-fifo", feeding="drain", load=usual.load, seconds=usual.seconds)


def _whole() -> Iterator[StockCase]:
    for count, systems in (
        (1, ("each-fifo", "penstock")),
        (10, (*EACH, "fan-out", "grouped", "penstock")),
        (MANY, (*EACH, "fan-out", "grouped", "penstock")),
        (200, ("grouped", "penstock")),
        (MOST, ("grouped", "penstock")),
    ):
        yield from (StockCase("filters", system, queries=count) for system in systems)
    few = StockCase("sizes", "", queries=10)
    others = [replace(few, selectivity=share) for share in (0.001, 0.1, 0.5)]
    others += [replace(few, file_rows=rows) for rows in (1_000, 100_000)]
    for other in others:
        yield from (replace(other, system=system) for system in ("each-fifo", "grouped", "penstock"))
    mixed = StockCase("mixed", "", workload="mixed", queries=40, files=10)
    yield from (replace(mixed, system=system) for system in (*EACH, "penstock"))
    for system in ("each-fifo", "fan-out", "grouped", "penstock"):
        yield StockCase("paced", system, queries=MANY, feeding="paced")
    for system in (*EACH, "penstock"):
        yield replace(mixed, part="paced", system=system, feeding="paced")
    for length in (1_000, 10_000, 100_000, 1_000_000):
        windowed = StockCase("windows", "", workload="windowed", files=5, seconds=20.0, window_rows=length)
        for feeding in ("drain", "paced"):
            yield from (replace(windowed, system=system, feeding=feeding) for system in ("each-fifo", "penstock"))
    for count in (1, 10, 100, 500, 1000, 2000, 5000):
        yield StockCase("cost", "penstock", queries=count)
    yield CHUNKS


def _quick(*, with_state: bool) -> Iterator[StockCase]:
    """Yield the cases that fit into five minutes on two cores: the filters, with a small backlog.

    Forty mixed queries alone take stock longer than that to start and warm up. With a state, what it costs small
    files belongs to it, too.
    """
    for count, systems in (
        (1, ("each-fifo", "penstock")),
        (MANY, ("each-fifo", "penstock")),
        (MOST, ("grouped", "penstock")),
    ):
        for system in systems:
            slow = system in EACH and count == MANY
            yield StockCase("filters", system, queries=count, files=10, warm_files=2, repeat=1 if slow else 2)
    if with_state:
        yield CHUNKS
