"""Timing one run of a system: its decisions, and their seconds without the set-up."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from penstock.bench.simulator.cases import TimingCase
from penstock.network import Network
from penstock.policies import Unit, policy_named
from penstock.simulator.plain import Plain
from penstock.simulator.simulate import simulate
from penstock.workloads.populations import Population, population

POPULATION, LOAD, SEED = "sclp08", 0.97, 1
PATIENCE = 0.2
"""Seconds after which the plain reference is stopped."""


@dataclass(frozen=True)
class Timing:
    """The result of one timing."""

    decisions: int
    seconds: float

    @property
    def rate(self) -> float:
        """Decisions per second.

        >>> Timing(1000, 0.5).rate
        2000.0
        """
        return self.decisions / self.seconds


def queries(count: int) -> Population:
    """Return a population of `count` queries."""
    return population(POPULATION, queries=count, load=LOAD)


def timed(case: TimingCase, given: Population, packets: int | None = None) -> Timing:
    """Run a case once on its queries."""
    count = packets or case.size.packets(case.system, case.policy)
    arrivals = given.times(SEED, count=count)
    if case.system == "plain":
        return _plain(given.network, arrivals, case.policy)
    if case.system == "simpy":
        return _simpy(given.network, arrivals, case.policy)
    result = simulate(given.network, arrivals, case.policy, SEED, by_scan=case.system == "scan")
    return Timing(result.decisions, result.elapsed)


def _simpy(net: Network, arrivals: Mapping[str, Any], policy: str) -> Timing:
    from penstock.bench.simulator.simpy_model import Model

    (times,) = arrivals.values()
    model = Model(net, times.tolist(), policy)
    with _uncollected():
        begun = perf_counter()
        model.run()
        return Timing(model.decisions, perf_counter() - begun)


class _Enough(Exception):
    """The time of the plain reference is over."""


class _Impatient(Plain):
    """The plain reference, stopped after a while."""

    until: float

    def serve(self, unit: Unit) -> None:
        """Serve, unless time is up."""
        super().serve(unit)
        if perf_counter() > self.until:
            raise _Enough


def _plain(net: Network, arrivals: Mapping[str, Any], policy: str) -> Timing:
    plain = _Impatient(net, {name: times.tolist() for name, times in arrivals.items()}, policy_named(policy), SEED)
    with _uncollected():
        begun = perf_counter()
        plain.until = begun + PATIENCE
        with suppress(_Enough):
            plain.run()
        return Timing(len(plain.runs), perf_counter() - begun)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Time Python as `timeit` does: otherwise the garbage collector would walk all objects of 5,000 queries."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
