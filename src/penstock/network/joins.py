"""Rates through a network, and outputs per tuple of sliding-window joins.

A tuple that enters a join from one input is compared with the tuples in the windows of the other inputs: rate ×
range for a time window, the count for a row window (SCLP08 §5.2, BBDM03 §4.2.1). Rates of joins below joins follow
by recursion. A row window counts the tuples that reach the join, as in BBDM03.
"""

from collections.abc import Mapping

from penstock.network.graph import Graph
from penstock.network.numbers import Number, checked
from penstock.network.operator import Edge, Operator

Rates = Mapping[str, Number | None]


def output_rates(graph: Graph) -> Rates:
    """Return tuples per second out of every stream and operator; None where a stream's rate is unknown."""
    rates: dict[str, Number | None] = {stream.name: stream.rate for stream in graph.streams}
    for operator in graph.operators:
        total: Number | None = 0
        for port, source in enumerate(operator.inputs):
            rate = rates[source]
            if rate is None or total is None:
                total = None
            else:
                total += rate * outputs_per_tuple(operator, port, rates)
        rates[operator.name] = total
    return rates


def outputs_per_tuple(operator: Operator, port: int, rates: Rates) -> Number:
    """Return the output tuples of `operator` per tuple that enters by `port`: S_J · (S_R V/τ_R) of SCLP08 §5.2."""
    made = operator.selectivity
    for other in range(len(operator.windows)):
        if other != port:
            made *= tuples_held(operator, other, rates)
    return made


def tuples_held(operator: Operator, port: int, rates: Rates) -> Number:
    """Return how many tuples the window of one input holds: S_R · V/τ_R, or the row count."""
    window = operator.windows[port]
    if window.kind == "rows":
        return window.size
    rate = rates[operator.inputs[port]]
    if rate is None:  # excluded by the checks of the network
        raise AssertionError(f"no rate below the range window of {operator.name}")
    return rate * window.size


def fanouts(graph: Graph, rates: Rates) -> Mapping[Edge, Number]:
    """Return for every queue the output tuples of its operator per waiting tuple."""
    return {edge: outputs_per_tuple(graph.operator(edge.target), edge.port, rates) for edge in graph.edges}


def semijoin_average(
    rates: tuple[Number, Number], selectivities: tuple[Number, Number], costs: tuple[Number, Number]
) -> tuple[Number, Number]:
    """Return (cost, selectivity) of a join of R and S seen as one operator over both inputs (BBDM03 §4.2.1).

    `rates` are λ_R, λ_S; `selectivities` how many tuples of S's window a tuple of R joins with, and the
    reverse; `costs` the time a tuple of R and of S takes.

    >>> semijoin_average(rates=(3, 1), selectivities=(0.5, 2), costs=(1, 5))
    (2.0, 0.875)
    """
    for rate in rates:
        checked(rate, "the rate of an input", above=0)
    total = rates[0] + rates[1]
    cost = (rates[0] * costs[0] + rates[1] * costs[1]) / total
    selectivity = (rates[0] * selectivities[0] + rates[1] * selectivities[1]) / total
    return cost, selectivity
