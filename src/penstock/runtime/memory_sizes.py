"""The memory limit of a run: bytes of a row and of a chunk, and how many rows still have room."""

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.errors import RunError
from penstock.language.statements import StreamDef

_OWN_BYTES = 24
"""Sequence number, time and arrival."""
_TEXT_BYTES = 24
_NUMBER_BYTES = 8
_BUFFERS = 8
"""Buffers of sources may take this fraction of the limit: an eighth."""
_LEAST_BUFFER, _LARGEST_BUFFER = 64 * 1024, 4 * 1024 * 1024
_LEAST_FOR_QUEUES = 4
"""A queue limit is at least this fraction of the memory limit: a quarter."""
FILLED = 0.98
"""The share of a limit up to which rows are read: what drop boxes keep is known only on average."""


def row_bytes(stream: StreamDef) -> int:
    """Return the expected bytes of a row of a stream, before any was read."""
    texts = sum(column.type.name in ("STRING", "BINARY") for column in stream.columns)
    return _OWN_BYTES + _TEXT_BYTES * texts + _NUMBER_BYTES * (len(stream.columns) - texts)


def chunk_bytes(stream: StreamDef, chunk_rows: int, chunk_us: int) -> int:
    """Return the bytes of a chunk: of a generated stream the rows of one `chunk_time`, of others one row."""
    options: Mapping[str, Any] = stream.options
    rows = float(options.get("rate", 0)) * float(options.get("speed", 1)) * chunk_us / 1e6
    return row_bytes(stream) * max(1, min(int(rows), chunk_rows))


def buffer_bytes(memory: int, streams: int) -> int:
    """Return the bytes that a source may read ahead: a fraction of its share of the limit."""
    return min(max(memory // (_BUFFERS * max(streams, 1)), _LEAST_BUFFER), _LARGEST_BUFFER)


def reserved_bytes(memory: int, buffers: Iterable[int]) -> int:
    """Return the bytes of a limit that are reserved for the buffers of sources: an eighth at most."""
    return min(sum(buffers), memory // _BUFFERS)


def queue_limit(memory: int, panes: int) -> int:
    """Return the bytes that may wait: what resident panes leave of a limit, and at least a quarter of it.

    Only new rows close windows, so streams are read even if panes alone take the whole limit.
    """
    return max(memory - panes, memory // _LEAST_FOR_QUEUES)


def check_memory(memory: int, streams: Iterable[StreamDef], chunk_rows: int, chunk_us: int) -> None:
    """Raise if a limit does not have room for one chunk of every stream in its share."""
    every = list(streams)
    needs = {stream.name: chunk_bytes(stream, chunk_rows, chunk_us) for stream in every}
    if not needs:
        return
    name = max(needs, key=lambda each: needs[each])
    least = needs[name] * len(every)
    if memory < least:
        raise RunError(
            f"a memory limit of {memory:,} bytes is below one chunk: stream {name} needs some {needs[name]:,} "
            f"bytes, and each of {len(every)} streams has an equal share; expected at least {least:,} bytes, "
            "or a smaller chunk_time or chunk_rows"
        )


def room_rows(room_bytes: float, bytes_a_row: float, keep: float) -> int:
    """Return how many rows may be read so that the kept ones have room."""
    return max(int(room_bytes / (bytes_a_row * max(keep, 1e-3))), 0)
