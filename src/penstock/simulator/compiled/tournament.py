"""The tournament trees that find the best unit: see `choosers`."""

import numpy as np

from penstock.simulator.compiled.bundles import Ranking
from penstock.simulator.compiled.compile import inlined, lean
from penstock.simulator.compiled.priorities import priority_of, wins_tie
from penstock.simulator.compiled.records import (
    AGE,
    KINETIC,
    LENGTH,
    LINES,
    NOBODY,
    NONE,
    ORDER,
    Floats,
    Ints,
    Records,
)

PLACE_BITS, NUMBER_BITS = 15, 32
"""A key has the place of a unit in its lowest bits, then the number of its oldest tuple, then its group."""
PLACES_MASK = (1 << PLACE_BITS) - 1

EARLY = 1e-9
"""A match this close, relative to a priority, counts as undecided: far above rounding, far below what matters."""


@lean
def decided_until(units: Records, factors: Ints, time: Floats, winner: int, loser: int, now: float) -> float:
    """Return the time until which the winner of a match surely stays ahead."""
    ages = lengths = 0
    for place in range(len(factors)):
        if factors[place] == AGE:
            ages += 1
        elif factors[place] == LENGTH:
            lengths += 1
    if ages == 0:
        return np.inf
    since, other_since = time[units[winner].head], time[units[loser].head]
    weight, other_weight = units[winner].rank, units[loser].rank
    longer = lengths == 0 or units[winner].length >= units[loser].length
    if weight >= other_weight and weight > 0 and since <= other_since and longer:
        return np.inf  # as fast at least, and older: rounding keeps that order
    if np.sign(weight) != np.sign(other_weight):  # at age 0 they may be equal
        return np.inf if weight > other_weight and now > since else now
    if weight == 0:
        return np.inf
    if weight < 0:  # what releases less than nothing gains by waiting too
        weight, other_weight = -1.0 / weight, -1.0 / other_weight
    for _ in range(lengths):
        weight *= units[winner].length
        other_weight *= units[loser].length
    if ages > 1:
        weight, other_weight = weight ** (1.0 / ages), other_weight ** (1.0 / ages)
    return crossing(weight, other_weight, since, other_since, now)


@inlined
def crossing(weight: float, other_weight: float, since: float, other_since: float, now: float) -> float:
    """Return when the second line comes near the first, which is ahead; `now` if it is near already."""
    weight *= 1.0 - EARLY
    lead = weight * (now - since) - other_weight * (now - other_since)
    if other_weight > weight:
        return now + lead / (other_weight - weight) if lead > 0 else now
    return np.inf if since <= other_since or lead > 0 else now


@lean
def play(units: Records, factors: Ints, ties: Ints, tree: Records, time: Floats, node: int, now: float) -> None:
    """Play the match of a node of the kinetic tree between the winners below."""
    a, b = tree[2 * node], tree[2 * node + 1]
    until = min(a.until, b.until)
    left, right = a.unit, b.unit
    if left == NONE or right == NONE:
        ahead = right == NONE
    else:
        first = priority_of(factors, units[left].rank, now - a.since, units[left].length, 1)
        second = priority_of(factors, units[right].rank, now - b.since, units[right].length, 1)
        ahead = first > second if first != second else wins_tie(units, ties, time, left, right)
        best, beaten = (left, right) if ahead else (right, left)
        until = min(until, decided_until(units, factors, time, best, beaten, now))
    tree[node].until = until
    if ahead:
        tree[node].unit, tree[node].weight, tree[node].since = left, a.weight, a.since
    else:
        tree[node].unit, tree[node].weight, tree[node].since = right, b.weight, b.since


