"""A plan of P04 under single policies, or under policies that a selector chooses, for each mix of goals."""

from collections.abc import Callable, Sequence
from typing import Any

from penstock.experiments.p04.mixes import GOALS, goals_of
from penstock.policies import QueueShare
from penstock.qos import ChoiceSample, Selection, Statistics, merged
from penstock.simulator.simulate import simulate
from penstock.workloads import Redrawn, population
from penstock.workloads.populations.p04 import RATE

CANDIDATES = ("round_robin", "chain", "fifo", "mtiq")
SERVICE = QueueShare(0.3, 50)
"""RATIO and THRESHOLD, P04 §4.1 and §6.1."""
WARMUP_S = 5.0
COUNTED_FROM_S = WARMUP_S + len(CANDIDATES) + 1
"""Start-up, each policy for a second, and the first once more: not counted, whatever ran."""


def single(plan: str, burst: float, seconds: float, seed: int, drawn: bool) -> dict[str, Any]:
    """Return the outcome of each policy alone."""
    alone = {name: Selection(candidates=(name,), warmup=WARMUP_S) for name in CANDIDATES}
    return {name: _outcome(plan, burst, seconds, seed, drawn, each) for name, each in alone.items()}


def selected(
    policy: str, mixes: Sequence[str], plan: str, burst: float, seconds: float, seed: int, drawn: bool
) -> dict[str, Any]:
    """Return the outcome of a selector, named as the `policy`, for each mix of goals."""
    made = {
        name: Selection(goals_of(name), policy, CANDIDATES, every=2.0, sample=1.0, warmup=WARMUP_S, seed=seed)
        for name in mixes
    }
    return {name: _outcome(plan, burst, seconds, seed, drawn, each) for name, each in made.items()}


def _outcome(
    plan: str, burst: float, seconds: float, seed: int, drawn: bool, selection: Selection
) -> dict[str, Any]:
    """Return the means of a run, the shares of the time that policies had, and every second if it is drawn."""
    made = population(plan, arrivals=Redrawn(RATE, burst=burst))
    result = simulate(made.network, made.times(seed, seconds=seconds), selection, seed, service=SERVICE)
    assert result.chosen is not None
    looks = counted(result.chosen.looks)
    values = Statistics().computed("plan", merged(look.interval for look in looks))
    found = {
        "values": {goal: values[name] for goal, name in GOALS.items()},
        "shares": shares(looks),
        "switches": result.chosen.switches,
        "elapsed": result.elapsed,
    }
    return found | {"series": [_row(look) for look in looks]} if drawn else found


def counted(looks: Sequence[ChoiceSample]) -> list[ChoiceSample]:
    """Return the looks after start-up and exploration. A run that has begun ends before a look: times are near."""
    return [look for look in looks if look.time - look.seconds / 2 > COUNTED_FROM_S]


def shares(looks: Sequence[ChoiceSample]) -> dict[str, float]:
    """Return the share of the time in which each candidate ran."""
    total = sum(look.seconds for look in looks)
    return {name: sum(look.seconds for look in looks if look.policy == name) / total for name in CANDIDATES}


def _row(look: ChoiceSample) -> list[float]:
    """Return what a running mean is made of: time, seconds, results, sum of their delays, tuples that wait."""
    results = look.interval.results
    row = (look.time, look.seconds, results.count, results.response, look.interval.waiting)
    return [round(value, 6) for value in row]


STUDIES: dict[str, Callable[..., dict[str, Any]]] = {"single": single, "selected": selected}
