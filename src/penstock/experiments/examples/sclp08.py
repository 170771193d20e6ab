"""SCLP08 Example 1: HR against HNR on two queries and three tuples that wait."""

from penstock.experiments.examples.cells import Example, ExampleCell, decimals
from penstock.network import Network
from penstock.simulator import SCLP08, run_fractional

PAPER, EXAMPLE = "SCLP08", "Example 1, Table II"
PRINTED = {"hr": ("12.25", "3.875"), "hnr": ("13.0", "2.9")}


def network() -> Network:
    """Return Q1 (5 ms, selectivity 1.0) and Q2 (2 ms, 0.33)."""
    return Network.chains([[(5.0, 1.0)], [(2.0, 0.33)]])


def example_1() -> list[ExampleCell]:
    """Return the average response and slowdown; of the three tuples, Q2 passes the middle one."""
    fates = {("q2.o1", 0): 0, ("q2.o1", 1): 1, ("q2.o1", 2): 0}
    cells = []
    for name, (response, slowdown) in PRINTED.items():
        metrics = run_fractional(network(), {"s": [0, 0, 0]}, name, SCLP08, fates=fates).metrics
        cells += [
            _cell(name, "avg. response", response, metrics["avg_response"]),
            _cell(name, "avg. slowdown", slowdown, metrics["avg_slowdown"]),
        ]
    return cells


def _cell(policy: str, metric: str, printed: str, computed: float) -> ExampleCell:
    return ExampleCell(PAPER, EXAMPLE, policy.upper(), metric, printed, computed, decimals(printed))


EXAMPLE_1 = Example(PAPER, EXAMPLE, example_1)
