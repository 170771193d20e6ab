"""Which simulations JC03 §5.2 needs, and its Figures 2 to 4."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.jc03.claims import Runs, judged
from penstock.experiments.jc03.unpruned import NOT_PRUNED
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell

PAPER = "JC03"
LOAD, RATE, ROWS, SHARE = 0.8, 4.0, 100, 0.5
POLICIES = ("path_capacity", "chain", "simplified_segment", "segment", "fifo")
DRAWN = 250
"""Points of a line, to which the seconds are averaged."""

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "as described": {"leaves": True, "rows": ROWS},
    "all selects alike": {"leaves": False, "rows": ROWS},
    "windows of time": {"leaves": True, "rows": None},
}
"""The plans that claims are judged on, and other plans for comparison."""

NOTES = (
    "The paper prints how many queries, operators and streams there are, and the flows' Pareto figures. Shapes, "
    "costs, selectivities, rates (4 to 20 per second), windows and load are declared here: the load is 0.8 on "
    "average over five phases, 0.48 to 1.12 from the first to the last.",
    "The plans that claims are judged on are as the paper describes them: leaves release much more memory than "
    "other operators, and selectivities do not follow the rates (windows of 100 rows). Two other declarations are "
    "measured too: selects drawn alike in all places, and windows of 1 to 10 s, whose joins make more results "
    "of a tuple in a burst.",
    "A turn serves one tuple; the paper serves a path for a time unit. Seconds are those of the simulator, within "
    "0.1 %. Where there are several seeds, other queries and other arrivals each, ratios are geometric means.",
    "The memory of the threshold policy is half of what path capacity needs at most. Segment and FIFO are not in "
    "the paper's figures. Simplified segments that are not pruned were run to explain what pruning does.",
)


def experiment(settings: ReproductionSettings) -> "JC03Experiment":
    """Return the experiment."""
    return JC03Experiment(settings)


class JC03Experiment:
    """Five policies and the threshold, on three declarations of the plans."""

    title = "Path capacity, segments and Chain over time (JC03 §5.2)"
    notes: Sequence[str] = NOTES

    def __init__(self, settings: ReproductionSettings) -> None:
        self.seeds = [settings.seed + place for place in range(1 if settings.quick else 3)]
        self.seconds = 60.0 if settings.quick else 400.0

    def cells(self) -> list[SweepCell]:
        """Return every declaration, seed and policy."""
        return [cell for _, _, cell in self._runs()]

    def claims(self, found: CellResults) -> list[Claim]:
        """Return what the paper says beside what was measured."""
        runs: Runs = {}
        for variant, policy, cell in self._runs():
            runs.setdefault(variant, {}).setdefault(policy, []).append(found.of(cell))
        return judged(runs)

    def figures(self, found: CellResults) -> list[Figure]:
        """Return Figures 2 to 4 of the first seed, and the results of other declarations."""
        first: dict[str, Mapping[str, Any]] = {}
        others: dict[str, dict[str, list[tuple[Any, float]]]] = {"latency": {}, "mean": {}}
        for variant, policy, cell in self._runs():
            result = found.of(cell)
            if policy == NOT_PRUNED:
                continue
            if variant == "as described":
                first.setdefault(policy, result)
            if cell.settings["seed"] == self.seeds[0] and policy != "threshold":
                for name, lines in others.items():
                    lines.setdefault(policy, []).append((variant, result[name]))
        return [
            _over_time("Figure 2", "Tuple latency", "seconds", "response", first),
            _over_time("Figure 3", "Throughput", "results per second", "outputs", first),
            _over_time("Figure 4", "Total memory", "tuples", "memory", first),
            Figure(
                "Figure 2", "Mean latency by what is declared", "plans", "seconds", others["latency"], bars=True
            ),
            Figure("Figure 4", "Mean memory by what is declared", "plans", "tuples", others["mean"], bars=True),
        ]

    def _runs(self) -> Iterator[tuple[str, str, SweepCell]]:
        for variant, plans in VARIANTS.items():
            for seed in self.seeds:
                settings = {"load": LOAD, "rate": RATE, "seconds": self.seconds, "seed": seed, **plans}
                for policy in POLICIES:
                    yield variant, policy, SweepCell(PAPER, "phases", {"policy": policy, **settings})
                if variant == "as described":
                    yield variant, NOT_PRUNED, SweepCell(PAPER, "phases", {"policy": NOT_PRUNED, **settings})
                    yield (
                        variant,
                        "threshold",
                        SweepCell(PAPER, "threshold", {"share": SHARE, **settings}, weight=4),
                    )


def _over_time(number: str, title: str, y: str, field: str, runs: Mapping[str, Mapping[str, Any]]) -> Figure:
    lines = {policy: _line(result, field) for policy, result in runs.items()}
    return Figure(number, f"{title} over time", "time [s]", y, lines)


def _line(result: Mapping[str, Any], field: str) -> list[tuple[Any, float]]:
    """Return a series with fewer points: means of consecutive seconds; latency weighs with the results."""
    values, outputs = result[field], result["outputs"]
    step = -(-len(values) // DRAWN)
    line = []
    for place in range(0, len(values), step):
        here = [(value, made) for value, made in zip(values, outputs, strict=True)][place : place + step]
        known = [(value, made if field == "response" else 1) for value, made in here if value is not None]
        weight = sum(made for _, made in known)
        if weight:
            mean = sum(value * made for value, made in known) / weight
            line.append((round((place + step / 2) * result["width"], 2), round(mean, 4)))
    return line
