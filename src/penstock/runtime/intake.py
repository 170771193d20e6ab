"""Arrivals: polls sources that have room, admits their rows, and applies backpressure."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.language.script import Script
from penstock.language.statements import StreamDef
from penstock.runtime.delivery import Delivery
from penstock.runtime.engine import Engine
from penstock.runtime.memory_sizes import FILLED, queue_limit, reserved_bytes, room_rows, row_bytes
from penstock.runtime.options import RunOptions
from penstock.runtime.source import Source

MOST_CHUNKS = 4
"""Chunks that are asked of a source at a time."""


class Intake:
    """Reads the sources of a run."""

    def __init__(
        self,
        engine: Engine,
        options: RunOptions,
        delivery: Delivery,
        on_event: Callable[[str], object],
        on_poll: Callable[[], object],
    ) -> None:
        self._engine = engine
        self._options = options
        self._memory = options.memory
        self._delivery = delivery
        self._on_event = on_event
        self._on_poll = on_poll
        """Called after each batch of rows: one file after another may take many seconds."""
        self.may_read: Callable[[], bool] = lambda: True
        """Whether rows may be read at all."""
        self.sources: dict[str, Source] = {}
        self.held: dict[str, bool] = {}
        """Whether each stream is not read for lack of room."""
        self._silent_since: dict[str, int] = {}

    def positions(self, *, whole: bool) -> dict[str, Any]:
        """Return where later runs go on, by stream; streams whose position did not change are left out."""
        found = {name: source.position(whole=whole) for name, source in self.sources.items()}
        return {name: position for name, position in found.items() if position}

    def open(self, script: Script, open_source: Callable[[StreamDef], Source]) -> None:
        """Open all sources."""
        for name, stream in script.sources.items():
            self.sources[name] = open_source(stream)
            self.held[name] = False

    def stop(self, now_us: int) -> None:
        """Accept nothing that comes after now."""
        for source in self.sources.values():
            source.stop(now_us)

    def close(self, errors: tuple[type[BaseException], ...]) -> None:
        """Close all sources; these errors do not matter then."""
        for source in self.sources.values():
            with contextlib.suppress(*errors):
                source.close()

    def set_memory(self, memory: int) -> None:
        """Continue with another memory limit."""
        self._memory = memory

    @property
    def ended(self) -> bool:
        """Whether no source will send another row."""
        return all(source.ended for source in self.sources.values())

    def waiting_bytes(self) -> int:
        """Return the bytes that wait in queues and in what sources have read ahead."""
        return self._engine.state.waiting_bytes() + sum(source.held_bytes for source in self.sources.values())

    def offered(self, now_us: int) -> Mapping[str, int]:
        """Return the rows so far of the streams that can be shed, read or not."""
        counts = {name: source.offered(now_us) for name, source in self.sources.items()}
        return {name: count for name, count in counts.items() if count is not None}

    def admit(self, now_us: int) -> bool:
        """Poll every source that has room; return whether rows came."""
        some = False
        may_read = self.may_read()
        memory = queue_limit(self._memory, self._engine.state.pane_bytes())
        for name in self.sources:
            most = self._room(name, memory) if may_read else 0
            self.held[name] = most < 1
            if most >= 1:
                some = self._poll(name, most, now_us) or some
        if some:
            self._engine.recorder.memory_peak(self.waiting_bytes())
        return some

    def blocked(self) -> str | None:
        """Return the stream that others wait for although it is not read for lack of room, if there is one."""
        waited_for = self._engine.waited_for()
        held = [name for name in waited_for if self.held[name] and not self.sources[name].ended]
        return min(held, key=lambda name: self._engine.streams[name].watermark) if held else None

    def admit_blocked(self, stream: str, now_us: int) -> bool:
        """Poll a stream although it has no room: nothing else could continue. Return whether rows came."""
        return self._poll(stream, self._options.chunk_rows, now_us)

    def _room(self, name: str, memory: int) -> int:
        """Return how many rows of a stream have room in its share of the memory and in what is left of all."""
        state, log = self._engine.state, self._engine.streams[name]
        buffers: Iterable[int] = (source.buffer_bytes for source in self.sources.values())
        limit = FILLED * memory - reserved_bytes(self._memory, buffers)
        left = min(limit / len(self.sources) - state.backlog(name), limit - state.waiting_bytes())
        known = self._engine.recorder.streams[name].row_bytes or row_bytes(log.definition)
        least = 0 if state.waiting_bytes() else 1  # where nothing waits, a row has room however large it is
        return max(min(room_rows(left, known, log.keep), MOST_CHUNKS * self._options.chunk_rows), least)

    def _poll(self, name: str, most_rows: int, now_us: int) -> bool:
        source = self.sources[name]
        if self._engine.streams[name].ended:
            return False
        some = False
        for arrived in source.poll(now_us, most_rows):
            passed = self._engine.admit(name, arrived, self._options.chunk_rows)
            some = some or bool(passed.offered)
            for text in self._engine.recorder.admitted(name, passed):
                self._on_event(text)
            if passed.rejected.num_rows:
                self._delivery.reject(name, passed.rejected)
            self._on_poll()
        self._engine.set_watermark(name, source.watermark(now_us), ended=source.ended)
        self._check_silence(name, some, now_us)
        return some

    def _check_silence(self, name: str, some: bool, now_us: int) -> None:
        idle_us = self._engine.streams[name].definition.idle_us
        if some or name not in self._silent_since:
            self._silent_since[name] = now_us
            self._engine.set_silent(name, None)
        elif idle_us is not None and not self._options.drain and now_us - self._silent_since[name] >= idle_us:
            self._engine.set_silent(name, self._silent_since[name])
