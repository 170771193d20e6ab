"""The units of a policy as lanes, if all of them are lanes: see `penstock.simulator.compiled.lanes`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penstock.simulator.compiled import records
from penstock.simulator.compiled.bundles import LaneArrays, RankArrays
from penstock.simulator.compiled.fates import bar
from penstock.simulator.compiled.records import NOBODY, NONE, Records
from penstock.simulator.layout.lists import records_of
from penstock.simulator.layout.network import Wiring
from penstock.simulator.layout.policy import PolicyLayout

POOL = 1024
"""Initial places for waiting tuples."""


class LaneLayout:
    """The units of a plan as lanes, their operators behind each other, and the streams that fill them.

    Lanes are in the order of their static part, so that those served one after the other are close together in
    memory; where they take turns, in the order of the units.
    """

    def __init__(self, plan: PolicyLayout, lanes: Records, parts: Records, streams: Records) -> None:
        self.lanes, self.parts, self.streams = lanes, parts, streams
        self.unit_at = np.arange(len(lanes))
        self.links = np.zeros((POOL, 2), np.int64)
        self.links[:, 1] = np.arange(1, POOL + 1)
        self.stats = np.zeros((len(lanes), 8))
        self.ranks = self._ranks(plan)
        words = -(-max(len(self.ranks), 1) // 64)
        self.bits = np.zeros(words, np.uint64)
        self.summary = np.zeros(-(-words // 64), np.uint64)
        self.full = np.zeros(words, np.uint64)
        for rank in range(len(self.ranks)):
            self.full[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)

    def _ranks(self, plan: PolicyLayout) -> Records:
        """Lanes of equal static part together, where that is enough: one stream that fills every lane."""
        leaves = self.lanes["stream"] != NONE
        if plan.chooser != records.ORDER or len(self.streams) != 1 or not leaves.all():
            return np.zeros(0, records.RANK)
        _, first, count = np.unique(self.lanes["group"], return_index=True, return_counts=True)
        made = np.zeros(len(first), records.RANK)
        made["first"], made["count"] = first, count
        self.tracks = np.zeros(len(self.lanes), records.TRACK)
        for name in ("alone", "part_from", "part_to"):
            self.tracks[name] = self.lanes[name]
        self.tracks["ideal"] = plan.wiring.ideal[self.lanes["query"]]
        self.tracks["row"] = np.arange(len(self.lanes))
        return made

    def arrays(self, plan: PolicyLayout) -> LaneArrays:
        """Return the lanes for `run_lanes`."""
        by_length = plan.codes.by_length
        return LaneArrays(self.streams, self.parts, self.unit_at, plan.wiring.ideal, plan.stack, by_length)

    @property
    def rank_arrays(self) -> RankArrays:
        """The lanes for `run_ranks`."""
        size = float(self.lanes[0]["size"])
        return RankArrays(
            self.streams, self.tracks, self.parts, self.ranks, self.bits, self.summary, self.full, size
        )


class LaneRow(NamedTuple):
    """A row of operators: the queues that a tuple passes in a run, where it waits then, its query if it ends."""

    passed: list[int]
    waits: int
    query: int


def lanes_of(plan: PolicyLayout, reached: set[int]) -> LaneLayout | None:
    """Return the units of a plan as lanes, or None if one of them is not a lane."""
    policy = plan.policy
    special = policy.clusters or policy.oldest_every or policy.clairvoyant or policy.saving
    if special or plan.wiring.blocking or plan.weighs_turns:
        return None
    served = {edge: plan.served[edge][0] for edge in sorted(reached) if len(plan.served[edge]) == 1}
    if len(set(served.values())) != len(reached):
        return None
    rows = {edge: _row(plan, unit, edge) for edge, unit in served.items()}
    found = {edge: row for edge, row in rows.items() if row is not None}
    return _laid_out(plan, served, found) if len(found) == len(rows) else None


def _row(plan: PolicyLayout, unit: int, edge: int) -> LaneRow | None:
    """Return what a tuple from `edge` passes, or None if that is not a row of filters."""
    wiring, numbers = plan.wiring, plan.lists.numbers
    first, last = plan.units[unit]["entry_from"], plan.units[unit]["entry_to"]
    step = next(entry["step"] for entry in plan.entry_rows[first:last] if entry["edge"] == edge)
    passed: list[int] = []
    while True:
        record = plan.step_rows[step]
        passed.append(record["edge"])
        operator = wiring.operators[wiring.edges[record["edge"]]["operator"]]
        children = numbers[record["child_from"] : record["child_to"]]
        waits = numbers[record["wait_from"] : record["wait_to"]]
        results = numbers[operator["result_from"] : operator["result_to"]]
        if operator["kind"] != records.FILTER or operator["column"] != NONE:
            return None
        if len(children) + len(waits) + len(results) != 1:
            return None
        if not children:
            return LaneRow(passed, waits[0] if waits else NONE, results[0] if results else NONE)
        step = children[0]


def _laid_out(plan: PolicyLayout, served: Mapping[int, int], rows: Mapping[int, LaneRow]) -> LaneLayout:
    """Return the lanes, given the unit that serves each queue and its row."""
    wiring = plan.wiring
    by_turns = plan.chooser in (records.CYCLE, records.SCAN)
    order: Sequence[int] = range(len(plan.found)) if by_turns else plan.unit_at.tolist()
    lane_of = {unit: place for place, unit in enumerate(order)}
    queue_of = {unit: edge for edge, unit in served.items()}
    spent = _spent(wiring, rows)
    lanes: list[dict[str, Any]] = []
    parts: list[tuple[float, int, int]] = []
    for unit in order:
        if unit not in queue_of:
            lanes.append({"head": NOBODY})
            continue
        edge = queue_of[unit]
        row, first = rows[edge], len(parts)
        alone = spent[edge]
        for queue in row.passed:
            operator = wiring.operators[wiring.edges[queue]["operator"]]
            alone += wiring.edges[queue]["cost"]
            parts.append((wiring.edges[queue]["cost"], operator["salt"], bar(float(operator["selectivity"]))))
        names = ("static", "rank", "place", "group", "holder_from", "holder_to")
        lanes.append(
            {name: plan.units[unit][name] for name in names}
            | {
                "size": wiring.edges[edge]["size"],
                "alone": alone,
                "head": NOBODY,
                "stream": wiring.edges[edge]["stream"],
                "next": lane_of[served[row.waits]] if row.waits != NONE else NONE,
                "query": row.query,
                "part_from": first,
                "part_to": len(parts),
            }
        )
    streams = wiring.streams.copy()
    for stream in streams:
        leaves = plan.lists.numbers[stream["leaf_from"] : stream["leaf_to"]]
        stream["leaf_from"], stream["leaf_to"] = plan.lists.add(lane_of[served[edge]] for edge in leaves)
    return LaneLayout(plan, records_of(records.LANE, lanes), np.array(parts, records.PART), streams)


def _spent(wiring: Wiring, rows: Mapping[int, LaneRow]) -> dict[int, float]:
    """Return how long a tuple takes alone until it waits in each queue; rows are from the leaves up."""
    spent = dict.fromkeys(rows, 0.0)
    for edge, row in rows.items():
        after = spent[edge]
        for queue in row.passed:
            after += wiring.edges[queue]["cost"]
        spent[row.waits] = after
    return spent
