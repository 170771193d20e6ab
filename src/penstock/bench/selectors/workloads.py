"""The workloads: steady, bursty, drifting, with goals that change, and real arrivals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from penstock.network import Network
from penstock.policies import Limited, QueueShare, Service
from penstock.workloads import Arrivals, Bursty, Flows, Phases, Poisson, Population, Redrawn, Trace, population

Kind = Literal["steady", "bursty", "drifting", "changing goals", "trace"]

CANDIDATES = ("fifo", "round_robin", "hr", "hnr", "bsd", "lsf", "chain", "mtiq")
OF_P04 = ("round_robin", "chain", "fifo", "mtiq")
RATE, QUERIES = 40.0, 20
BELLCORE, DEC = "BC-pAug89.parquet", "DEC-PKT-1-UDP.parquet"

SLOWDOWN = "minimize avg_slowdown"
AS_IN_README = "minimize avg_slowdown 0.7, minimize queue_memory 0.3"
BOTH = "minimize avg_response 0.5, minimize queue_memory 0.5"
LONGEST = "minimize max_response"


@dataclass(frozen=True)
class SelectorWorkload:
    """Queries, arrivals and goals. `changes` are other goals from a share of the time on; so are `drifts`."""

    name: str
    kind: Kind
    queries: str
    goals: str
    arrivals: Callable[[float], Arrivals]
    """The process of every stream, given how long it lasts."""
    settings: Mapping[str, object] = field(default_factory=dict)
    candidates: Sequence[str] = CANDIDATES
    service: Service = field(default_factory=Limited)
    changes: Sequence[tuple[float, str]] = ()
    drifts: Sequence[float] = ()
    """When every operator below a root gets the selectivity of another one, as a share of the time."""

    def population(self, seed: int, seconds: float) -> Population:
        """Return the queries with their arrivals; another seed is another population, where one is drawn."""
        return population(self.queries, seed=seed, arrivals=self.arrivals(seconds), **self.settings)

    def drift(self, net: Network, seed: int, seconds: float) -> list[tuple[float, dict[str, float]]]:
        """Return the selectivities that operators drift to: those of each other, in a random order."""
        random = np.random.default_rng(seed)
        inner = [each for each in net.operators if not each.windows and net.out_edges.get(each.name)]
        shares = [float(each.selectivity) for each in inner]
        return [
            (
                at * seconds,
                dict(zip((each.name for each in inner), random.permutation(shares).tolist(), strict=True)),
            )
            for at in self.drifts
        ]


def _poisson(seconds: float) -> Arrivals:
    return Poisson(RATE)


def _bursty(seconds: float) -> Arrivals:
    return Bursty(RATE)


def _flows(seconds: float) -> Arrivals:
    return Flows(RATE)


def _redrawn(seconds: float) -> Arrivals:
    return Redrawn(RATE)


def _tenfold(seconds: float) -> Arrivals:
    return Redrawn(RATE, burst=10.0, share=0.1)


def _rising(seconds: float) -> Arrivals:
    """Half of the mean rate, then more and more: half as much again in the end."""
    shares = (0.5, 0.8, 1.0, 1.2, 1.5)
    return Phases(tuple((Bursty(RATE * share), seconds / len(shares)) for share in shares), repeat=False)


def _many(load: float) -> Mapping[str, object]:
    return {"queries": QUERIES, "load": load}


def workloads(traces: Path | None) -> list[SelectorWorkload]:
    """Return all workloads; those of real arrivals, if there is a folder of traces."""
    p04 = partial(SelectorWorkload, candidates=OF_P04, service=QueueShare(0.3, 50))
    made = [
        SelectorWorkload("response", "steady", "sclp08", "latency", _poisson, _many(0.9)),
        SelectorWorkload("slowdown", "steady", "sclp08", SLOWDOWN, _poisson, _many(0.95)),
        SelectorWorkload("fairness", "steady", "sclp08", "fairness", _poisson, _many(0.95)),
        SelectorWorkload("memory of four operators", "steady", "bbdm03_four", "memory", _poisson),
        p04("P04 plan 1, balanced", "steady", "p04_filters", "balanced", _poisson),
        SelectorWorkload("response in bursts", "bursty", "sclp08", "latency", _bursty, _many(0.9)),
        SelectorWorkload("slowdown and memory", "bursty", "sclp08", AS_IN_README, _bursty, _many(0.95)),
        SelectorWorkload("longest response", "bursty", "sclp08", LONGEST, _bursty, _many(0.9)),
        SelectorWorkload("shared operators", "bursty", "sclp08_shared", SLOWDOWN, _bursty, _many(0.9)),
        SelectorWorkload("memory of two operators", "bursty", "bbdm03_two", "memory", _flows),
        SelectorWorkload("stored relation", "bursty", "bbdm03_lookup", BOTH, _flows),
        SelectorWorkload("window join", "bursty", "bbdm03_join", "balanced", _flows),
        p04("P04 plan 1, order of magnitude", "bursty", "p04_filters", BOTH, _tenfold),
        p04("P04 plan 2, balanced", "bursty", "p04_join", "balanced", _redrawn),
        SelectorWorkload("sixteen queries", "bursty", "jc03", BOTH, _bursty, {"load": 0.9, "rows": 20}),
        SelectorWorkload(
            "response, selectivity", "drifting", "sclp08", "latency", _bursty, _many(0.9),
            drifts=(0.3, 0.6),
        ),
        SelectorWorkload(
            "slowdown, selectivity", "drifting", "sclp08", SLOWDOWN, _poisson, _many(0.9),
            drifts=(0.5,),
        ),
        SelectorWorkload("memory, selectivity", "drifting", "bbdm03_four", "memory", _flows, drifts=(0.5,)),
        p04("P04 plan 1, selectivity", "drifting", "p04_filters", "balanced", _redrawn, drifts=(0.5,)),
        SelectorWorkload("fairness, rates", "drifting", "sclp08", "fairness", _rising, _many(0.85)),
        SelectorWorkload("slowdown and memory, rates", "drifting", "sclp08", AS_IN_README, _rising, _many(0.85)),
        SelectorWorkload(
            "response, memory, fairness", "changing goals", "sclp08", "latency", _bursty, _many(0.95),
            changes=((0.33, "memory"), (0.66, "fairness")),
        ),
        SelectorWorkload(
            "slowdown, longest response", "changing goals", "sclp08", SLOWDOWN, _poisson, _many(0.95),
            changes=((0.5, LONGEST),),
        ),
        SelectorWorkload(
            "memory, response", "changing goals", "bbdm03_four", "memory", _flows, changes=((0.5, "latency"),)
        ),
        p04(
            "P04 plan 1, memory, response", "changing goals", "p04_filters", "memory", _redrawn,
            changes=((0.5, "latency"),),
        ),
    ]  # fmt: skip
    if traces is None:
        return made
    real = {name: lambda seconds, path=traces / name: Trace(path, rate=RATE) for name in (BELLCORE, DEC)}
    return [
        *made,
        SelectorWorkload("Bellcore, slowdown", "trace", "sclp08", SLOWDOWN, real[BELLCORE], _many(0.9)),
        p04("Bellcore, P04 plan 1", "trace", "p04_filters", BOTH, real[BELLCORE]),
        SelectorWorkload("DEC, response and memory", "trace", "sclp08", BOTH, real[DEC], _many(0.95)),
        SelectorWorkload("DEC, memory", "trace", "bbdm03_four", "memory", real[DEC]),
    ]
