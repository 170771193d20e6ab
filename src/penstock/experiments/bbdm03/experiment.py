"""Which simulations BBDM03 §5 needs, and its figures."""

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.experiments.bbdm03.claims import Memory, judged
from penstock.experiments.bbdm03.studies import QUANTUM
from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell

PAPER = "BBDM03"
LOAD = 0.95
POINTS = 200
PLANS = {
    "two": ("§5.1", "two operators"),
    "four": ("§5.1", "four operators"),
    "lookup": ("§5.2", "a stored-relation join"),
    "join": ("§5.3", "a sliding-window join"),
    "three": ("§5.4", "three queries"),
}
"""Where the paper has each, and what it is. Its figures' numbers cannot be read."""

POLICIES = ("chain", "greedy", "fifo", "round_robin", QUANTUM)
NAMES = {"round_robin": "round robin, by tuples", QUANTUM: "round robin"}
SLOWER = 4.0
"""How many times as slow the last operator is in additional runs, which explain round robin."""

NOTES = (
    "The paper's digits are damaged: costs, selectivities, windows, the flows' figures and the load (0.95 at the "
    "mean rate, at which bursts build queues up) are declared here. Its figures' numbers cannot be read.",
    "Round robin gives each operator that is ready the same time, one mean gap between arrivals (10 ms), and a "
    "tuple that is not done continues in the next turn. 'By tuples' is the simulator's: a turn is one tuple.",
    "The other policies decide again after every tuple at an operator; the paper preempts them every time unit.",
    "A number over several runs is the worst of them, where a claim says so, else their geometric mean.",
)
REAL = (
    "Real arrivals are those of the trace that was given; the paper's is DEC-PKT with all protocols. A second "
    "stream starts at its middle. Time is stretched to the rate of the plan; what passes is drawn, not taken from "
    "packets. The paper runs the stored-relation join on synthetic data only."
)
NO_TRACE = "No trace was given: only synthetic arrivals were run, and claims on the real data have no measure."


def experiment(settings: ReproductionSettings) -> "BBDM03Experiment":
    """Return the experiment."""
    return BBDM03Experiment(settings)


class BBDM03Experiment:
    """Five plans, two kinds of arrivals, five policies."""

    title = "Chain: queue size over time (BBDM03 §5)"

    def __init__(self, settings: ReproductionSettings) -> None:
        self.trace = None if settings.trace is None else str(settings.trace.resolve())
        self.seeds = [settings.seed] if settings.quick else [settings.seed, settings.seed + 1]
        self.tuples = 6_000 if settings.quick else 30_000
        self.notes = (*NOTES, NO_TRACE if self.trace is None else REAL)

    def cells(self) -> list[SweepCell]:
        """Return every plan, kind of arrivals, seed and policy, and the runs with slower last operators."""
        return [cell for _, cell in self._runs()]

    def claims(self, found: CellResults) -> list[Claim]:
        """Return what the paper says beside what was measured."""
        memory: Memory = {}
        for (plan, kind, policy), cell in self._runs():
            result = found.of(cell)
            memory.setdefault((plan, kind), {}).setdefault(policy, []).append((result["mean"], result["peak"]))
        return judged(memory)

    def figures(self, found: CellResults) -> list[Figure]:
        """Return queue size over time, of the first seed."""
        drawn: dict[tuple[str, str], dict[str, list[tuple[Any, float]]]] = {}
        for (plan, kind, policy), cell in self._runs():
            if plan in PLANS:
                drawn.setdefault((plan, kind), {}).setdefault(NAMES.get(policy, policy), _line(found.of(cell)))
        return [
            Figure(
                PLANS[plan][0], f"Queue size over time: {PLANS[plan][1]}, {kind} data", "time [s]", "tuples", lines
            )
            for (plan, kind), lines in drawn.items()
        ]

    def _runs(self) -> Iterator[tuple[tuple[str, str, str], SweepCell]]:
        for kind, seed, trace in self._arrivals():
            for plan in PLANS:
                for policy in POLICIES:
                    yield (plan, kind, policy), self._cell(plan, policy, seed, trace)
            for plan in ("two", "join"):
                for policy in ("chain", "fifo", QUANTUM):
                    cell = self._cell(plan, policy, seed, trace, slower=SLOWER)
                    yield (f"{plan}, slower", kind, policy), cell

    def _arrivals(self) -> Iterator[tuple[str, int, str | None]]:
        for seed in self.seeds:
            yield "synthetic", seed, None
        if self.trace is not None:
            yield "real", self.seeds[0], self.trace

    def _cell(self, plan: str, policy: str, seed: int, trace: str | None, **more: float) -> SweepCell:
        settings = {"plan": plan, "policy": policy, "load": LOAD, "tuples": self.tuples, "seed": seed}
        given = settings | {"points": POINTS, "trace": trace} | more
        return SweepCell(
            PAPER, "queues", given, weight=(10.0 if policy == QUANTUM else 1.0) * (1 + (plan in "join three"))
        )


def _line(result: Mapping[str, Any]) -> list[tuple[Any, float]]:
    width = result["width"]
    return [(round(width * (place + 0.5), 3), round(size, 2)) for place, size in enumerate(result["series"])]
