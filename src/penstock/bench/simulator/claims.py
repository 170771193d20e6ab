"""The requirements on the simulator's speed and memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.bench.comparisons import Comparison
from penstock.bench.simulator.cases import AGED, RANKED

FEW, MANY = 500, 5000
SIMPY, SCAN, KEPT, MEMORY_GB = 100.0, 10.0, 0.7, 2.0
ADVICE = "SimPy is not installed: pip install 'penstock[bench]'"


def comparisons(rates: Sequence[Mapping[str, Any]], memory: Mapping[str, Any] | None) -> list[Comparison]:
    """Compare requirements with measurements: ratios of best timings, and the memory of a long run."""
    claims = [
        Comparison(
            f"{policy}, {FEW} queries: rate ÷ SimPy's",
            "at least",
            SIMPY,
            ratio(rates, (policy, FEW, "compiled"), (policy, FEW, "simpy")),
            ADVICE,
        )
        for policy in RANKED
    ]
    for policy in AGED:
        many = (policy, MANY, "compiled")
        beside = (
            (f"{policy}, {MANY:,} queries: rate ÷ a compiled scan's", SCAN, (policy, MANY, "scan")),
            (f"{policy}: rate with {MANY:,} queries ÷ with {FEW}", KEPT, (policy, FEW, "compiled")),
        )
        claims += [
            Comparison(claim, "at least", least, ratio(rates, many, other), "not asked for")
            for claim, least, other in beside
        ]
    peak = None if memory is None else memory["peak_bytes"]
    missing = "not asked for" if memory is None else "memory is not counted on this system"
    held = None if peak is None else peak / 1e9
    return [*claims, Comparison("a million packets, 500 queries: GB at most", "at most", MEMORY_GB, held, missing)]


def ratio(
    rates: Sequence[Mapping[str, Any]], one: tuple[str, int, str], other: tuple[str, int, str]
) -> float | None:
    """Return the rate of a policy, a number of queries and a system ÷ that of another; None if one is missing."""
    first, second = rate(rates, *one), rate(rates, *other)
    return None if first is None or second is None else first / second


def rate(rates: Sequence[Mapping[str, Any]], policy: str, queries: int, system: str) -> float | None:
    """Return the best decisions per second; None if not measured."""
    wanted = (policy, queries, system)
    found = (each["best"] for each in rates if (each["policy"], each["queries"], each["system"]) == wanted)
    return next(found, None)
