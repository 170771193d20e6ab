"""Admission: tuples arrive, and units are told of them."""

from penstock.simulator.compiled.bundles import ArrivalArrays, NetworkArrays, PlanArrays, StateArrays
from penstock.simulator.compiled.compile import compiled, inlined, lean
from penstock.simulator.compiled.fates import identity_of
from penstock.simulator.compiled.foresight import foresee_at, foresight_of
from penstock.simulator.compiled.places import ARRIVED, CHANGED, FRESH, MEMORY, PEAK, RECHECK, SAMPLES
from penstock.simulator.compiled.recording import note, pass_memory
from penstock.simulator.compiled.records import Floats, Ints, Records


@compiled
def admit(
    streams: Records,
    arrivals: ArrivalArrays,
    state: StateArrays,
    until: float,
    also_then: bool,
    logs: list[Floats],
    detail: bool,
) -> None:
    """Admit tuples that arrive before `until`, or also at it."""
    time, floats, ints = arrivals.time, state.floats, state.ints
    arrived, total = ints[ARRIVED], len(time)
    while arrived < total and (time[arrived] < until or (also_then and time[arrived] == until)):
        moment = time[arrived]
        pass_memory(state.bins, floats, moment)
        stream = arrivals.stream_of[arrived]
        streams[stream].admitted += 1
        streams[stream].fresh += 1
        ints[FRESH] = 1
        floats[MEMORY] += streams[stream].memory
        arrived += 1
        if arrived == total or time[arrived] > moment:
            if moment < until:
                floats[PEAK] = max(floats[PEAK], floats[MEMORY])
            if detail:
                note(logs, SAMPLES, ints, (moment, floats[MEMORY]))
    ints[ARRIVED] = arrived


@lean
def mark(units: Records, changed_units: Ints, ints: Ints, unit: int) -> None:
    """Note that a unit must be ranked again."""
    if units[unit].dirty == 0:
        units[unit].dirty = 1
        changed_units[ints[CHANGED]] = unit
        ints[CHANGED] += 1


@inlined
def tell_units(arrivals: ArrivalArrays, network: NetworkArrays, plan: PlanArrays, ints: Ints) -> None:
    """Mark the units for which tuples have arrived since they were last told."""
    streams, lists, numbers = network.streams, network.lists, arrivals.numbers
    units, doors, changed_units = plan.units.units, plan.units.doors, plan.work.changed
    for stream in range(len(streams) if ints[FRESH] else 0):
        came = streams[stream].fresh
        if came == 0:
            continue
        streams[stream].fresh = 0
        for leaf in range(streams[stream].leaf_from, streams[stream].leaf_to):
            edge = lists[leaf]
            for place in range(doors[edge].unit_from, doors[edge].unit_to):
                unit = lists[place]
                if plan.policy.oracle:
                    ahead = foresight_of(network, arrivals.values, plan)
                    for late in range(streams[stream].admitted - came, streams[stream].admitted):
                        number = numbers[streams[stream].start + late]
                        foresee_at(ahead, edge, unit, number, identity_of(number), 1.0)
                if units[unit].waiting == 0 or plan.policy.by_length:
                    mark(units, changed_units, ints, unit)
    if ints[FRESH] != 0 and len(network.blocked) > 0:
        ints[RECHECK] = 1
    ints[FRESH] = 0


@inlined
def tell_blocked(network: NetworkArrays, plan: PlanArrays, ints: Ints) -> None:
    """Mark the units of blocking joins, whose inputs may be ready now."""
    blocked, lists, doors = network.blocked, network.lists, plan.units.doors
    for place in range(len(blocked) if ints[RECHECK] else 0):
        edge = blocked[place]
        for at in range(doors[edge].unit_from, doors[edge].unit_to):
            mark(plan.units.units, plan.work.changed, ints, lists[at])
    ints[RECHECK] = 0
