"""What an engine has, as JSON: what changed since the last commit, and all of it.

A queue of rows of a stream is a *cursor*: the first chunk that waits there, and the place in it. All later chunks
of the stream wait behind it. Queues inside the network are lists of chunks.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from penstock.network import Edge
from penstock.runtime.chunk import Chunk
from penstock.runtime.engine import Engine
from penstock.runtime.recorder import CountedResults
from penstock.runtime.row_times import RowTimes
from penstock.runtime.rows.segment import Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.stream_log import StreamLog
from penstock.storage.faults import reached
from penstock.storage.files import checksum_of, flush_upwards
from penstock.storage.places import described
from penstock.storage.row_log import RowLogs, place_of

Json = dict[str, Any]


def key_of(edge: Edge) -> str:
    """Return an edge as the key of its queue."""
    return f"{edge.source}\t{edge.target}\t{edge.port}"


class EngineRecord:
    """Follows an engine, and writes the rows of its new chunks."""

    def __init__(self, engine: Engine, rows: RowLogs, folder: Path) -> None:
        self._engine = engine
        self._state = engine.state
        self._rows = rows
        self._folder = folder
        self._chunks: dict[int, Json] = {}
        """Chunks that are written, by number."""
        self._checksums: dict[Path, int] = {}
        """Of files of ours that are durable."""
        self._durable: set[Path] = set()
        """Folders of such files whose names are durable."""
        self._counted: list[CountedResults] = []
        self._told = len(engine.history)
        self._lost = len(engine.state.lost)
        self._streams: dict[str, Json] = {}
        self._state.fresh = []
        self._state.changed.clear()
        self._state.changed_panes.clear()
        engine.recorder.on_results = self._counted.append

    def adopt(self, chunks: Mapping[int, Json], checksums: Mapping[Path, int]) -> None:
        """Take what is written already."""
        self._chunks.update(chunks)
        self._checksums.update(checksums)

    # What changed -------------------------------------------------------------------------------------------

    @property
    def has_changes(self) -> bool:
        """Whether anything happened since the last commit."""
        return bool(
            self._state.fresh
            or self._state.changed
            or self._state.changed_panes
            or self._counted
            or len(self._engine.history) > self._told
            or len(self._state.lost) > self._lost
            or any(log.next_sequence != self._next_of(name) for name, log in self._state.streams.items())
        )

    def _next_of(self, stream: str) -> int:
        known = self._streams.get(stream)
        return 0 if known is None else int(known["next"])

    def changes(self) -> Json:
        """Return what changed since the last call; rows of new chunks are written, but not flushed yet."""
        found: Json = {"chunk": self._state.chunks}
        streams = {}
        for name, log in self._state.streams.items():
            about = self._stream(name, log)
            before = self._streams.get(name)
            if about != before:
                self._streams[name] = about
                known = (before or {}).items()
                streams[name] = {key: value for key, value in about.items() if (key, value) not in known}
        _add(found, "streams", streams)
        fresh, self._state.fresh = self._state.fresh or [], []
        _add(found, "chunks", [self._written(source, chunk) for source, chunk in fresh if self._is_needed(source)])
        changed = [edge for edge in self._state.changed if edge in self._state.queues]
        self._state.changed.clear()
        _add(found, "cursors", {key_of(edge): self._cursor(edge) for edge in changed if self._is_stream(edge)})
        _add(found, "queues", {key_of(edge): self._queue(edge) for edge in changed if not self._is_stream(edge)})
        panes = self._state.changed_panes & self._state.panes.keys()
        closed = self._state.changed_panes & self._state.closed.keys()
        self._state.changed_panes.clear()
        marks = {name: times.take_new() for name, times in self._counting()}
        _add(found, "marks", {name: new for name, new in marks.items() if new[0]})
        _add(found, "panes", {name: self._panes(name) for name in panes})
        _add(found, "closed", {name: self._state.closed[name] for name in closed})
        if len(self._engine.history) > self._told:
            found["changes"] = [change.as_dict() for change in self._engine.history[self._told :]]
            found["plan"] = plan_checksum(self._engine)
            found["windows"] = sorted(self._state.windows)
            self._told = len(self._engine.history)
        _add(found, "results", [list(each) for each in self._counted])
        self._counted.clear()
        if len(self._state.lost) > self._lost:
            found["lost"] = self._lost_files()
            self._lost = len(self._state.lost)
        return found

    def ended_streams(self) -> list[str]:
        """Return the streams that have ended: no join waits for more of their rows."""
        return [name for name, log in self._state.streams.items() if log.ended]

    def everything(self) -> Json:
        """Return all of it, after `changes`."""
        state = self._state
        here = {chunk.number for chunk in self._waiting_chunks()}
        logs = {name: self._log(log) for name, log in state.streams.items() if name in state.windows}
        here.update(each for log in logs.values() for each in log if isinstance(each, int))
        here.update(number for name in state.panes for number in self._panes(name))
        self._chunks = {number: about for number, about in self._chunks.items() if number in here}
        return {
            "chunk": state.chunks,
            "streams": self._streams,
            "chunks": list(self._chunks.values()),
            "cursors": {key_of(edge): self._cursor(edge) for edge in state.queues if self._is_stream(edge)},
            "queues": {key_of(edge): self._queue(edge) for edge in state.queues if not self._is_stream(edge)},
            "logs": logs,
            "panes": {name: self._panes(name) for name in state.panes},
            "closed": state.closed,
            "marks": {name: times.all() for name, times in self._counting()},
            "changes": [change.as_dict() for change in self._engine.history],
            "lost": self._lost_files(),
            "plan": plan_checksum(self._engine),
            "queries": self._engine.recorder.query_snapshots(),
            "costs": self._engine.costs.snapshot(),
        }

    def _counting(self) -> Iterator[tuple[str, RowTimes]]:
        """Yield the streams whose rows are counted, with the times of rows."""
        for name, log in self._state.streams.items():
            if log.row_times is not None:
                yield name, log.row_times

    def _stream(self, name: str, log: StreamLog) -> Json:
        return {
            "next": log.next_sequence,
            "newest": log.newest,
            "oldest": log.oldest,
            "watermark": log.source_watermark,
            "box": [list(entry) for entry in log.box.history],
            "dropped": log.box.dropped,
            "counts": self._engine.recorder.stream_snapshot(name),
            "kept": log.kept,
            "rows": None if log.row_times is None else [log.row_times.pane, log.row_times.first_newest],
        }

    def _lost_files(self) -> list[list[Any]]:
        return sorted(lost_file(segment) for segment in self._state.lost)

    # Queues and logs ----------------------------------------------------------------------------------------

    def _is_stream(self, edge: Edge) -> bool:
        return edge.source in self._state.streams

    def _is_needed(self, source: str) -> bool:
        return bool(self._engine.plan.network.out_edges.get(source)) or source in self._state.windows

    def _waiting(self, edge: Edge) -> Iterator[Chunk]:
        """Yield what waits at an edge, with what jobs in flight took from it: these are not committed."""
        return self._state.waiting_at(edge)

    def _waiting_chunks(self) -> Iterator[Chunk]:
        for queue in self._state.queues.values():
            yield from queue.chunks
        for job in self._state.in_flight:
            for chunks in job.taken.values():
                yield from chunks

    def _cursor(self, edge: Edge) -> list[int]:
        first = min(((chunk.number, chunk.place.first) for chunk in self._waiting(edge)), default=None)
        return list(first or (self._state.chunks + 1, 0))

    def _queue(self, edge: Edge) -> list[list[int]]:
        firsts: dict[int, int] = {}
        for chunk in self._waiting(edge):
            firsts[chunk.number] = min(firsts.get(chunk.number, chunk.place.first), chunk.place.first)
        return [[number, first] for number, first in sorted(firsts.items())]

    def _panes(self, name: str) -> list[int]:
        return [chunk.number for chunk in self._state.panes[name].chunks]

    def _log(self, log: StreamLog) -> list[int | Json]:
        """Return the chunks of a log: numbers, or what was merged into a file since."""
        found: list[int | Json] = []
        for chunk in log.chunks:
            known = self._chunks.get(chunk.number)
            if known is not None and ("stored" in known) == chunk.is_stored:
                found.append(chunk.number)
            elif not isinstance(chunk.place, StoredRows):
                found.append(self._written(log.definition.name, chunk)["n"])
            else:
                found.append({"n": chunk.number, "stored": described(chunk.place, self._folder, self._checksum)})
        return found

    # Rows ---------------------------------------------------------------------------------------------------

    def _written(self, source: str, chunk: Chunk) -> Json:
        about: Json = {"n": chunk.number, "source": source, "rows": chunk.rows}
        if chunk.position:
            about["pos"] = chunk.position
        if isinstance(chunk.place, StoredRows):
            about["stored"] = described(chunk.place, self._folder, self._checksum)
        else:
            kind = "streams" if source in self._state.streams else "queues"
            about["at"] = self._rows.append(place_of(kind, source), chunk.table).as_json()
        self._chunks[chunk.number] = about
        return about

    def _checksum(self, segment: Segment) -> int:
        """Make a file of ours durable once, and return its checksum."""
        path = segment.path.absolute()
        if path not in self._checksums:
            flush_upwards(path, self._folder, self._durable)
            self._checksums[path] = checksum_of(path)
            reached("segment.flushed")
        return self._checksums[path]

    def forget(self, path: Path) -> None:
        """Forget a file that was removed."""
        self._checksums.pop(path, None)


def lost_file(segment: Segment) -> list[Any]:
    """Return what tells a file that was lost from others that had its name before or have it since."""
    return [segment.stream, segment.base, str(segment.path)]


def plan_checksum(engine: Engine) -> int:
    """Return a checksum of a plan's operators, inputs and steps: another plan has other queues."""
    found = 0
    for operator in engine.plan.network.operators:
        text = f"{operator.name} {operator.inputs} {engine.plan.steps[operator.name].sql}"
        found = crc32(text.encode(), found)
    return found


def _add(found: Json, name: str, value: object) -> None:
    if value:
        found[name] = value
