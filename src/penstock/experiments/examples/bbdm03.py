"""BBDM03 Example 1: Greedy against FIFO on a fast, selective operator below a slow one.

The paper's digits are damaged; these were recomputed from its rules by hand.
"""

from penstock.experiments.examples.cells import Example, ExampleCell, row
from penstock.network import Network
from penstock.policies import POLICIES
from penstock.simulator import BBDM03, run_fractional

PAPER, EXAMPLE = "BBDM03", "Example 1"
TIMES = (*range(7), 13, 14)


def network() -> Network:
    """Return O1, which takes unit time and passes 0.2, and O2, which takes unit time for 0.2 tuples."""
    return Network.chains([[(1, 0.2), (5, 0)]])


def example_1() -> list[ExampleCell]:
    """Return the queue size at t = 0 … 6, where a tuple arrives each time unit, and where it ends."""
    greedy = run_fractional(network(), {"s": range(7)}, "greedy", BBDM03)
    fifo = run_fractional(network(), {"s": range(7)}, POLICIES["fifo"].level("operator"), BBDM03)
    return [
        *row(PAPER, EXAMPLE, "queue size, Greedy", TIMES, "1 1.2 1.4 1.6 1.8 2.0 2.2 0.2 0", greedy.queue_at),
        *row(PAPER, EXAMPLE, "queue size, FIFO", TIMES, "1 1.2 2.0 2.2 3.0 3.2 4.0 0.2 0", fifo.queue_at),
    ]


EXAMPLE_1 = Example(
    PAPER,
    EXAMPLE,
    example_1,
    note='The digits of our copy of the paper are damaged: "printed" is its rules worked by hand.',
)
