"""AN04 Figure 1, Example 1 and Figure 6: feasible and infeasible plans, and the best one to shed from."""

from collections.abc import Callable, Iterator

import scipy  # its part `optimize` is loaded on first use

from penstock.experiments.examples.cells import Example, ExampleCell, decimals
from penstock.optimizer import Filter, JoinPlan, JoinProblem, filter_plan, plans

PAPER = "AN04"
FIRST = {"a": ("A", "B", "C"), "b": ("B", "C", "A"), "c": ("A", "C", "B")}
"""The paper's names of the plans of Example 1."""


def problem(join_cost_ms: float) -> JoinProblem:
    """Return the query of Example 1 with a join that takes `join_cost_ms` milliseconds per tuple."""
    return JoinProblem(
        rates={"A": 10, "B": 70, "C": 20},
        windows={"A": 10, "B": 10, "C": 10},
        selectivities={("A", "B"): 0.5, ("B", "C"): 0.2},
        join_cost=join_cost_ms / 1000,
    )


def planned(plan: str, join_cost_ms: float) -> JoinPlan:
    """Return plan a, b or c."""
    return next(each for each in plans(problem(join_cost_ms)) if each.order == FIRST[plan])


def figure_1() -> list[ExampleCell]:
    """Return the utilisation of two selections in both orders, at a thousand tuples per second."""
    first, second = Filter(0.0005, 0.25), Filter(0.001, 0.5)
    found = {"0.75": filter_plan(1000, [first, second]), "1.25": filter_plan(1000, [second, first])}
    return [
        ExampleCell(PAPER, "Figure 1", "utilisation", at, printed, plan.demand, 2)
        for at, (printed, plan) in zip(("σ1 first", "σ2 first"), found.items(), strict=True)
    ]


def example_1() -> list[ExampleCell]:
    """Return the costs, utilisations and output rates of the three plans while nothing is dropped."""
    rows = (
        ("cost, tuples/s", "500 280 400", lambda name: planned(name, 1).demand * 1000),
        ("utilisation, % at 0.5 ms", "25 14 20", lambda name: planned(name, 0.5).demand * 100),
        ("utilisation, % at 3 ms", "150 84 120", lambda name: planned(name, 3).demand * 100),
        ("full output, results/s", "1000 1000 1000", lambda name: planned(name, 0.5).rate),
    )
    return [cell for row in rows for cell in _row("Example 1", *row)]


def figure_6() -> list[ExampleCell]:
    """Return where the plans start to shed, cross, and meet, as a join takes longer and longer."""

    def cross(one: str, other: str, low: float, high: float) -> float:
        return float(
            scipy.optimize.brentq(lambda cost: planned(one, cost).rate - planned(other, cost).rate, low, high)
        )

    ratio = planned("c", 14).rate / planned("b", 14).rate
    numbers = (
        ("plan b starts to shed, ms", "3.571", 1000 / (planned("b", 1).demand * 1000)),
        ("b and c cross, ms", "4.255", cross("b", "c", 4, 4.5)),
        ("c ÷ b at 14 ms", "2.30", ratio),
        ("b becomes the worst, ms", "16.67", cross("a", "b", 15, 18)),
    )
    cells = [
        ExampleCell(PAPER, "Figure 6", what, "at", printed, value, decimals(printed))
        for what, printed, value in numbers
    ]
    return [*cells, *_row("Figure 6", "results/s at 100 ms", "100 100 100", lambda name: planned(name, 100).rate)]


def _row(example: str, what: str, printed: str, computed: Callable[[str], float]) -> Iterator[ExampleCell]:
    for name, number in zip(FIRST, printed.split(), strict=True):
        yield ExampleCell(PAPER, example, what, f"plan {name}", number, computed(name), decimals(number))


FIGURE_1 = Example(PAPER, "Figure 1", figure_1)
EXAMPLE_1 = Example(PAPER, "Example 1", example_1)
FIGURE_6 = Example(
    PAPER,
    "Figure 6",
    figure_6,
    note="The paper reads 3.5, 4 to 4.5, over twice and 17 off its plot; printed here is what they are by hand.",
)
