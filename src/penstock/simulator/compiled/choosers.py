"""Finding the unit with the highest priority, exactly, without looking at all of them.

- ORDER: static priorities, and ages of one weight. A tournament tree of whole numbers: the rank of the static
  part, then the number of the oldest tuple, then the place of the unit; the least wins.
- KINETIC: priorities that grow with age, each at its own pace, or change with the length of the queue. A
  tournament tree that knows of every match until when it is decided, and keeps the winner's line in each node. A
  match is looked at again only after that, by the very comparison that a scan would make; the time is taken early
  enough that rounding cannot matter. So the winner is the scan's to the last bit.
- CYCLE: turns. A bit for every holder; the next one set after the last.
- SCAN: turns multiplied by something; every unit is looked at.
- LINES: every unit is looked at where it need not be, to compare; its line is where a tree would have its leaf.
"""

import numpy as np

from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.intrinsics import lowest
from penstock.simulator.compiled.records import (
    AGE,
    CYCLE,
    KINETIC,
    LENGTH,
    LINES,
    NOBODY,
    NONE,
    OLDEST,
    ORDER,
    STATIC,
    Floats,
    Ints,
    Records,
    Words,
)

ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
PLACE_BITS, NUMBER_BITS = 15, 32
"""A key has the place of a unit in its lowest bits, then the number of its oldest tuple, then its group."""
PLACES_MASK = (1 << PLACE_BITS) - 1

EARLY = 1e-9
"""By so much of a priority a match counts as undecided: far more than rounding, far less than matters."""

# Bits ---------------------------------------------------------------------------------------------------------


@lean
def set_bit(bits: Words, summary: Words, place: int) -> None:
    """Set a bit, and the one of its word in the summary."""
    word = place >> 6
    bits[word] |= ONE << np.uint64(place & 63)
    summary[word >> 6] |= ONE << np.uint64(word & 63)


@lean
def clear_bit(bits: Words, summary: Words, place: int) -> None:
    """Clear a bit, and the one of its word in the summary if it was the last."""
    word = place >> 6
    bits[word] &= ~(ONE << np.uint64(place & 63))
    if bits[word] == 0:
        summary[word >> 6] &= ~(ONE << np.uint64(word & 63))


@lean
def first_bit(bits: Words, summary: Words) -> int:
    """Return the place of the first bit that is set, or NONE."""
    for top in range(len(summary)):
        if summary[top] != 0:
            word = (top << 6) + lowest(summary[top])
            return (word << 6) + lowest(bits[word])
    return NONE


@lean
def next_bit(bits: Words, summary: Words, after: int) -> int:
    """Return the place of the first bit after `after`, round the end, or NONE."""
    word = (after + 1) >> 6
    if word < len(bits):
        rest = bits[word] & (ALL << np.uint64((after + 1) & 63))
        if rest != 0:
            return (word << 6) + lowest(rest)
        for later in range(word + 1, len(bits)):
            if bits[later] != 0:
                return (later << 6) + lowest(bits[later])
    return first_bit(bits, summary)


# Priorities ---------------------------------------------------------------------------------------------------


@lean
def turns_of(
    units: Records, lists: Ints, holders: Records, sweeps: int, last_holder: int, sweep: int, unit: int
) -> tuple[int, int, int]:
    """Return the turns since the cycle passed the unit's holders, the most of them, whose that is, and its sweep.

    It is `policies.turns`, operation by operation.
    """
    most, whose, when = -1, NONE, 0
    for place in range(units[unit].holder_from, units[unit].holder_to):
        holder = lists[place]
        turns, coming = 0, sweeps
        if holder > last_holder and sweep < holders[holder].turns:
            coming = sweep
        elif sweep + 1 < holders[holder].turns:
            coming = sweep + 1
        if holders[holder].turns > 0:
            ahead = (coming - sweep) * len(holders) + holder - last_holder
            turns = sweeps * len(holders) - ahead + 1
        if turns > most:
            most, whose, when = turns, holder, coming % sweeps
    return most, whose, when


@lean
def priority_of(factors: Ints, rank: float, age: float, length: int, turns: int) -> float:
    """Return the static part times the urgency, as `Policy.urgent` does, operation by operation."""
    urgency = 1.0
    in_turn = False
    for place in range(len(factors)):
        if factors[place] == AGE:
            urgency *= age
        elif factors[place] == LENGTH:
            urgency *= length
        else:
            urgency *= turns
            in_turn = True
    if in_turn:
        return urgency
    if rank >= 0:
        return rank * urgency
    return rank / urgency if urgency > 0 else -np.inf


@lean
def wins_tie(units: Records, ties: Ints, time: Floats, left: int, right: int) -> bool:
    """Return whether `left` goes before `right` where their priorities are equal."""
    mine, theirs = units[left].head, units[right].head
    for place in range(len(ties)):
        if ties[place] == OLDEST:
            if time[mine] != time[theirs]:
                return time[mine] < time[theirs]
        elif ties[place] == STATIC and units[left].static != units[right].static:
            return units[left].static > units[right].static
    return mine < theirs if mine != theirs else left < right