@inlined
def play_lines(units: Records, ties: Ints, tree: Records, time: Floats, node: int, now: float) -> None:
    """Play a match where priorities are positive weights times ages: the lines in the nodes are enough."""
    a, b = tree[2 * node], tree[2 * node + 1]
    until = min(a.until, b.until)
    left, right = a.unit, b.unit
    weight, other_weight, since, other_since = a.weight, b.weight, a.since, b.since
    first, second = weight * (now - since), other_weight * (now - other_since)
    ahead = first > second
    if left == NONE or right == NONE:
        ahead = right == NONE
        other_weight, other_since = weight, since
    elif first == second:
        ahead = wins_tie(units, ties, time, left, right)
    if not ahead:
        left = right
        weight, other_weight, since, other_since = b.weight, weight, b.since, since
        if right == NONE or a.unit == NONE:
            other_weight, other_since = weight, since
    if weight < other_weight or since > other_since:
        until = min(until, crossing(weight, other_weight, since, other_since, now))
    tree[node].until, tree[node].unit, tree[node].weight, tree[node].since = until, left, weight, since


@lean
def catch_up(ranking: Ranking, stack: Ints, now: float) -> None:
    """Play again every match that is no longer decided, from the leaves up."""
    units, factors, ties, tree, time = ranking.units, ranking.factors, ranking.ties, ranking.tree, ranking.time
    base = len(tree) // 2
    stack[0] = 1
    top = 1
    while top > 0:
        node = stack[top - 1]
        if node < 0:
            if ranking.by_age:
                play_lines(units, ties, tree, time, -node, now)
            else:
                play(units, factors, ties, tree, time, -node, now)
            top -= 1
            continue
        stack[top - 1] = -node
        for child in range(2 * node, 2 * node + 2):
            if child < base and tree[child].until <= now:
                stack[top] = child
                top += 1


@lean
def plant(units: Records, tree: Records, time: Floats, unit: int) -> None:
    """Write the line of a unit into its leaf."""
    leaf = len(tree) // 2 + units[unit].place
    tree[leaf].unit = unit if units[unit].waiting else NONE
    if units[unit].waiting:
        tree[leaf].weight, tree[leaf].since = units[unit].rank, time[units[unit].head]


@lean
def key_of(units: Records, unit: int) -> int:
    """Return the key of a unit in an ORDER tree."""
    if not units[unit].waiting:
        return NOBODY
    return ((units[unit].group << NUMBER_BITS | units[unit].head) << PLACE_BITS) | units[unit].place


@lean
def place_unit(ranking: Ranking, unit: int, now: float) -> None:
    """Update a unit in the search structure."""
    chooser, units, tree, keys, time = ranking.chooser, ranking.units, ranking.tree, ranking.keys, ranking.time
    if chooser == ORDER:
        node = len(keys) // 2 + units[unit].place
        least = key_of(units, unit)
        keys[node] = least
        while node > 1:
            least = min(least, keys[node ^ 1])
            node >>= 1
            keys[node] = least
    elif chooser == LINES:
        plant(units, tree, time, unit)
    elif chooser == KINETIC:
        plant(units, tree, time, unit)
        node = (len(tree) // 2 + units[unit].place) >> 1
        if ranking.by_age:
            while node >= 1:
                play_lines(units, ranking.ties, tree, time, node, now)
                node >>= 1
        while node >= 1:
            play(units, ranking.factors, ranking.ties, tree, time, node, now)
            node >>= 1


@lean
def place_all(ranking: Ranking, unit_at: Ints, now: float) -> None:
    """Update every unit in the search structure: cheaper than one by one where many have changed."""
    chooser, units, tree, keys, time = ranking.chooser, ranking.units, ranking.tree, ranking.keys, ranking.time
    if chooser == ORDER:
        base = len(keys) // 2
        for place in range(len(unit_at)):
            keys[base + place] = key_of(units, unit_at[place])
        for node in range(base - 1, 0, -1):
            keys[node] = min(keys[2 * node], keys[2 * node + 1])
    elif chooser in (KINETIC, LINES):
        for place in range(len(unit_at)):
            plant(units, tree, time, unit_at[place])
    if chooser == KINETIC:
        for node in range(len(tree) // 2 - 1, 0, -1):
            if ranking.by_age:
                play_lines(units, ranking.ties, tree, time, node, now)
            else:
                play(units, ranking.factors, ranking.ties, tree, time, node, now)
