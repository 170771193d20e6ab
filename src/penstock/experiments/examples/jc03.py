"""JC03 Tables 1 and 2: FIFO against Chain on two selections below a join."""

from functools import partial

from penstock.experiments.examples.cells import Example, ExampleCell, row
from penstock.network import Network, NetworkBuilder, Number
from penstock.policies import POLICIES, Policy
from penstock.simulator import JC03, FractionalTrace, run_fractional

PAPER, EXAMPLE = "JC03", "Table 2"
ARRIVALS = {"stream 1": [1, 3, 10], "stream 2": [2, 3]}
TIMES = range(1, 11)


def network() -> Network:
    """Return the plan of Figure 1 with the properties of Table 1: a capacity of 0.2 is a cost of 5."""
    build = NetworkBuilder()
    build.stream("stream 1")
    build.stream("stream 2")
    build.operator("O1", "stream 1", cost=1, selectivity=0.2)
    build.operator("O2", "stream 2", cost=1, selectivity=0.2)
    build.join("O3", ["O1", "O2"], cost=5, selectivity=0.8)
    build.query("Q", "O3")
    return build.build()


def table_2() -> list[ExampleCell]:
    """Return queue size, latency and throughput at t = 1 … 10.

    FIFO takes a tuple through operator after operator, deciding after each; the tuple begun is the oldest.
    """
    return [
        *_cells(
            "FIFO",
            POLICIES["fifo"].level("operator"),
            queue="1.0 1.2 3.0 2.2 2.0 1.2 1.0 0.2 0 1.0",
            latency={3: "2", 5: "3", 7: "4", 9: "6"},
            throughput="0 0.0 0.16 0 0.16 0 0.16 0 0.16 0",
        ),
        *_cells(
            "Chain",
            POLICIES["chain"],
            queue="1.0 1.2 2.4 1.6 0.8 0.6 0.4 0.2 0 1.0",
            latency={6: "5", 7: "5", 8: "5", 9: "6"},
            throughput="0 0 0 0 0 0.16 0.16 0.16 0.16 0",
        ),
    ]


def _cells(name: str, policy: Policy, queue: str, latency: dict[int, str], throughput: str) -> list[ExampleCell]:
    trace = run_fractional(network(), ARRIVALS, policy, JC03)
    return [
        *row(PAPER, EXAMPLE, f"queue size, {name}", TIMES, queue, trace.queue_at),
        *row(PAPER, EXAMPLE, f"latency, {name}", [*latency], " ".join(latency.values()), partial(_latency, trace)),
        *row(PAPER, EXAMPLE, f"throughput, {name}", TIMES, throughput, lambda t: trace.output_between(t - 1, t)),
    ]


def _latency(trace: FractionalTrace, time: int) -> Number:
    """The latency of the output at `time`; an impossible one, -1, if there is none."""
    return next((result.response for result in trace.results if result.time == time), -1)


TABLE_2 = Example(PAPER, EXAMPLE, table_2)
