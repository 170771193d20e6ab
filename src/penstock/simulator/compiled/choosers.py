"""Finding the unit with the highest priority, exactly, without comparing all of them.

- ORDER: static priorities, and ages of one weight. A tournament tree of whole numbers: the rank of the static
  part, then the number of the oldest tuple, then the place of the unit; the least wins.
- KINETIC: priorities that grow with age, each at its own pace, or change with the length of the queue. A
  tournament tree that keeps in each node the winner's line, and the time until which it surely wins. A match is
  played again only after that time, by the same comparison as in a scan. The time is early enough that rounding
  cannot matter. So the winner is exactly that of a scan.
- CYCLE: turns. A bit for every holder; the next one set after the last.
- SCAN: turns multiplied by something; every unit is compared.
- LINES: a scan where a tree would do, as a baseline; the line of a unit is where a tree has its leaf.
"""

import numpy as np

from penstock.simulator.compiled.bits import next_bit
from penstock.simulator.compiled.bundles import Ranking, TurnArrays
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.priorities import priority_of, turns_of, wins_tie
from penstock.simulator.compiled.records import (
    CYCLE,
    KINETIC,
    LINES,
    NOBODY,
    NONE,
    OLDEST,
    ORDER,
    STATIC,
    Floats,
    Ints,
    Records,
)
from penstock.simulator.compiled.tournament import PLACES_MASK, catch_up


@lean
def best_by_scan(ranking: Ranking, count: int, now: float) -> int:
    """Return the best unit by comparing the lines of all."""
    units, factors, ties, tree, time = ranking.units, ranking.factors, ranking.ties, ranking.tree, ranking.time
    best, most = NONE, 0.0
    base = len(tree) // 2
    for leaf in range(base, base + count):
        unit = tree[leaf].unit
        if unit == NONE:
            continue
        age = now - tree[leaf].since
        found = tree[leaf].weight * age
        if not ranking.by_age:
            found = priority_of(factors, tree[leaf].weight, age, units[unit].length, 1)
        if best == NONE or found > most or (found == most and wins_tie(units, ties, time, unit, best)):
            best, most = unit, found
    return best


@lean
def best_by_turns(ranking: Ranking, turns: TurnArrays, last_holder: int, sweep: int, now: float) -> int:
    """Return the unit whose turn it is, or the best by turns times another factor."""
    units, factors, ties, time = ranking.units, ranking.factors, ranking.ties, ranking.time
    holders, lists = turns.holders, turns.lists
    best = NONE
    if ranking.chooser == CYCLE:
        holder = next_bit(turns.bits, turns.summary, last_holder)
        if holder != NONE:
            for place in range(holders[holder].unit_from, holders[holder].unit_to):
                unit = lists[place]
                if units[unit].waiting and (best == NONE or wins_tie(units, ties, time, unit, best)):
                    best = unit
        return best
    most = 0.0
    for unit in range(len(units)):
        if units[unit].waiting:
            since, _, _ = turns_of(turns, units, last_holder, sweep, unit)
            age = now - time[units[unit].head]
            found = priority_of(factors, units[unit].rank, age, units[unit].length, since)
            if best == NONE or found > most or (found == most and wins_tie(units, ties, time, unit, best)):
                best, most = unit, found
    return best


@inlined
def best_unit(
    ranking: Ranking, turns: TurnArrays, unit_at: Ints, stack: Ints, last_holder: int, sweep: int, now: float
) -> int:
    """Return the unit with the highest priority, or NONE if nothing waits."""
    chooser = ranking.chooser
    if chooser == ORDER:
        return NONE if ranking.keys[1] == NOBODY else unit_at[ranking.keys[1] & PLACES_MASK]
    if chooser == KINETIC:
        if ranking.tree[1].until <= now:
            catch_up(ranking, stack, now)
        return ranking.tree[1].unit
    if chooser == LINES:
        return best_by_scan(ranking, len(unit_at), now)
    return best_by_turns(ranking, turns, last_holder, sweep, now)


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
def candidates_seen(units: Records, clusters: Records, lists: Ints, fagin: bool) -> int:
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
