"""The source of generated streams: arrival processes (bursty, poisson, trace), paced by the clock."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.language.statements import StreamDef
from penstock.plan.columns import Micros, arrow_type
from penstock.runtime.admission import Arrived
from penstock.spark.sources.context import SourceContext
from penstock.workloads import Arrivals, Bursty, Poisson, Trace, made_rows

_BLOCK = 8192
"""Rows are generated in blocks of one size, so that they do not depend on when they are polled."""


def process_of(stream: StreamDef, context: SourceContext) -> Arrivals:
    """Return the arrival process that a stream names."""
    makers: Mapping[str, Callable[[Mapping[str, Any]], Arrivals]] = {
        "poisson": lambda options: Poisson(options["rate"]),
        "bursty": lambda options: Bursty(
            **{
                name: options[name]
                for name in ("rate", "flows", "on_alpha", "off_alpha", "mean_on", "mean_off")
                if name in options
            }
        ),
        "trace": lambda options: Trace(
            context.path(options["path"], f"stream {stream.name}"),
            column=options.get("column"),
            rate=options.get("rate"),
            repeat=options.get("repeat", False),
        ),
    }
    return makers[stream.source](stream.options)


class GeneratedSource:
    """Generated rows: their times begin at the first poll, and `speed` makes the stream's clock faster."""

    buffer_bytes = held_bytes = 0  # rows are generated when they are polled

    def __init__(
        self, stream: StreamDef, context: SourceContext, position: Mapping[str, Any] | None = None
    ) -> None:
        self.ended = False
        options = stream.options
        self._process = process_of(stream, context)
        self._columns = [(column.name, arrow_type(column.type.name)) for column in stream.columns]
        self._options = {name: value for name, value in options.items() if isinstance(value, int | float)}
        seed = int(options.get("seed", 0))
        self._batches = self._process.batches(seed)
        self._random = np.random.Generator(np.random.PCG64([seed, 1]))
        self._speed = float(options.get("speed", 1.0))
        self._most = int(options["rows"]) if "rows" in options else None
        self._seconds = float(options["seconds"]) if "seconds" in options else None
        self._chunk_us = context.chunk_us
        self._given = 0
        self._start: int | None = None
        self._last_poll = -1
        self._until: int | None = None
        self._due: Micros = np.empty(0, np.int64)
        self._random_state = self._random.bit_generator.state
        """Of the generator of rows, before the current block."""
        self._block = self._made()
        self._spent = False
        self._stop_at: int | None = None
        self._zero: int | None = None
        """The time of the stream's beginning; after a restart, the time in between does not count."""
        self._clock = 0
        """The stream's own time at the last poll."""
        self._told: dict[str, Any] = {}
        if position is not None:
            self._go_on(position)

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived]:
        """Return the rows that are due; rows of one `chunk_time` arrive together."""
        if self._start is None:
            self._start = now_us - int(self._clock / self._speed)
            self._last_poll = now_us
            self._zero = self._start if self._zero is None else self._zero
            self._until = self._zero + self._clock - 1
        assert self._zero is not None
        if self.ended or (self._stop_at is None and now_us - self._last_poll < self._chunk_us):
            return
        self._last_poll = now_us
        self._clock = virtual = self._virtual(now_us)
        self._read_until(virtual)
        count = int(np.searchsorted(self._due, virtual, side="right"))
        offsets, self._due = self._due[: min(count, most_rows)], self._due[min(count, most_rows) :]
        self._given += len(offsets)
        self._until = self._zero + (virtual if count <= most_rows else int(self._due[0]) - 1)
        self.ended = count <= most_rows and (self._stop_at is not None or (self._spent and not len(self._due)))
        if len(offsets):
            arrivals = self._start + (offsets / self._speed).astype(np.int64)
            yield Arrived(self._rows(len(offsets)), arrivals, self._zero + offsets)

    def watermark(self, now_us: int) -> int | None:
        """Return the time up to which all rows were returned."""
        return self._until

    def offered(self, now_us: int) -> int | None:
        """Return how many rows were due by now, polled or not."""
        if self._start is None:
            return 0
        virtual = self._virtual(now_us)
        self._read_until(virtual)
        return self._given + int(np.searchsorted(self._due, virtual, side="right"))

    def position(self, *, whole: bool) -> dict[str, Any]:
        """Return how many rows were given, and the stream's own clock, which stands still between runs."""
        if self._zero is None:
            return {}
        found = {
            "given": self._given,
            "zero": self._zero,
            "clock": self._clock if not len(self._due) else min(self._clock, int(self._due[0]) - 1),
            "random": self._random_state,
            "left": self._block.num_rows,
        }
        changed = {name: value for name, value in found.items() if whole or self._told.get(name) != value}
        self._told = found
        return changed if changed.keys() - {"clock"} else {}

    def _go_on(self, position: Mapping[str, Any]) -> None:
        self._zero, self._clock = position["zero"], position["clock"]
        while self._given < position["given"] and not (self._spent and not len(self._due)):
            self._read_more()
            skipped = min(position["given"] - self._given, len(self._due))
            self._given += skipped
            self._due = self._due[skipped:]
        self._random.bit_generator.state = position["random"]
        self._random_state = self._random.bit_generator.state
        block = self._made()
        self._block = block.slice(block.num_rows - position["left"])

    def stop(self, now_us: int) -> None:
        """Generate no rows that are due later; rows that are due by now are still returned."""
        self._stop_at = now_us

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def _virtual(self, now_us: int) -> int:
        """Return the stream's own time since its start, in microseconds."""
        start = now_us if self._start is None else self._start
        return int((min(now_us, self._stop_at or now_us) - start) * self._speed)

    def _read_until(self, virtual: int) -> None:
        while not self._spent and (not len(self._due) or self._due[-1] <= virtual):
            self._read_more()

    def _read_more(self) -> None:
        """Read the next arrivals of the process."""
        batch = next(self._batches, None)
        if batch is None:
            self._spent = True
            return
        offsets = np.ceil(batch * 1e6).astype(np.int64)
        if self._seconds is not None and len(batch) and batch[-1] >= self._seconds:
            offsets, self._spent = offsets[batch < self._seconds], True
        room = None if self._most is None else self._most - self._given - len(self._due)
        if room is not None and len(offsets) >= room:
            offsets, self._spent = offsets[:room], True
        self._due = np.concatenate([self._due, offsets])

    def _rows(self, count: int) -> pa.Table:
        parts = []
        while count > 0:
            part = self._block.slice(0, count)
            parts.append(part)
            count -= part.num_rows
            self._block = self._block.slice(part.num_rows)
            if not self._block.num_rows:
                self._random_state = self._random.bit_generator.state
                self._block = self._made()
        return pa.concat_tables(parts)

    def _made(self) -> pa.Table:
        return made_rows(self._columns, _BLOCK, self._random, self._options)
