"""The runs: how long and how often, with which bursts, plans and selectors; and their names."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.experiments.p04.runs import RunSetting

PLANS = {"p04_filters": "plan 1", "p04_join": "plan 2"}
SELECTORS = {
    "roulette": "roulette",
    "foresight": "foresight",
    "ucb": "UCB",
    "thompson": "Thompson",
    "exp3": "EXP3",
}
IN_FULL = ("roulette", "foresight")
"""The paper's selector and our own: each of their claims is a row; of the others, a summary is."""
NAMES = {"round_robin": "RR", "chain": "Chain", "fifo": "FIFO", "mtiq": "MTIQ"}
BURST = 2.0
"""The rate in a burst ÷ that of other times, P04 §6.1."""


@dataclass(frozen=True)
class Study:
    """Seconds of short and of long runs, and how many of each there are by what a burst brings."""

    short: float
    long: float
    seeds: Mapping[float, tuple[int, int]]

    def at(self, plan: str, seconds: float, burst: float = BURST) -> RunSetting:
        """Return the setting of a plan and a length."""
        return RunSetting(plan, burst, seconds)


FULL = Study(30.0, 300.0, {BURST: (16, 6), 10.0: (6, 3)})
QUICK = Study(30.0, 60.0, {BURST: (4, 2)})