# The kinetic tournament ---------------------------------------------------------------------------------------


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
    """Return when a line, of the second weight, comes near another that is ahead; `now` if it is near already."""
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
    """Do the same where a priority is a positive weight times the age: the lines in the nodes are enough."""
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
def catch_up(
    units: Records, factors: Ints, ties: Ints, tree: Records, time: Floats, by_age: bool, stack: Ints, now: float
) -> None:
    """Play again every match that is no longer decided, from the leaves up."""
    base = len(tree) // 2
    stack[0] = 1
    top = 1
    while top > 0:
        node = stack[top - 1]
        if node < 0:
            if by_age:
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


# One interface ------------------------------------------------------------------------------------------------


@lean
def key_of(units: Records, unit: int) -> int:
    """Return what an ORDER tree compares."""
    if not units[unit].waiting:
        return NOBODY
    return ((units[unit].group << NUMBER_BITS | units[unit].head) << PLACE_BITS) | units[unit].place


@lean
def place_unit(
    chooser: int, units: Records, factors: Ints, ties: Ints, tree: Records, keys: Ints, time: Floats, by_age: bool,
    unit: int, now: float,
) -> None:  # fmt: skip
    """Put what is known of a unit where the search will find it."""
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
        if by_age:
            while node >= 1:
                play_lines(units, ties, tree, time, node, now)
                node >>= 1
        while node >= 1:
            play(units, factors, ties, tree, time, node, now)
            node >>= 1


@lean
def place_all(
    chooser: int, units: Records, unit_at: Ints, factors: Ints, ties: Ints, tree: Records, keys: Ints,
    time: Floats, by_age: bool, now: float,
) -> None:  # fmt: skip
    """Put every unit in its place: cheaper than one after another where many have changed."""
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
            if by_age:
                play_lines(units, ties, tree, time, node, now)
            else:
                play(units, factors, ties, tree, time, node, now)


@lean
def best_by_scan(
    units: Records, factors: Ints, ties: Ints, tree: Records, time: Floats, by_age: bool, count: int, now: float
) -> int:
    """Return the best unit by looking at the line of each."""
    best, most = NONE, 0.0
    base = len(tree) // 2
    for leaf in range(base, base + count):
        unit = tree[leaf].unit
        if unit == NONE:
            continue
        age = now - tree[leaf].since
        found = tree[leaf].weight * age
        if not by_age:
            found = priority_of(factors, tree[leaf].weight, age, units[unit].length, 1)
        if best == NONE or found > most or (found == most and wins_tie(units, ties, time, unit, best)):
            best, most = unit, found
    return best


@lean
def best_by_turns(
    chooser: int, units: Records, holders: Records, lists: Ints, factors: Ints, ties: Ints, bits: Words,
    summary: Words, time: Floats, sweeps: int, last_holder: int, sweep: int, now: float,
) -> int:  # fmt: skip
    """Return the unit whose turn it is, or the best by turns times something else."""
    best = NONE
    if chooser == CYCLE:
        holder = next_bit(bits, summary, last_holder)
        if holder != NONE:
            for place in range(holders[holder].unit_from, holders[holder].unit_to):
                unit = lists[place]
                if units[unit].waiting and (best == NONE or wins_tie(units, ties, time, unit, best)):
                    best = unit
        return best
    most = 0.0
    for unit in range(len(units)):
        if units[unit].waiting:
            turns, _, _ = turns_of(units, lists, holders, sweeps, last_holder, sweep, unit)
            age = now - time[units[unit].head]
            found = priority_of(factors, units[unit].rank, age, units[unit].length, turns)
            if best == NONE or found > most or (found == most and wins_tie(units, ties, time, unit, best)):
                best, most = unit, found
    return best


@compiled
def oldest_unit(units: Records, time: Floats) -> int:
    """Return the unit with the oldest tuple: every n-th decision against starvation (JC03 §4.2)."""
    ties = np.array([OLDEST, STATIC])
    best = NONE
    for unit in range(len(units)):
        if units[unit].waiting and (best == NONE or wins_tie(units, ties, time, unit, best)):
            best = unit
    return best


@compiled
def looked_at(units: Records, clusters: Records, lists: Ints, fagin: bool) -> int:
    """Return how many candidates a search on one processor computes priorities for (SCLP08 §6.2).

    One a cluster that waits; or, by Fagin's algorithm, those seen in the list by static part and in the list by
    age until one was seen in both. A tuple that heads several clusters counts for the highest.
    """
    oldest = np.empty(len(clusters), np.int64)
    count = 0
    for cluster in range(len(clusters) - 1, -1, -1):  # a higher number has the higher static part
        if clusters[cluster].waiting == 0:
            continue
        head = NOBODY
        for place in range(clusters[cluster].unit_from, clusters[cluster].unit_to):
            if units[lists[place]].waiting:
                head = min(head, units[lists[place]].head)
        oldest[count] = head
        count += 1
    if not fagin or count == 0:
        return count
    by_age = np.argsort(oldest[:count], kind="mergesort")
    age_place = np.full(count, count)
    listed = 0
    for place in range(count):
        here = by_age[place]
        if place == 0 or oldest[here] != oldest[by_age[place - 1]]:
            age_place[here] = listed
            listed += 1
    met = count - 1
    for place in range(count):
        met = min(met, max(place, age_place[place]))
    seen = 0
    for place in range(count):
        if place <= met or age_place[place] <= met:
            seen += 1
    return seen
