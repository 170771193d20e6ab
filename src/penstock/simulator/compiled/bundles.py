"""Named tuples of arrays that belong together: the arguments of compiled functions.

numba resolves the fields when it compiles, so a field costs no more than a variable. A bundle is copied where a
function is called that does not become part of its caller.
"""

from typing import NamedTuple

import numpy as np

from penstock.simulator.compiled.records import Floats, Ints, Records, Words


class ArrivalArrays(NamedTuple):
    """The arriving tuples, numbered in the order of time."""

    time: Floats
    stream_of: Ints
    numbers: Ints
    """The numbers of the first stream's tuples, then those of the second, …"""
    values: Floats
    """The attributes of each tuple."""


class NetworkArrays(NamedTuple):
    """The network: one record per stream, queue and operator."""

    streams: Records
    edges: Records
    operators: Records
    ideal: Floats
    """T of each query."""
    blocked: Ints
    """The queues of blocking joins."""
    lists: Ints
    """The common array of lists: see `records`."""


class UnitArrays(NamedTuple):
    """The units of a policy, the steps of their runs, and the units that serve each queue."""

    units: Records
    unit_at: Ints
    """The units that can ever have work, in the order of their static part."""
    entries: Records
    steps: Records
    doors: Records
    clusters: Records


class Ranking(NamedTuple):
    """What the search for the best unit compares: see `choosers`."""

    chooser: int
    by_age: bool
    """Whether a priority is a positive weight times the age, and nothing else."""
    units: Records
    """Units, or lanes."""
    factors: Ints
    ties: Ints
    tree: Records
    keys: Ints
    time: Floats


class TurnArrays(NamedTuple):
    """Who takes turns, and a bit for each of them that has work."""

    holders: Records
    lists: Ints
    bits: Words
    summary: Words
    sweeps: int
    """Sweeps over all holders in a cycle of turns."""


class TermArrays(NamedTuple):
    """Gain and cost as programs, with the features of every path: for priorities that change during a run."""

    path_query: Ints
    features: Floats
    whole: Floats
    gain: Floats
    cost: Floats
    made_ahead: Floats
    """The results that waiting tuples will bring on each path, as an oracle knows them."""
    below_from: Ints
    below: Ints
    """The units whose rank depends on each operator."""
    scratch: Floats


class ForesightArrays(NamedTuple):
    """What an oracle needs: see `foresight`."""

    edges: Records
    operators: Records
    lists: Ints
    values: Floats
    units: Records
    entries: Records
    steps: Records
    path_query: Ints
    made: Floats


class WorkArrays(NamedTuple):
    """Work space for lists of units: a stack, the units to rank again, and the chosen ones."""

    stack: Ints
    changed: Ints
    chosen: Ints


class PolicyCodes(NamedTuple):
    """What a policy asks of the loop, beside the ranking."""

    every: int
    """Every n-th decision takes the oldest tuple; 0 for never."""
    together: bool
    oracle: bool
    minds_setup: bool
    by_length: bool
    """Whether priorities change with the length of the queue."""


class PlanArrays(NamedTuple):
    """A policy on a network."""

    units: UnitArrays
    ranking: Ranking
    turns: TurnArrays
    terms: TermArrays
    work: WorkArrays
    policy: PolicyCodes


class KernelOptions(NamedTuple):
    """How a run is served, charged and recorded."""

    setup: float
    service: int
    limit: float
    threshold: float
    decision: float
    """Time of one priority computation or comparison."""
    fagin: bool
    adaptive: bool
    alpha: float
    window: int
    memory: float
    beta: float
    shortest: float
    longest: float
    detail: bool
    counted: bool = False
    """Whether operators count the tuples that they take and make, for statistics."""
    until: float = np.inf
    """When to stop for a sample."""


class StateArrays(NamedTuple):
    """The counters of a run: see `places`."""

    floats: Floats
    ints: Ints
    stats: Floats
    bins: Floats


class WindowArrays(NamedTuple):
    """Aggregates over windows: see `windows`. All arrays are empty where there are none."""

    aggregates: Records
    closes: Records
    """Every close after those below it."""
    panes: Records
    ends: Ints
    """The numbers of the ends of windows of time."""
    buckets: Ints
    """A hash table of partial rows."""
    of_operator: Ints
    """The place of an operator's aggregate or close."""
    lists: Ints
    over_from: Ints
    over: Ints
    """The closes above each queue."""
    identities: Words
    """The identities of tuples, where moments are numbered with them."""
    clock: int
    """The stream of moments."""


class Simulation(NamedTuple):
    """The arguments of the general loop, except for arrays that may grow."""

    arrivals: ArrivalArrays
    network: NetworkArrays
    windows: WindowArrays
    plan: PlanArrays
    options: KernelOptions
    state: StateArrays


class GrowingArrays(NamedTuple):
    """Arrays that a run may replace by larger ones: the pool of tuples, and the logs of events."""

    nodes: Records
    departures: Floats
    samples: Floats
    runs: Floats


class LaneArrays(NamedTuple):
    """The streams, lanes and operators on lanes: see `lanes`."""

    streams: Records
    parts: Records
    unit_at: Ints
    ideal: Floats
    stack: Ints
    by_length: bool


class RankArrays(NamedTuple):
    """Lanes by rank: see `ranks`."""

    streams: Records
    tracks: Records
    parts: Records
    ranks: Records
    bits: Words
    summary: Words
    full: Words
    """The bits when every rank has work."""
    size: float
    """Memory of one tuple in one queue."""


class MemoryLevel(NamedTuple):
    """Queue memory, its area over time and its peak, in all and in the current interval."""

    memory: float
    since: float
    area: float
    peak: float
    bin: int
    bin_end: float
    bin_area: float
    bin_peak: float
