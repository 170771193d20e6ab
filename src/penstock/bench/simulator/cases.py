"""The cases to time: each policy on each number of queries, by each system."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from penstock.policies import POLICIES

System = Literal["compiled", "scan", "simpy", "plain"]

RANKED = ("hr", "hnr", "srpt", "path_capacity", "chain", "greedy", "round_robin")
"""Policies whose priorities do not grow with time: required to be 100 times as fast as SimPy."""
AGED = ("fifo", "lsf", "brt", "bsd")
"""Policies by age: required to be faster than a scan, and not much slower with more queries."""
COMBINED = ("bsd.clustered(12)", "hnr.level('operator')")
NAMES = (*POLICIES, *COMBINED)
SLOWER = {"mtiq": 0.2, "threshold": 0.5, "hr_oracle": 0.1, "hnr_oracle": 0.1, "bsd.clustered(12)": 0.3}
"""Slower policies get this share of the tuples, so that a timing takes less than a second."""


@dataclass(frozen=True)
class Size:
    """A number of queries, and the tuples for each system: packets × queries, at least two packets."""

    queries: int
    compiled: int
    scan: int
    simpy: int
    simpy_by_age: int
    repeats: int
    """Of cases with a requirement. At 5,000 queries, set-up takes seconds and the timed part a fraction of one."""
    others: int
    """Of other policies, and of systems without a requirement."""

    def packets(self, system: System, policy: str) -> int:
        """Return how many packets a timing takes."""
        by_age = policy in AGED and policy != "fifo"
        tuples = {
            "compiled": int(self.compiled * SLOWER.get(policy, 1.0)),
            "scan": self.scan,
            "simpy": self.simpy_by_age if by_age else self.simpy,
            "plain": 100 * self.queries,  # it is stopped long before
        }[system]
        return max(2, tuples // self.queries)


FULL = (
    Size(50, compiled=2_000_000, scan=200_000, simpy=60_000, simpy_by_age=20_000, repeats=1, others=1),
    Size(500, compiled=2_000_000, scan=50_000, simpy=60_000, simpy_by_age=20_000, repeats=5, others=1),
    Size(5000, compiled=1_500_000, scan=10_000, simpy=30_000, simpy_by_age=10_000, repeats=3, others=1),
)
QUICK = (
    Size(50, compiled=500_000, scan=50_000, simpy=20_000, simpy_by_age=10_000, repeats=1, others=1),
    Size(500, compiled=500_000, scan=20_000, simpy=30_000, simpy_by_age=10_000, repeats=2, others=1),
    Size(5000, compiled=500_000, scan=10_000, simpy=30_000, simpy_by_age=10_000, repeats=1, others=0),
)
SIZES: Mapping[bool, tuple[Size, ...]] = {False: FULL, True: QUICK}
"""The full sizes, and the quick ones."""


@dataclass(frozen=True)
class TimingCase:
    """One timing, `repeats` times."""

    system: System
    policy: str
    size: Size
    repeats: int

    @property
    def name(self) -> str:
        """The case in words."""
        return f"{self.policy}, {self.size.queries:,} queries, {self.system}"


def cases(sizes: tuple[Size, ...]) -> list[TimingCase]:
    """Return all cases to time; without SimPy, those of the other systems."""
    return [each for size in sizes for each in _of_size(size) if each.repeats]


def has_simpy() -> bool:
    """Whether SimPy is installed; it is an optional peer."""
    return find_spec("simpy") is not None


def _of_size(size: Size) -> Iterator[TimingCase]:
    modelled: tuple[str, ...] = ()
    if has_simpy():
        from penstock.bench.simulator.simpy_model import MODELLED

        modelled = MODELLED
    for policy in NAMES:
        required = policy in AGED or (policy in RANKED and size.queries <= 500)
        yield TimingCase("compiled", policy, size, size.repeats if required else size.others)
        if policy in AGED:
            yield TimingCase("scan", policy, size, 1)
        if policy in modelled:
            yield TimingCase(
                "simpy", policy, size, size.repeats if policy in RANKED and required else min(1, size.others)
            )
        yield TimingCase("plain", policy, size, min(1, size.others))
