"""P04 Table 1.1: FIFO against most-tuples-in-queue on three filters; §1.3: the latter with twice the arrivals.

The text's further figures for MTIQ (a first output "about t = 14", a rate of 0.07) contradict the rules beside
them: one arrival each time unit gives O1 alone the whole processor. They are not compared.
"""

from collections.abc import Callable

from penstock.experiments.examples.cells import Example, ExampleCell, row
from penstock.network import Network, Number
from penstock.policies import POLICIES, Policy
from penstock.simulator import P04, run_fractional
from penstock.simulator.fractional_trace import FractionalTrace

PAPER, EXAMPLE, TWICE = "P04", "Table 1.1", "§1.3"
TIMES = range(6)


def network() -> Network:
    """Return the three filters of Figure 1.1."""
    return Network.chains([[(1, 0.9), (0.25, 0.1), (0.75, 1)]])


def table_1_1() -> list[ExampleCell]:
    """Return queue size and output so far at t = 0 … 5."""
    fifo = POLICIES["fifo"].level("operator")
    return [
        *_cells("FIFO", fifo, "1.0 1.9 2.0 2.9 3.0 3.9", "0.0 0.0 0.09 0.09 0.18 0.18"),
        *_cells("MTIQ", POLICIES["mtiq"], "1.0 1.9 2.8 1.9 1.9 1.9", "0 0 0 0 0 0"),
    ]


def _cells(name: str, policy: Policy, queue: str, output: str) -> list[ExampleCell]:
    trace = run_fractional(network(), {"s": TIMES}, policy, P04)
    return [
        *row(PAPER, EXAMPLE, f"queue size, {name}", TIMES, queue, trace.queue_at),
        *row(PAPER, EXAMPLE, f"output so far, {name}", TIMES, output, lambda t: trace.output_between(-1, t)),
    ]


def section_1_3() -> list[ExampleCell]:
    """Return what MTIQ does with two arrivals a time unit: how queues grow, and whether it leaves O1."""
    trace = run_fractional(network(), {"s": sorted([*TIMES, *TIMES])}, POLICIES["mtiq"], P04)
    after = TIMES[1:]
    return [
        *row(PAPER, TWICE, "queues grow by, MTIQ", after, "1.9 " * len(after), _growth(trace)),
        *row(PAPER, TWICE, "runs not of O1, MTIQ", after, "0 " * len(after), _others(trace)),
    ]


def _growth(trace: FractionalTrace) -> Callable[[int], Number]:
    return lambda t: trace.queue_at(t) - trace.queue_at(t - 1)


def _others(trace: FractionalTrace) -> Callable[[int], Number]:
    leaf = network().operators[0].name
    return lambda t: sum(run.units != (leaf,) for run in trace.runs if run.start < t)


SECTION_1_3 = Example(
    PAPER,
    TWICE,
    section_1_3,
    note="Two arrivals a time unit. Printed in words: O1's queue grows by 1, O2's by 0.9, and only O1 ever runs.",
)
TABLE_1_1 = Example(
    PAPER,
    EXAMPLE,
    table_1_1,
    note="Not compared: what the text says of MTIQ after t = 5 contradicts its own rules.",
)
