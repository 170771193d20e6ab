"""Weights of queries in a plan's network: a group has the average of its members' weights."""

from collections.abc import Mapping

from penstock.network import Network
from penstock.plan.plan import Plan


def weighed_network(plan: Plan, weights: Mapping[str, float]) -> Network:
    """Return the network of a plan with these weights of queries; unknown names are ignored.

    A group makes the sum of its members' results (SCLP08 (9)). So its weight is the average of theirs, or the
    greatest for policies that rank by the best member.
    """
    if not weights:
        return plan.network.weighed({})
    means: dict[str, float] = {}
    greatest: dict[str, float] = {}
    for query in plan.network.queries:
        each = [weights.get(name, 1.0) for name in plan.served_by(query.name)] or [1.0]
        means[query.name], greatest[query.name] = sum(each) / len(each), max(each)
    return plan.network.weighed(means, greatest)
