"""Probes of a job: of every other stream's log the rows in the window, and only those that can match.

A window is a view of the log. Where a join asks that two columns are equal, rows whose key no probing row has are
left out here, before they are sent to a job: what a probe costs then grows with what it finds, and hardly with the
length of the window.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from penstock.network import Edge
from penstock.plan.plan import Plan
from penstock.plan.reach import joins_from
from penstock.plan.steps import POSITION, Columns, Join
from penstock.runtime.chunk import Chunk
from penstock.runtime.rows.job_input import BothSides, WindowRows
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.stream_log import StreamLog

SAMPLE_ROWS = 20_000
"""Rows that tell how often keys repeat."""
KEY_TYPES = (pa.types.is_integer, pa.types.is_string, pa.types.is_date, pa.types.is_timestamp)
"""Types whose values are equal in Spark where they are in Arrow; numbers with a point are not among them."""


@dataclass
class _Probing:
    """The rows that come to a join by one edge, from one entry or several."""

    low: float = float("inf")
    high: float = float("-inf")
    chunks: list[Chunk] = field(default_factory=list)

    def add(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            self.chunks.append(chunk)
            self.low = min(self.low, chunk.first_time)
            self.high = max(self.high, chunk.last_time)

    def column(self, name: str) -> pa.ChunkedArray | None:
        if any(chunk.is_stored or name not in chunk.table.column_names for chunk in self.chunks):
            return None
        return pa.chunked_array([array for chunk in self.chunks for array in chunk.table.column(name).chunks])


class Probed(NamedTuple):
    """The windows that a job probes."""

    windows: dict[tuple[str, int, int], WindowRows]
    """For every join, port of the job's rows and other port, the rows of the other's window."""
    spans: dict[tuple[str, int], float]
    """For every join and port, over how many seconds the rows spread that probe."""
    symmetric: dict[str, BothSides]
    """Joins of two streams of which the job takes rows of both, all stored."""


def probed_windows(
    plan: Plan,
    wanted: Mapping[Edge, Columns],
    streams: Mapping[str, StreamLog],
    taken: Mapping[Edge, Iterable[Chunk]],
    through: frozenset[Edge],
) -> Probed:
    """Return the windows that a job probes, in every join that it reaches."""
    probing: dict[Edge, _Probing] = defaultdict(_Probing)
    for entry, chunks in taken.items():
        for edge in joins_from(plan, entry, through):
            probing[edge].add(chunks)
    found: dict[tuple[str, int, int], WindowRows] = {}
    for edge, rows in probing.items():
        join = plan.join(edge.target)
        at_hand: dict[int, _Probing | WindowRows] = {edge.port: rows}
        for other in join.order_from(edge.port):
            port = join.ports[other]
            columns = _wanted_at(plan, wanted, edge, port.stream, other, port.path)
            keys = _keys(join, other, columns, at_hand)
            low, high = int(rows.low), int(rows.high)
            window = streams[port.stream].window(port.window, low, high, columns, port.start, port.end, keys)
            found[edge.target, edge.port, other] = at_hand[other] = window
    spans = {(edge.target, edge.port): (rows.high - rows.low) / 1e6 for edge, rows in probing.items()}
    return Probed(found, spans, _symmetric(plan, streams, probing, found))


def _symmetric(
    plan: Plan,
    streams: Mapping[str, StreamLog],
    probing: Mapping[Edge, _Probing],
    windows: Mapping[tuple[str, int, int], WindowRows],
) -> dict[str, BothSides]:
    """Return the joins of two streams that a job can make at once; a condition on equal keys must join them."""
    places: dict[tuple[str, int], list[StoredRows]] = {}
    for edge, rows in probing.items():
        stored = [chunk.place for chunk in rows.chunks if isinstance(chunk.place, StoredRows)]
        if len(stored) == len(rows.chunks):
            places[edge.target, edge.port] = stored
    found = {}
    for name, port in places:
        join = plan.join(name)
        if port == 0 and (name, 1) in places and len(join.ports) == 2 and join.equal_columns(0, 1):
            taken = places[name, 0], places[name, 1]
            others = windows[name, 1, 0].without(taken[0]), windows[name, 0, 1].without(taken[1])
            left, right = (sum(rows.rows for rows in each) for each in taken)
            keys = [column for _, column in join.equal_columns(0, 1)]
            share = _equal_share(streams[join.ports[1].stream].newest_rows(SAMPLE_ROWS), keys)
            found[name] = BothSides((left, right), others, share * (right + others[1].num_rows))
    return found


def _equal_share(sample: pa.Table | None, keys: list[str]) -> float:
    """Return the share of the pairs of rows of a sample that have equal keys; 1 if it does not tell.

    >>> _equal_share(pa.table({"k": [1, 1, 2, 2]}), ["k"])
    0.3333333333333333
    """
    if sample is None or sample.num_rows < 2 or not set(keys) <= set(sample.column_names):
        return 1.0
    if not all(any(fits(sample.column(key).type) for fits in KEY_TYPES) for key in keys):
        return 1.0
    counts = sample.group_by(keys).aggregate([([], "count_all")]).column("count_all").to_numpy()
    return float((counts * (counts - 1.0)).sum() / (sample.num_rows * (sample.num_rows - 1.0)))


def _keys(
    join: Join, other: int, columns: Iterable[str], at_hand: Mapping[int, "_Probing | WindowRows"]
) -> dict[str, pa.ChunkedArray]:
    """Return the values that columns of a window may have to match the rows of other ports."""
    keys: dict[str, pa.ChunkedArray] = {}
    for condition in join.conditions:
        for (port, column), (place, name) in (condition.equal, condition.equal[::-1]) if condition.equal else ():
            if port == other and place in at_hand and column in columns and column not in keys:
                values = _column(at_hand[place], name)
                if values is not None and any(fits(values.type) for fits in KEY_TYPES):
                    keys[column] = values
    return keys


def _column(rows: "_Probing | WindowRows", name: str) -> pa.ChunkedArray | None:
    if isinstance(rows, _Probing):
        return rows.column(name)
    return rows.table.column(name) if not rows.stored and name in rows.table.column_names else None


def _wanted_at(
    plan: Plan, wanted: Mapping[Edge, Columns], edge: Edge, stream: str, other: int, path: tuple[str, ...]
) -> list[str]:
    first = path[0] if path else edge.target
    edges = [each for each in plan.network.in_edges[first] if each.source == stream]
    if not path:
        edges = [each for each in edges if each.port == other]
    return sorted(frozenset().union(*(wanted[each] for each in edges)) - {POSITION})
