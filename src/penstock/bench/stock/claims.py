"""The required comparisons of Penstock with stock."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.bench.comparisons import Comparison
from penstock.bench.stock.case import OURS, CaseResult
from penstock.bench.stock.case_list import EACH, MANY, MOST

LEAST_OF_OWN = 0.85
"""Throughput with a state, relative to that without one."""


def comparisons(measured: Iterable[CaseResult]) -> list[Comparison]:
    """Return every required comparison; those whose cases were not run have no measurement."""
    cases = list(measured)
    filters = [m for m in cases if m.case.part == "filters"]
    mixed = [m for m in cases if m.case.workload == "mixed" and m.case.feeding == "drain"]
    paced = [m for m in cases if m.case.workload == "mixed" and m.case.feeding == "paced"]

    def of(count: int) -> list[CaseResult]:
        return [m for m in filters if m.case.queries == count]

    return [
        _rates("1 filter: throughput ÷ stock", 0.9, of(1), of(1), EACH),
        _rates(f"{MANY} filters: throughput ÷ stock, one query each", 10, of(MANY), of(MANY), EACH),
        _rates(f"{MOST:,} filters: throughput ÷ stock, one query each, at {MANY}", 200, of(MOST), of(MANY), EACH),
        _rates(f"{MOST:,} filters: throughput ÷ stock grouped by hand", 0.9, of(MOST), of(MOST), ("grouped",)),
        _rates("40 mixed queries: throughput ÷ stock, one query each", 3, mixed, mixed, EACH),
        _responses("40 mixed queries, same load: average response ÷ stock, one query each", paced),
        *_prices(cases, of),
    ]


def _prices(cases: list[CaseResult], of: Callable[[int], list[CaseResult]]) -> Iterator[Comparison]:
    """Yield what a state may cost: shares of the throughput without it, and seconds of response."""
    for count in (MANY, MOST):
        claim = Comparison(f"{count:,} filters: throughput with --state ÷ without", "at least", LEAST_OF_OWN)
        yield _measured(claim, _rates_of(of(count), ("penstock-state",)), _rates_of(of(count), ("penstock",)))
    claim = Comparison(f"{MANY} filters, --state: throughput ÷ stock, one query each", "at least", 10)
    yield _measured(claim, _rates_of(of(MANY), ("penstock-state",)), _rates_of(of(MANY), EACH))
    chunks = {m.case.system: m for m in cases if m.case.part == "chunks" and m.case.queries == MANY}
    for figure, most in (("median", 0.010), ("p95", 0.030)):
        claim = Comparison(f"small chunks, --state: {figure} of responses, seconds more", "at most", most)
        yield _difference(claim, figure, chunks)


def _difference(claim: Comparison, figure: str, systems: Mapping[str, CaseResult]) -> Comparison:
    if not systems.keys() >= set(OURS):
        return replace(claim, reason="not part of this run")
    ours, theirs = (systems[name].response(figure) for name in ("penstock-state", "penstock"))
    if ours is None or theirs is None:
        return replace(claim, reason="a case failed", failed=True)
    return replace(claim, measured=ours - theirs)


def _rates(
    claim: str, required: float, ours: list[CaseResult], theirs: list[CaseResult], systems: tuple[str, ...]
) -> Comparison:
    """Compare row-queries per second with the best of these stock systems."""
    open_claim = Comparison(claim, "at least", required)
    return _measured(open_claim, _rates_of(ours, ("penstock",)), _rates_of(theirs, systems))


def _responses(claim: str, paced: list[CaseResult]) -> Comparison:
    """Compare average responses with the best of stock's; a system that fell behind is compared as it was."""
    found = {
        systems: [m.avg_response if m.status == "ok" else None for m in paced if m.case.system in systems]
        for systems in (("penstock",), EACH)
    }
    return _measured(Comparison(claim, "at most", 1 / 3), found["penstock",], found[EACH])


def _rates_of(cases: list[CaseResult], systems: tuple[str, ...]) -> list[float | None]:
    return [m.rate if m.status == "ok" else None for m in cases if m.case.system in systems]


def _measured(claim: Comparison, ours: list[float | None], theirs: list[float | None]) -> Comparison:
    """Divide our value by the best of theirs; None stands for a case that failed."""
    if not ours or not theirs:
        return replace(claim, reason="not part of this run")
    good = [value for value in theirs if value is not None]
    if ours[0] is None or not good:
        return replace(claim, reason="a case failed", failed=True)
    return replace(claim, measured=ours[0] / (max(good) if claim.side == "at least" else min(good)))
