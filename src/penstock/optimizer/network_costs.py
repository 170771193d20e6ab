"""The cost model for networks: utilization, selections ordered by rank, joins as problems."""

from collections.abc import Mapping
from dataclasses import replace

from penstock.errors import PlanError
from penstock.network import Network, Number
from penstock.optimizer.filters import Filter, by_rank
from penstock.optimizer.problem import JoinProblem


def utilization(network: Network) -> float:
    """Return the share of a processor that a network needs at the rates of its streams; above 1 it is infeasible.

    AN04 Figure 1:

    >>> from penstock.network import NetworkBuilder
    >>> build = NetworkBuilder()
    >>> arrivals = build.stream("s", rate=1000)
    >>> first = build.operator("o2", arrivals, cost=0.001, selectivity=0.5)
    >>> build.query("q", build.operator("o1", first, cost=0.0005, selectivity=0.25))
    >>> network = build.build()
    >>> utilization(network), utilization(ranked(network))
    (1.25, 0.75)
    """
    total = 0.0
    for edge, cost in network.costs.items():
        rate = network.rates[edge.source]
        if rate is None:
            raise PlanError(f"the rate of {edge.source!r} is not known, so its utilization cannot be computed")
        total += float(rate) * float(cost)
    return total


def ranked(network: Network) -> Network:
    """Return the network with consecutive selections in the cheapest order.

    Shared selections stay where they are: others use their output.
    """
    for chain in _chains(network):
        network = _reordered(network, chain)
    return network


def join_problem(
    network: Network,
    join: str,
    selectivities: Mapping[tuple[str, str], Number] | None = None,
    capacity: Number = 1.0,
) -> JoinProblem:
    """Return a window join of a network as a problem, with its inputs by their names.

    A network has one selectivity per join; with more than two inputs, those of the pairs must be given.
    """
    operator = network.operator(join)
    if operator.kind != "join" or len(set(operator.inputs)) < len(operator.inputs):
        raise PlanError(f"{join!r} is not a join of different inputs")
    if selectivities is None:
        if len(operator.inputs) > 2:
            raise PlanError(f"{join!r} joins {len(operator.inputs)} inputs: give the selectivities of the pairs")
        one, other = operator.inputs
        selectivities = {(one, other): operator.selectivity}
    rates = {}
    for name in operator.inputs:
        rate = network.rates[name]
        if rate is None:
            raise PlanError(f"the rate of {name!r} is not known, so {join!r} cannot be planned")
        rates[name] = rate
    return JoinProblem(
        rates,
        dict(zip(operator.inputs, operator.windows, strict=True)),
        selectivities,
        join_cost=max(operator.costs),
        capacity=capacity,
    )


def _chains(network: Network) -> list[list[str]]:
    """Return the chains of selections, each of which is the only consumer of the one before it."""
    roots = {query.root for query in network.queries}
    found: list[list[str]] = []
    for operator in network.operators:
        if operator.kind != "select":
            continue
        (below,) = operator.inputs
        chain = next((chain for chain in found if chain[-1] == below), None)
        if chain is not None and below not in roots and len(network.out_edges[below]) == 1:
            chain.append(operator.name)
        else:
            found.append([operator.name])
    return [chain for chain in found if len(chain) > 1]


def _reordered(network: Network, chain: list[str]) -> Network:
    """Return the network with one chain of selections by rank; consumers of the last read the new last."""
    filters = [Filter(network.operator(name).costs[0], network.operator(name).selectivity, name) for name in chain]
    names = [each.name for each in by_rank(filters)]
    below = [network.operator(chain[0]).inputs, *((name,) for name in names[:-1])]
    selections = iter(
        replace(network.operator(name), inputs=each) for name, each in zip(names, below, strict=True)
    )
    last = {chain[-1]: names[-1]}
    operators = tuple(
        next(selections)
        if operator.name in chain
        else replace(operator, inputs=tuple(last.get(each, each) for each in operator.inputs))
        for operator in network.operators
    )
    queries = tuple(replace(query, root=last.get(query.root, query.root)) for query in network.queries)
    return Network(network.streams, operators, queries)
