"""Comparing two units: priorities, turns and ties, operation by operation as `penstock.policies` does."""

import numpy as np

from penstock.simulator.compiled.bundles import TurnArrays
from penstock.simulator.compiled.compile import lean
from penstock.simulator.compiled.records import AGE, LENGTH, NONE, OLDEST, STATIC, Floats, Ints, Records


@lean
def turns_of(turns: TurnArrays, units: Records, last_holder: int, sweep: int, unit: int) -> tuple[int, int, int]:
    """Return the most turns since the cycle passed one of the unit's holders, that holder, and its sweep.

    The same as `policies.turns`, operation by operation.
    """
    holders, sweeps = turns.holders, turns.sweeps
    most, whose, when = -1, NONE, 0
    for place in range(units[unit].holder_from, units[unit].holder_to):
        holder = turns.lists[place]
        since, coming = 0, sweeps
        if holder > last_holder and sweep < holders[holder].turns:
            coming = sweep
        elif sweep + 1 < holders[holder].turns:
            coming = sweep + 1
        if holders[holder].turns > 0:
            ahead = (coming - sweep) * len(holders) + holder - last_holder
            since = sweeps * len(holders) - ahead + 1
        if since > most:
            most, whose, when = since, holder, coming % sweeps
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
    """Return whether `left` wins over `right` where their priorities are equal."""
    mine, theirs = units[left].head, units[right].head
    for place in range(len(ties)):
        if ties[place] == OLDEST:
            if time[mine] != time[theirs]:
                return time[mine] < time[theirs]
        elif ties[place] == STATIC and units[left].static != units[right].static:
            return units[left].static > units[right].static
    return mine < theirs if mine != theirs else left < right
