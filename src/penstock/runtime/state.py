"""The state of a running system: plan, queues, logs, queries and jobs in flight."""

from collections.abc import Iterable, Iterator, Mapping, Set
from math import gcd

from penstock.language.statements import QueryDef, StreamDef
from penstock.network import Edge
from penstock.plan.derived import derived_below
from penstock.plan.plan import Plan
from penstock.plan.steps import Aggregate, Close, Columns, Join
from penstock.runtime.chunk import Chunk, Place
from penstock.runtime.job import Job
from penstock.runtime.pane_log import PaneLog
from penstock.runtime.query_state import QueryState
from penstock.runtime.queues import Queue
from penstock.runtime.rows.segment import Segment
from penstock.runtime.stream_log import StreamLog


class RuntimeState:
    """What the engine's parts share. Only they change it, and only by its methods and those of its members."""

    def __init__(self, streams: Mapping[str, StreamDef]) -> None:
        self.streams = {name: StreamLog(stream) for name, stream in streams.items()}
        self.queries: dict[str, QueryState] = {}
        self.queues: dict[Edge, Queue] = {}
        self.in_flight: list[Job] = []
        self.plan = Plan()
        self.wanted: Mapping[Edge, Columns] = {}
        """The columns that each edge carries."""
        self.windows: dict[str, list[tuple[str, int]]] = {}
        """The joins and ports that read each stream's log."""
        self.silent: dict[str, int] = {}
        """Streams that have been silent too long to hold others back (`idle`), and since when."""
        self._sent: dict[str, list[Queue]] = {}
        """The queues that a stream or an operator sends its rows to."""
        self.panes: dict[str, PaneLog] = {}
        """The partial aggregates of each operator that makes some."""
        self.closed: dict[str, int | None] = {}
        """For each operator that closes windows, up to which end it has closed all; None: none yet."""
        self.changed_panes: set[str] = set()
        """The operators whose panes, or whose last closed window, changed since somebody emptied this set."""
        self.chunks = 0
        """How many chunks there have been; the number of the latest."""
        self.lost: set[Segment] = set()
        """Files that were lost before all queries had read them."""
        self.fresh: list[tuple[str, Chunk]] | None = None
        """New chunks with their sources, if somebody keeps them, who empties the list."""
        self.changed: set[Edge] = set()
        """The edges whose queues changed for good since somebody who keeps them emptied this set."""

    def set_plan(self, plan: Plan) -> None:
        """Continue with another network; queues of edges that remain keep their rows."""
        self.plan = plan
        known = self.queues
        self.queues = {edge: known.get(edge) or Queue() for edge in plan.network.edges}
        self.changed.update(edge for edge in self.queues if edge not in known)
        self.wanted = plan.wanted()
        self._sent = {
            name: [self.queues[edge] for edge in edges] for name, edges in plan.network.out_edges.items() if edges
        }
        made = [name for name, step in plan.steps.items() if isinstance(step, Aggregate)]
        self.panes = {name: self.panes.get(name) or PaneLog() for name in made}
        closing = [name for name, step in plan.steps.items() if isinstance(step, Close)]
        self.closed = {name: self.closed.get(name) for name in closing}
        self.count_rows()
        self.windows = {}
        for name, step in plan.steps.items():
            if isinstance(step, Join):
                for port, each in enumerate(step.ports):
                    self.windows.setdefault(each.stream, []).append((name, port))

    def add_streams(self, query: QueryDef) -> None:
        """Add the derived streams that a query reads. Those that nobody reads any more begin again."""
        for stream in derived_below(query):
            if stream.name not in self.plan.steps:
                self.streams[stream.name] = StreamLog(stream)

    def count_rows(self) -> None:
        """Keep the times of rows of the streams that have windows of rows, from now on."""
        sizes: dict[str, int] = {}
        for name, step in self.plan.steps.items():
            if isinstance(step, Aggregate) and step.by == "rows":
                stream = name
                while stream not in self.streams:
                    stream = self.plan.network.operator(stream).inputs[0]
                sizes[stream] = gcd(sizes.get(stream, 0), self.plan.pane_of(name))
        for stream, size in sizes.items():
            self.streams[stream].count_by(size)

    def wanted_at(self, name: str) -> Columns:
        """Return the columns of an operator's output that something reads."""
        edges = self.plan.network.out_edges.get(name, ())
        return frozenset().union(*(self.wanted[edge] for edge in edges))

    def chunk(self, source: str, place: Place, position: int = 0) -> Chunk:
        """Return rows of a stream or an operator as the next chunk."""
        self.chunks += 1
        chunk = Chunk(place, self.chunks, position)
        if self.fresh is not None:
            self.fresh.append((source, chunk))
        return chunk

    def copy_queue(self, old: Edge, new: Edge) -> None:
        """Give an edge the rows of another, also those that jobs in flight will return."""
        self.queues[new] = self.queues[old].copy() if old in self.queues else Queue()
        self.changed.add(new)
        for job in self.in_flight:
            job.copies.setdefault(old, []).append(new)

    def waiting_at(self, edge: Edge) -> Iterator[Chunk]:
        """Yield what waits at an edge, with what jobs in flight took from it."""
        for job in self.in_flight:
            for taken, chunks in job.taken.items():
                if edge in job.onward(taken):
                    yield from chunks
        yield from self.queues[edge].chunks

    def segments(self) -> Iterator[Segment]:
        """Yield the files that queues, logs and jobs in flight need; some several times."""
        chunks = [chunk for queue in self.queues.values() for chunk in queue.chunks]
        chunks += [chunk for log in self.streams.values() for chunk in log.chunks]
        chunks += [chunk for log in self.panes.values() for chunk in log.chunks]
        for chunk in chunks:
            yield from chunk.segments
        for job in self.in_flight:
            yield from (segment for _, segment in job.files)

    def remove_files(self, lost: Set[Segment]) -> None:
        """Remove the rows of lost files from queues and logs."""
        self.changed.update(self.queues)
        for queue in self.queues.values():
            queue.remove(lost)
        for log in self.streams.values():
            log.chunks = [each for chunk in log.chunks for each in chunk.without(lost)]
        for panes in self.panes.values():
            panes.remove(lost)

    def backlog(self, source: str) -> int:
        """Return the bytes of the rows of a stream or an operator that wait for what reads them first.

        Rows in several queues count once. Closed windows are in one queue each.
        """
        sizes = [queue.bytes for queue in self._sent.get(source, ())]
        return sum(sizes) if source in self.panes else max(sizes, default=0)

    def backlog_rows(self, source: str) -> int:
        """Return the rows of a stream or an operator that wait for what reads them first."""
        sizes = [queue.rows for queue in self._sent.get(source, ())]
        return sum(sizes) if source in self.panes else max(sizes, default=0)

    def waiting_bytes(self) -> int:
        """Return the bytes in all queues. Rows in several queues of one source count once."""
        return sum(map(self.backlog, self._sent))

    def waiting_rows(self) -> int:
        """Return the rows in all queues. Rows in several queues of one source count once."""
        return sum(map(self.backlog_rows, self._sent))

    def pane_bytes(self) -> int:
        """Return the bytes of partial aggregates in the driver's memory."""
        return sum(log.resident_bytes for log in self.panes.values())

    def oldest_arrival(self, edges: Iterable[Edge] | None = None) -> int | None:
        """Return when the row arrived that has waited longest at these edges, or at all; None if none waits."""
        queues = self.queues.values() if edges is None else [self.queues[edge] for edge in edges]
        return min((queue.chunks[0].arrival for queue in queues if queue.chunks), default=None)

    def live_users(self, plan: Plan, operator: str) -> list[str]:
        """Return the live queries that need an operator's output."""
        names = (name for user in plan.network.users[operator] for name in plan.served_by(user))
        return [name for name in names if self.queries[name].live]
