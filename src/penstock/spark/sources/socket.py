"""The source of lines from a socket: Penstock listens on loopback, or connects to a server."""

import select
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from penstock.errors import RunError
from penstock.formats.layout import layout_of
from penstock.formats.texts import LONGEST_RECORD, broken, without_blanks
from penstock.language.statements import StreamDef
from penstock.runtime.admission import Arrived
from penstock.spark.sources.context import SourceContext
from penstock.spark.sources.text_parser import parsed
from penstock.spark.sources.time_units import TimeUnit

_RECEIVED_BYTES = 32768
_CHECK_S = 0.2
_CHECKS_ALONE = 5
"""Checks without a client after which a stream that is being drained has ended."""


class SocketSource:
    """Rows from a socket, one per line, as JSON or CSV.

    Received lines wait in a buffer of limited size. When it is full, nothing more is received, and TCP makes the
    sender wait.
    """

    def __init__(
        self, stream: StreamDef, context: SourceContext, position: Mapping[str, Any] | None = None
    ) -> None:
        self.ended = False
        self._stream = stream
        self._context = context
        self.buffer_bytes = context.buffer_bytes
        self._buffer = _Buffer(context.buffer_bytes)
        self._over = threading.Event()
        self._closing = threading.Event()
        self._last_poll: int | None = None
        self._given = 0
        self._layout = layout_of(stream.options.get("format", "json"), stream.options, in_file=False)
        self._unit = TimeUnit(stream, context.tell)
        host, port = stream.options.get("host", "127.0.0.1"), stream.options["port"]
        listens = stream.options.get("listen", True)
        self._socket = _listening(stream.name, host, port) if listens else _connected(stream.name, host, port)
        if listens:
            context.tell(f"stream {stream.name}: waiting for a client on {host}:{port}")
        target = self._serve if listens else self._receive
        arguments = () if listens else (self._socket,)
        self._thread = threading.Thread(target=target, args=arguments, daemon=True, name=f"socket {stream.name}")
        self._thread.start()

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived]:
        """Return the received lines, when a `chunk_time` has passed or the buffer is half full."""
        over = self._over.is_set()
        is_early = self._last_poll is not None and now_us - self._last_poll < self._context.chunk_us
        if is_early and not over and self._buffer.bytes < self.buffer_bytes / 2:
            return
        self._last_poll = now_us
        taken = self._buffer.take(most_rows)
        self.ended = over and not self._buffer.lines
        if taken:
            texts = [line.decode(errors="replace").removeprefix("\ufeff").rstrip("\r") for line in taken]
            lines = without_blanks(texts, self._layout.comment)
            self._given += len(lines)
            if lines:
                yield Arrived(self._parsed(pa.array(lines, pa.string())), now_us)

    def watermark(self, now_us: int) -> int | None:
        """Return the clock if a row's time is its arrival; None if rows have times of their own."""
        return None if self._stream.timestamp is not None else now_us

    def offered(self, now_us: int) -> int | None:
        """Return how many lines were received, polled or not."""
        return self._given + self._buffer.lines

    @property
    def held_bytes(self) -> int:
        """Bytes that were received and not polled yet."""
        return self._buffer.bytes

    def position(self, *, whole: bool) -> dict[str, Any]:
        """Return nothing: what was received and not committed is lost with the process."""
        return {}

    def stop(self, now_us: int) -> None:
        """Receive no more lines."""
        self._closing.set()
        self._over.set()

    def close(self) -> None:
        """Close the port and end the thread."""
        self._closing.set()
        self._socket.close()
        self._thread.join(timeout=2)

    def _parsed(self, lines: pa.Array) -> pa.Table:
        """Parse the lines as those of files."""
        unit = self._stream.options.get("timestamp_unit")
        columns, time_column = self._stream.columns, self._stream.time_column
        return self._unit.reported(parsed(self._context.spark, lines, columns, self._layout, unit, time_column))

    # Threads ------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Accept clients; with `drain`, the stream ends a second after the last one has disconnected."""
        clients: list[threading.Thread] = []
        came, alone = False, 0
        while not self._closing.is_set():
            try:
                ready, _, _ = select.select([self._socket], [], [], _CHECK_S)
                if ready:
                    client, _ = self._socket.accept()
                    thread = threading.Thread(target=self._receive_from, args=(client,), daemon=True)
                    thread.start()
                    clients.append(thread)
                    came = True
            except (OSError, ValueError):
                break
            clients = [thread for thread in clients if thread.is_alive()]
            alone = 0 if ready or clients else alone + 1
            if self._context.drain and came and alone >= _CHECKS_ALONE:
                break
        self._over.set()

    def _receive(self, connection: socket.socket) -> None:
        self._receive_from(connection)
        self._over.set()

    def _receive_from(self, connection: socket.socket) -> None:
        """Receive whole lines into the buffer; the beginning of a line waits for its end."""
        rest, skipping = b"", False
        connection.settimeout(_CHECK_S)
        with connection:
            while not self._closing.is_set():
                try:
                    data = connection.recv(_RECEIVED_BYTES)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not data:
                    break
                if skipping:  # the rest of a line that is too long
                    _, found, data = data.partition(b"\n")
                    skipping = not found
                lines, found, rest = (rest + data).rpartition(b"\n")
                if found:
                    self._put(lines)
                if len(rest) > LONGEST_RECORD:
                    self._put(broken(rest.decode(errors="replace")).encode())
                    rest, skipping = b"", True
            if rest:
                self._put(rest)

    def _put(self, lines: bytes) -> None:
        """Add lines to the buffer as soon as there is room; until then, the sender waits too."""
        while not self._buffer.put(lines, _CHECK_S):
            if self._closing.is_set():
                return


class _Buffer:
    """Received lines, in the blocks in which they arrived; at most `most_bytes`, or one block."""

    def __init__(self, most_bytes: int) -> None:
        self.bytes = 0
        self.lines = 0
        self._most = most_bytes
        self._blocks: deque[list[bytes] | bytes] = deque()
        self._changed = threading.Condition()

    def put(self, lines: bytes, wait_s: float) -> bool:
        """Add a block of lines if there is room within `wait_s`; return whether there was."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self.bytes or self.bytes + len(lines) <= self._most, wait_s):
                return False
            self._blocks.append(lines)
            self.bytes += len(lines) + 1
            self.lines += lines.count(b"\n") + 1
        return True

    def take(self, most: int) -> list[bytes]:
        """Remove and return at most `most` lines."""
        taken: list[bytes] = []
        with self._changed:
            while self._blocks and len(taken) < most:
                block = self._blocks.popleft()
                lines = block.split(b"\n") if isinstance(block, bytes) else block
                room = most - len(taken)
                taken += lines[:room]
                if lines[room:]:
                    self._blocks.appendleft(lines[room:])
            self.lines -= len(taken)
            self.bytes -= sum(len(line) + 1 for line in taken)
            self._changed.notify_all()
        return taken


def _listening(stream: str, host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"stream {stream}: cannot listen on {host}:{port}: {reason}") from error


def _connected(stream: str, host: str, port: int) -> socket.socket:
    try:
        return socket.create_connection((host, port), timeout=10)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RunError(f"stream {stream}: cannot connect to {host}:{port}: {reason}") from error
