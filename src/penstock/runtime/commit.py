"""Commit: what a finished job made becomes rows in queues and results for sinks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.plan.columns import is_hidden, numbers
from penstock.plan.group import QUERY
from penstock.plan.replanning import JoinRan
from penstock.plan.steps import ARRIVAL, Aggregate
from penstock.runtime.group_rows import named_rows, seen_by_members
from penstock.runtime.job import Emitted, Job
from penstock.runtime.query_state import QueryState
from penstock.runtime.recorder import Recorder
from penstock.runtime.rows.resident import ResidentRows
from penstock.runtime.rows.written import WriteTarget, WrittenResults
from penstock.runtime.state import RuntimeState
from penstock.runtime.work import Outcome


@dataclass(frozen=True)
class FinishedJob:
    """A job that has finished: what it made, when, and how long it took."""

    job: Job
    outcome: Outcome
    now_us: int
    seconds: float

    @property
    def joins(self) -> Mapping[str, JoinRan]:
        """What it did in each join. Its time is shared equally among its units."""
        found = {}
        units, work = self.job.units, self.job.work
        for name in {join for join, _, _ in work.probes}.intersection(self.outcome.ports):
            rows = self.outcome.ports[name]
            spans = tuple(work.spans.get((name, port), 0.0) for port in range(len(rows)))
            reaching = sum(any(edge.target == name for edge in (*u.entries, *u.through)) for u in units)
            found[name] = JoinRan(rows, spans, self.seconds * reaching / len(units))
        return found


def queue_rows(state: RuntimeState, finished: FinishedJob, recorder: Recorder) -> None:
    """Put the rows that wait further on into their queues."""
    work = finished.job.work
    for name, table in finished.outcome.rows.items():
        if isinstance(work.plan.steps[name], Aggregate):
            _log_panes(state, finished, name, table, recorder)
            continue
        staying = [edge for edge in work.plan.network.out_edges.get(name, ()) if edge not in work.through]
        if staying and table.num_rows:
            chunk = state.chunk(name, ResidentRows(table))
            recorder.queued(name, chunk, is_stream=False)
            for edge in chain.from_iterable(map(finished.job.onward, staying)):
                if edge in state.queues:
                    state.queues[edge].put(chunk)
                    state.changed.add(edge)


def _log_panes(state: RuntimeState, finished: FinishedJob, name: str, table: pa.Table, recorder: Recorder) -> None:
    """Add partial aggregates to their log, in place of older ones that were merged with them."""
    if name not in state.panes:
        return
    chunk = state.chunk(name, ResidentRows(table)) if table.num_rows else None
    if chunk is not None:
        recorder.queued(name, chunk, is_stream=False)
    state.panes[name].replace(finished.job.merged.get(name, ()), chunk)
    state.changed_panes.add(name)


def emit_results(
    state: RuntimeState, finished: FinishedJob, ideal_s: Callable[[str], float], recorder: Recorder
) -> Iterator[Emitted]:
    """Return the results of each query or group, and record their responses. `ideal_s` gives a query's T."""
    plan = finished.job.work.plan
    # Without numbers, the queries saw all rows when the job began, and those that ended since see them, too
    numbered = finished.job.work.numbered
    if finished.outcome.written is not None:
        yield from _emit_written(state, finished, finished.outcome.written, ideal_s, recorder)
    for name, table in finished.outcome.rows.items():
        for query in plan.roots.get(name, ()):
            group = plan.groups.get(query)
            if group is None:
                seen = state.queries[query].seen(table) if numbered else table
                if seen.num_rows and state.queries[query].live:
                    recorder.results(query, (finished.now_us - numbers(seen, ARRIVAL)) / 1e6, ideal_s(query))
                    yield Emitted(query, _visible(seen))
                continue
            rows, members = seen_by_members(group, state.queries, table, numbered=numbered)
            if rows.num_rows:
                responses = (finished.now_us - numbers(rows, ARRIVAL)) / 1e6
                recorder.group_results(group, members, responses, ideal_s(query))
                yield Emitted(group.name, named_rows(group, _visible(rows), members), of_group=True)


def _emit_written(
    state: RuntimeState,
    finished: FinishedJob,
    written: WrittenResults,
    ideal_s: Callable[[str], float],
    recorder: Recorder,
) -> Iterator[Emitted]:
    """Return results that executors wrote, and record their responses; those of queries that are gone are not."""
    target = finished.job.work.target
    assert target is not None
    gone = {query for query in written.sums if not _is_here(state.queries[query], target)}
    for query, sums in written.sums.items():
        if query not in gone:
            recorder.result_sums(query, sums.responses(finished.now_us), ideal_s(target.name))
    if len(gone) == len(written.sums):
        target.remove()
    elif gone:  # a query failed meanwhile: its rows are taken out
        rows = pa.concat_tables([pq.ParquetFile(path).read() for path in written.files])
        target.remove()
        rows = rows.filter(pc.invert(pc.is_in(rows.column(QUERY), pa.array(sorted(gone)))))
        rows = rows.set_column(0, QUERY, rows.column(QUERY).combine_chunks().dictionary_encode())
        yield Emitted(target.name, _visible(rows), of_group=True)
    else:
        yield Emitted(target.name, _NO_ROWS, target.members is not None, written)


def _is_here(query: QueryState, target: WriteTarget) -> bool:
    """Whether a query of a job still makes results, and is not another of the same name."""
    return query.live and target.queries[query.name] is query


_NO_ROWS = pa.schema([]).empty_table()


def _visible(rows: pa.Table) -> pa.Table:
    return rows.select([name for name in rows.column_names if not is_hidden(name)])
