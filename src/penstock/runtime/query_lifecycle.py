"""Queries of a running system: created, dropped, stopped, ended, and which rows each of them sees."""

from collections.abc import Iterable

from penstock.errors import RunError
from penstock.language.statements import QueryDef
from penstock.network import Edge
from penstock.plan.derived import Starts, queries_below, sources_of
from penstock.plan.plan import MayGroup, Plan
from penstock.plan.reach import own_operators
from penstock.runtime import closings
from penstock.runtime.query_state import QueryState
from penstock.runtime.state import RuntimeState


class QueryLifecycle:
    """Changes the set of queries. Each change returns the plan to continue with."""

    def __init__(self, state: RuntimeState, may_group: MayGroup) -> None:
        self._state = state
        self._may_group = may_group
        self._ending: set[str] = set()

    def create(
        self, query: QueryDef, since: Starts | None = None, dropped_before: dict[str, int] | None = None
    ) -> Plan:
        """Register a query; it sees the rows that arrive from now on and the windows that begin then, or `since`.

        Derived streams that only it reads begin with it.
        """
        known = self._state.queries.get(query.name)
        if known is not None and known.live:
            raise RunError(f"query {query.name} is running already")
        self._state.add_streams(query)
        since = self._now(query) if since is None else since
        plan = self._state.plan.with_query(query, since, self._may_group)
        starts = {item.relation.name: since.rows.get(item.relation.name, 0) for item in query.streams}
        dropped = self._dropped(sources_of(query)) if dropped_before is None else dropped_before
        self._state.queries[query.name] = QueryState(query, starts, since, dropped_before=dropped)
        return plan

    def _now(self, query: QueryDef) -> Starts:
        """Return where a query begins that is created now, and the derived streams that begin with it."""
        every = [*queries_below([query])]
        names = {item.relation.name for each in every for item in each.streams}
        rows = {name: self._state.streams[name].next_sequence for name in sorted(names)}
        firsts = {each.name: closings.next_window(self._state, each) for each in every}
        return Starts(rows, {name: first for name, first in firsts.items() if first is not None})

    def drop(
        self,
        name: str,
        ends: dict[str, int] | None = None,
        dropped_until: dict[str, int] | None = None,
        end_window: int | None = None,
    ) -> Plan:
        """End a query at what has arrived so far, or at `ends`; it continues until that is drained."""
        state = self._state.queries[name]
        if state.status != "running":
            return self._state.plan
        if ends is None:
            ends = self._set_ends(state)
        else:
            state.ends, state.dropped_until, state.end_window = ends, dropped_until, end_window
        state.status = "ending"
        self._ending.add(name)
        plan, copied = self._state.plan.with_ending(name, state.starts, ends)
        for old, new in copied.items():
            self._state.copy_queue(old, new)
        return plan

    def stop(self, name: str, reason: str) -> Plan:
        """Stop a query at once: it failed."""
        state = self._state.queries[name]
        state.status, state.reason = "failed", reason
        self._set_ends(state)
        return self._removed(name)

    def ended(self, name: str) -> Plan:
        """End a dropped query for which nothing waits any more."""
        self._state.queries[name].status = "ended"
        return self._removed(name)

    def drained(self) -> Iterable[tuple[str, Plan]]:
        """End the dropped queries for which nothing waits any more; yield each with the plan without it."""
        for name in sorted(self._ending):
            if not self._waits_for(self._state.queries[name]):
                yield name, self.ended(name)

    def end(self, *, drained: bool) -> None:
        """Set the final status of the queries that still run."""
        for state in self._state.queries.values():
            if state.live:
                state.status = "ended" if drained else "stopped"

    def dropped_rows(self, name: str) -> dict[str, int]:
        """Return how many rows of each of its streams drop boxes dropped that a query would have seen."""
        state = self._state.queries[name]
        sources = sources_of(state.definition)
        until = self._dropped(sources) if state.dropped_until is None else state.dropped_until
        return {stream: count - state.dropped_before.get(stream, 0) for stream, count in until.items()}

    def _removed(self, name: str) -> Plan:
        self._ending.discard(name)
        return self._state.plan.without_query(name)

    def _set_ends(self, state: QueryState) -> dict[str, int]:
        state.dropped_until = self._dropped(sources_of(state.definition))
        state.end_window = closings.first_open_window(self._state, state)
        state.ends = {stream: self._state.streams[stream].next_sequence for stream in state.starts}
        return state.ends

    def _dropped(self, streams: Iterable[str]) -> dict[str, int]:
        return {name: self._state.streams[name].box.dropped for name in streams}

    def _waits_for(self, query: QueryState) -> bool:
        """Whether a row that a dropped query sees waits or is in flight."""
        assert query.ends is not None
        if query.definition.aggregation is not None:
            return closings.waits_for(self._state, query)
        plan = self._state.plan
        operators = own_operators(plan, plan.runs_as(query.name))
        for job in self._state.in_flight:
            own = own_operators(job.work.plan, job.work.plan.runs_as(query.name))
            if any(edge.target in own for edge in job.taken):
                return True
        streams = [item.relation.name for item in query.definition.streams]
        for edge, queue in self._state.queues.items():
            if edge.target not in operators:
                continue
            for chunk in queue.chunks:
                firsts = chunk.first_sequences
                if len(firsts) == len(streams) > 1:
                    ends = [query.ends[name] for name in streams]
                else:
                    ends = [query.ends[self._stream_at(edge)]]
                if all(first < end for first, end in zip(firsts, ends, strict=False)):
                    return True
        return False

    def _stream_at(self, edge: Edge) -> str:
        """Return the stream whose rows an edge below a join carries."""
        name = edge.source
        while name not in self._state.streams:
            name = self._state.plan.network.operator(name).inputs[0]
        return name
