"""P04 Table 1.1: FIFO against most-tuples-in-queue on three filters.

The text's further figures for MTIQ (a first output "about t = 14", a rate of 0.07) contradict the rules beside
them: one arrival each time unit gives O1 alone the whole processor. They are not compared.
"""

from penstock.experiments.examples.cells import Cell, Example, row
from penstock.network import Network
from penstock.policies import POLICIES, Policy
from penstock.simulator import P04, run_fractional

PAPER, EXAMPLE = "P04", "Table 1.1"
TIMES = range(6)


def network() -> Network:
    """Return the three filters of Figure 1.1."""
    return Network.chains([[(1, 0.9), (0.25, 0.1), (0.75, 1)]])


def table_1_1() -> list[Cell]:
    """Return queue size and output so far at t = 0 … 5."""
    fifo = POLICIES["fifo"].level("operator")
    return [
        *_cells("FIFO", fifo, "1.0 1.9 2.0 2.9 3.0 3.9", "0.0 0.0 0.09 0.09 0.18 0.18"),
        *_cells("MTIQ", POLICIES["mtiq"], "1.0 1.9 2.8 1.9 1.9 1.9", "0 0 0 0 0 0"),
    ]


def _cells(name: str, policy: Policy, queue: str, output: str) -> list[Cell]:
    trace = run_fractional(network(), {"s": TIMES}, policy, P04)
    return [
        *row(PAPER, EXAMPLE, f"queue size, {name}", TIMES, queue, trace.queue_at),
        *row(PAPER, EXAMPLE, f"output so far, {name}", TIMES, output, lambda t: trace.output_between(-1, t)),
    ]


TABLE_1_1 = Example(
    PAPER,
    EXAMPLE,
    table_1_1,
    note="Not compared: what the text says of MTIQ after t = 5 contradicts its own rules.",
)
