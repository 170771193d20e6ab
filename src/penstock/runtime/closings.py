"""Windows of aggregates: which have closed, so that their results can be computed, and which panes are needed.

A window closes when no row of it can still come: the watermark of its stream has passed its end, and no row of it
waits for its partial aggregates. A window that has closed is a row of a queue. It waits, it is scheduled and it
is restored like any other; its age is that of the window's close.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.language.statements import QueryDef, WindowDef
from penstock.network import Edge
from penstock.plan.columns import Micros, counted_from, numbers
from penstock.plan.reach import own_operators
from penstock.plan.steps import ARRIVAL, BLOCK, MEMBER, PANE, POSITION, TIME, VARIANT, Aggregate, Close, seq
from penstock.runtime.chunk import Chunk
from penstock.runtime.pane_log import Panes
from penstock.runtime.query_state import QueryState
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.state import RuntimeState
from penstock.runtime.stream_log import StreamLog
from penstock.runtime.work import pane_keys

SIZE, FROM, UNTIL = "__size", "__from", "__until"
"""Columns of a closed window: its size, and its first and last time as results show them."""
_NEVER = np.iinfo(np.int64).max


class Series(NamedTuple):
    """The windows that some queries see, all of one size and slide: of several members of a group, or of one."""

    window: WindowDef
    members: Micros
    variants: Micros
    """Of each member, to which partial aggregates belong; 0 if all members share them."""
    first: Micros
    """Of each member, the earliest beginning of a window that it sees."""
    end: Micros
    """Of each member, the first beginning of a window that it no longer sees."""


class Windows(NamedTuple):
    """Windows with rows: their members, variants and beginnings, and the size of all."""

    members: Micros
    variants: Micros
    starts: Micros
    size: int


def close_windows(state: RuntimeState, now_us: int) -> list[Edge]:
    """Put the windows that have closed into the queues of the operators that compute their results.

    Return these queues.
    """
    found = []
    for edge, step in _closing(state):
        aggregate = state.plan.steps[edge.source]
        assert isinstance(aggregate, Aggregate)
        log = stream_below(state, edge.source)
        log.notice_watermark(now_us)
        watermark = _watermark_now(state, log, now_us)
        high = closed_until(state, edge.source, aggregate.by, watermark)
        before = state.closed[edge.target]
        if high == -math.inf or (before is not None and high <= before):
            continue
        panes = state.panes[edge.source].panes
        last = min(high, _last_end(state, edge, step))
        if last == -math.inf or (before is not None and last <= before):
            continue
        last = int(last)
        state.closed[edge.target] = last
        state.changed_panes.add(edge.target)
        closed = [
            windows
            for series in series_of(state, edge.target, step)
            for windows in windows_between(panes, series, before, last)
        ]
        if watermark > log.lasting_watermark and aggregate.by == "range" and closed:
            log.refuse_before(max(int(windows.starts.max()) + windows.size for windows in closed))
        tables = [_closed_rows(step, aggregate.by, windows, log) for windows in closed]
        if tables:
            rows = pa.concat_tables(tables).sort_by([(TIME, "ascending"), (seq(0), "ascending")])
            state.queues[edge].put(state.chunk(edge.source, ResidentRows(rows)))
            state.changed.add(edge)
            found.append(edge)
    return found


def _closing(state: RuntimeState) -> Iterator[tuple[Edge, Close]]:
    for name in state.closed:
        step = state.plan.steps[name]
        assert isinstance(step, Close)
        yield state.plan.network.in_edges[name][0], step


def stream_below(state: RuntimeState, name: str) -> StreamLog:
    """Return the stream from whose rows an operator makes its own."""
    while name not in state.streams:
        name = state.plan.network.operator(name).inputs[0]
    return state.streams[name]


def _watermark_now(state: RuntimeState, log: StreamLog, now_us: int) -> float:
    """Return the watermark of a stream. Time goes on where it has been silent too long (`idle`)."""
    since = state.silent.get(log.definition.name)
    if since is None or log.newest is None:
        return log.watermark
    return max(log.watermark, log.newest + now_us - since - log.definition.lateness_us - 1)


def closed_until(
    state: RuntimeState, aggregate: str, by: Literal["rows", "range"], watermark: float | None = None
) -> float:
    """Return up to which end windows have closed: the watermark, and no later than a row that still waits.

    The end of a window of rows is the position after its last row.
    """
    below: set[Edge] = set()
    name = aggregate
    while name not in state.streams:
        [edge] = state.plan.network.in_edges[name]
        below.add(edge)
        name = edge.source
    chunks = [chunk for edge in below for chunk in state.waiting_at(edge)]
    log = state.streams[name]
    if by == "rows":
        return min([log.counted, *map(_first_position, chunks)])
    passed = log.watermark if watermark is None else watermark
    return min([passed + 1, *(chunk.first_time for chunk in chunks)])


def _first_position(chunk: Chunk) -> float:
    """Return the position of the first row of a chunk; rows from before rows were counted have none."""
    if isinstance(chunk.place, ResidentRows) and POSITION in chunk.table.column_names:
        found = pc.min(chunk.table.column(POSITION)).as_py()
        return math.inf if found is None else int(found)
    return chunk.first_position


def _last_end(state: RuntimeState, edge: Edge, step: Close) -> float:
    """Return an end after which no window has rows so far; -inf if there are none."""
    panes = state.panes[edge.source].panes.panes
    if not len(panes):
        return -math.inf
    sizes = [series.window.size for series in series_of(state, edge.target, step)]
    return int(panes.max()) + max(sizes, default=0) + 1


def series_of(state: RuntimeState, name: str, step: Close) -> list[Series]:
    """Return the windows that live queries see, by size and slide."""
    found: dict[WindowDef, list[tuple[int, int, int, int]]] = defaultdict(list)
    if step.first is not None:
        assert step.window is not None
        found[step.window].append((0, 0, step.first, _NEVER))
    elif step.group is None:
        assert step.window is not None
        queries = [state.queries[each] for each in state.live_users(state.plan, name)]
        if queries:
            bounds = [_bounds(query) for query in queries]
            first, end = min(low for low, _ in bounds), max(high for _, high in bounds)
            found[step.window].append((0, 0, first, end))
    else:
        group = state.plan.groups[step.group]
        for query, member in group.members.items():
            if state.queries[query].live and member.window is not None:
                variant = member.variant if step.by_variant else 0
                found[member.window].append((member.number, variant, *_bounds(state.queries[query])))
    return [Series(window, *np.array(sorted(each, key=_by_variant)).T) for window, each in found.items()]


def _by_variant(member: tuple[int, int, int, int]) -> int:
    return member[1]


def _bounds(query: QueryState) -> tuple[int, int]:
    first = -_NEVER if query.first_window is None else query.first_window
    return first, _NEVER if query.end_window is None else query.end_window


def windows_between(panes: Panes, series: Series, after: int | None, until: int) -> Iterator[Windows]:
    """Yield the windows with rows that end after `after` and not after `until`, as their queries see them."""
    size, slide = series.window.size, series.window.slide
    assert slide is not None
    ours = np.isin(panes.variants, series.variants)
    here, whose = panes.panes[ours], panes.variants[ours]
    # The k-th window begins at k·slide. A pane is in windows k from the first that ends after it to the last that
    # does not begin after it.
    low = (here - size) // slide + 1
    if after is not None:
        low = np.maximum(low, (after - size) // slide + 1)
    if series.window.kind == "rows":
        low = np.maximum(low, 0)
    high = np.minimum(here // slide, (until - size) // slide)
    counts = np.maximum(high - low + 1, 0)
    if not counts.any():
        return
    starts = counted_from(low, counts) * slide
    with_rows = Panes(np.repeat(whose, counts), starts).distinct()
    # Each window, for every member of its variant
    first = np.searchsorted(series.variants, with_rows.variants)
    times = np.searchsorted(series.variants, with_rows.variants, side="right") - first
    at = counted_from(first, times)
    starts = np.repeat(with_rows.panes, times)
    seen = (starts >= series.first[at]) & (starts < series.end[at])
    if seen.any():
        at = at[seen]
        yield Windows(series.members[at], series.variants[at], starts[seen], size)


def _closed_rows(step: Close, by: Literal["rows", "range"], windows: Windows, log: StreamLog) -> pa.Table:
    """Return closed windows as rows: with their times, and when each of them closed."""
    starts = windows.starts
    firsts, lasts = starts, starts + windows.size
    passed = lasts - 1
    if by == "rows":
        assert log.row_times is not None
        firsts, lasts = log.row_times.at(firsts), log.row_times.at(lasts - 1)
        passed = lasts
    columns: dict[str, pa.Array] = {}
    if step.group is not None:
        columns[MEMBER] = pa.array(windows.members, pa.int32())
        columns[VARIANT] = pa.array(windows.variants, pa.int32())
    columns |= {
        seq(0): pa.array(starts, pa.int64()),
        SIZE: pa.array(np.full(len(starts), windows.size), pa.int64()),
        FROM: pa.array(firsts, pa.int64()),
        UNTIL: pa.array(lasts, pa.int64()),
        TIME: pa.array(lasts, pa.int64()),
        ARRIVAL: pa.array(log.passed_at(passed), pa.int64()),
    }
    return pa.table(columns)


# Which panes windows consist of ---------------------------------------------------------------------------------


def panes_of_windows(closed: pa.Table, by_block: Mapping[int, Panes]) -> pa.Table:
    """Return closed windows, each once for every pane and block with rows that it is merged from.

    Their beginnings are in the column ``__p``. `by_block` has panes and blocks by what is in `BLOCK`.
    """
    starts, sizes = numbers(closed, seq(0)), numbers(closed, SIZE)
    ends = starts + sizes
    parts = []
    for tag, panes in by_block.items():
        if not tag:
            parts.append(_consists_of(closed, panes, tag, starts, ends))
            continue
        block = abs(tag)
        first, last = -(-starts // block) * block, ends // block * block
        first, last = (np.where(first < last, each, ends) for each in (first, last))
        if tag > 0:
            parts.append(_consists_of(closed, panes, tag, first, last))
        else:
            parts += [
                _consists_of(closed, panes, tag, starts, first),
                _consists_of(closed, panes, tag, last, ends),
            ]
    return pa.concat_tables(parts)


def windows_and_parts(state: RuntimeState, edge: Edge) -> tuple[int, int]:
    """Return how many windows wait in a queue, and about how many partial aggregates they are merged from."""
    log = state.panes[edge.source]
    waiting = [chunk.table for chunk in state.queues[edge].chunks]
    needed = [panes_of_windows(table, log.by_block) for table in waiting]
    different = len(np.unique(np.concatenate([pane_keys(each, PANE) for each in needed])))
    kept = sum(len(panes.panes) for panes in log.by_block.values())
    return sum(table.num_rows for table in waiting), round(different * log.rows / max(kept, 1))


def _consists_of(closed: pa.Table, panes: Panes, tag: int, first: Micros, end: Micros) -> pa.Table:
    """Return windows, each once for every pane of its variant from `first` on and before `end`."""
    every = np.unique(panes.panes)
    keys = panes.variants * len(every) + np.searchsorted(every, panes.panes)
    variants = numbers(closed, VARIANT) if VARIANT in closed.column_names else np.zeros(len(first), np.int64)
    base = variants * len(every)
    low = np.searchsorted(keys, base + np.searchsorted(every, first))
    counts = np.searchsorted(keys, base + np.searchsorted(every, end)) - low
    places = counted_from(low, counts)
    rows = closed.take(pa.array(np.repeat(np.arange(len(first)), counts))).drop_columns([SIZE])
    rows = rows.append_column(PANE, pa.array(every[keys[places] % len(every)], pa.int64()))
    return rows.append_column(BLOCK, pa.array(np.full(len(places), tag), pa.int64()))


def release(state: RuntimeState) -> None:
    """Release the panes that no window needs any more: neither one that may close nor one that waits."""
    counted: dict[str, float] = {}
    for name, log in state.panes.items():
        step = state.plan.steps[name]
        assert isinstance(step, Aggregate)
        if not log.chunks and step.by == "range":
            continue
        edges = state.plan.network.out_edges.get(name, ())
        needed = min((_needed_from(state, edge) for edge in edges), default=math.inf)
        if log.release(needed):
            state.changed_panes.add(name)
        if step.by == "rows":
            stream = stream_below(state, name).definition.name
            counted[stream] = min(counted.get(stream, math.inf), needed)
    for stream, position in counted.items():
        row_times = state.streams[stream].row_times
        assert row_times is not None
        row_times.release(position)


def _needed_from(state: RuntimeState, edge: Edge) -> float:
    """Return the earliest beginning of a pane that a reader of partial aggregates needs."""
    step = state.plan.steps[edge.target]
    assert isinstance(step, Close)
    found = min((chunk.first_sequences[0] for chunk in state.waiting_at(edge)), default=math.inf)
    closed = state.closed[edge.target]
    for series in series_of(state, edge.target, step):
        size, slide = series.window.size, series.window.slide
        assert slide is not None
        first = -math.inf if closed is None else ((closed - size) // slide + 1) * slide
        found = min(found, max(first, int(series.first.min())))
    return found


# Queries that begin and end -------------------------------------------------------------------------------------


def next_window(state: RuntimeState, query: QueryDef) -> int | None:
    """Return the earliest beginning of a window that a query sees if it is created now; None: it sees all.

    No row before the query may be in it.
    """
    if query.aggregation is None:
        return None
    [item] = query.streams
    log = state.streams[item.relation.name]
    if item.window is not None and item.window.kind == "rows":
        return log.kept or None
    return None if log.newest is None else log.newest + 1


def first_open_window(state: RuntimeState, query: QueryState) -> int | None:
    """Return the first beginning of a window of a query that has not closed; None if it has no aggregates."""
    if query.definition.aggregation is None:
        return None
    [item] = query.definition.streams
    assert item.window is not None
    log = state.streams[item.relation.name]
    by_rows = item.window.kind == "rows"
    passed = log.counted if by_rows else log.watermark + 1
    # Windows that closed because the stream had ended stay closed, though it goes on
    own = own_operators(state.plan, state.plan.runs_as(query.name))
    ends = (end for name, end in state.closed.items() if name in own and end is not None)
    passed = max(passed, *ends, -math.inf)
    if math.isinf(passed):
        return _NEVER if passed > 0 else -_NEVER
    return int(passed) + 1 - item.window.size


def waits_for(state: RuntimeState, query: QueryState) -> bool:
    """Whether a result of a dropped query with aggregates is still to come."""
    plan = state.plan
    alone = plan.runs_as(query.name)
    [item] = query.definition.streams
    assert item.window is not None
    assert query.end_window is not None
    last: float = query.end_window - 1 + item.window.size
    if abs(query.end_window) == _NEVER:
        last = math.copysign(math.inf, query.end_window)
    taken = {each for job in state.in_flight for one in job.taken for each in job.onward(one)}
    own = own_operators(plan, alone)
    for edge, step in _closing(state):
        if edge.target not in own:
            continue
        closed = state.closed[edge.target]
        still = min(last, _last_end(state, edge, step))
        if closed_until(state, edge.source, item.window.kind) < last:
            return True
        if still > (-math.inf if closed is None else closed):
            return True
        if any(state.queues[each].rows or each in taken for each in _edges_from(state, edge)):
            return True
    return False


def _edges_from(state: RuntimeState, edge: Edge) -> Iterator[Edge]:
    yield edge
    for onward in state.plan.network.out_edges.get(edge.target, ()):
        yield from _edges_from(state, onward)
