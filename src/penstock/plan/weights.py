"""Weights of queries on a plan: a group has those of its members."""

from collections.abc import Mapping

from penstock.network import Network
from penstock.plan.plan import Plan


def weighed_network(plan: Plan, weights: Mapping[str, float]) -> Network:
    """Return the network of a plan with these weights of queries; names that are not there count for nothing.

    What a group makes is the sum of what its members make (SCLP08 (9)). So a result of it counts as much as one of
    its members does on average; where the best speaks for all, as much as the greatest.
    """
    if not weights:
        return plan.network.weighed({})
    means: dict[str, float] = {}
    greatest: dict[str, float] = {}
    for query in plan.network.queries:
        each = [weights.get(name, 1.0) for name in plan.served_by(query.name)] or [1.0]
        means[query.name], greatest[query.name] = sum(each) / len(each), max(each)
    return plan.network.weighed(means, greatest)
