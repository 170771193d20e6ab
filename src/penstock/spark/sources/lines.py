"""Lines from a socket as a stream: Penstock listens on loopback, or connects to a server that sends."""

import select
import socket
import threading
from collections import deque
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import functions as F

from penstock.errors import RunError
from penstock.language.statements import StreamDef
from penstock.spark.admission import BAD, RAW, Arrived
from penstock.spark.columns import ddl
from penstock.spark.sources.source import Surroundings

_LONGEST_LINE = 1_000_000
_MOST_WAITING = 1_000_000
_CORRUPT = "__corrupt"
_LOOK_S = 0.2
_ALONE = 5
"""Looks without anybody connected after which a drained stream has ended."""


class Lines:
    """Rows from a socket, one a line, as JSON or CSV."""

    def __init__(self, stream: StreamDef, around: Surroundings) -> None:
        self.ended = False
        self._stream = stream
        self._around = around
        self._lines: deque[bytes] = deque()
        self._room = threading.Semaphore(_MOST_WAITING)
        self._over = threading.Event()
        self._closing = threading.Event()
        self._last_poll: int | None = None
        self._given = 0
        host, port = stream.options.get("host", "127.0.0.1"), stream.options["port"]
        listens = stream.options.get("listen", True)
        self._socket = _listening(stream.name, host, port) if listens else _connected(stream.name, host, port)
        target = self._serve if listens else self._receive
        arguments = () if listens else (self._socket,)
        self._thread = threading.Thread(target=target, args=arguments, daemon=True, name=f"socket {stream.name}")
        self._thread.start()

    def poll(self, now_us: int, most_rows: int) -> Iterator[Arrived]:
        """Return the lines that have come; those of one `chunk_time` come together."""
        over = self._over.is_set()
        first = self._last_poll is None
        if not over and not first and now_us - (self._last_poll or 0) < self._around.chunk_us:
            return
        self._last_poll = now_us
        taken: list[bytes] = []
        while self._lines and len(taken) < most_rows:
            taken.append(self._lines.popleft())
            self._room.release()
        self._given += len(taken)
        self.ended = over and not self._lines
        if taken:
            yield Arrived(self._parsed(taken), now_us)

    def known_until(self, now_us: int) -> int | None:
        """Return the clock where a row's time is its arrival; else the rows tell."""
        return None if self._stream.timestamp is not None else now_us

    def offered(self, now_us: int) -> int | None:
        """Return how many lines have come, read or not."""
        return self._given + len(self._lines)

    def stop(self, now_us: int) -> None:
        """Take no more lines."""
        self._closing.set()
        self._over.set()

    def close(self) -> None:
        """Close the port and end the thread."""
        self._closing.set()
        self._socket.close()
        self._thread.join(timeout=2)

    def _parsed(self, lines: list[bytes]) -> pa.Table:
        """Let Spark read the lines as it reads files."""
        columns = self._stream.columns
        texts = pa.table({"line": pa.array([line.decode(errors="replace") for line in lines], pa.string())})
        schema = f"{ddl(columns)}, `{_CORRUPT}` STRING"
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        form = self._stream.options.get("format", "json")
        if form == "csv":
            options["sep"] = self._stream.options.get("delimiter", ",")
        read = F.from_csv if form == "csv" else F.from_json
        frame = self._around.spark.createDataFrame(texts).select(
            "line", read("line", schema, options).alias("row")
        )
        broken = F.col(f"row.`{_CORRUPT}`")
        reason = F.lit(f"does not fit ({ddl(columns).replace('`', '')}) as {form.upper()}")
        return frame.select(
            *(F.col(f"row.`{column.name}`").alias(column.name) for column in columns),
            F.when(broken.isNotNull() | F.col("row").isNull(), reason).alias(BAD),
            F.col("line").alias(RAW),
        ).toArrow()

    # The thread ---------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Accept whoever connects; when draining, the stream ends a second after the last of them has gone."""
        clients: list[threading.Thread] = []
        came, alone = False, 0
        while not self._closing.is_set():
            try:
                ready, _, _ = select.select([self._socket], [], [], _LOOK_S)
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
            if self._around.drain and came and alone >= _ALONE:
                break
        self._over.set()

    def _receive(self, connection: socket.socket) -> None:
        self._receive_from(connection)
        self._over.set()

    def _receive_from(self, connection: socket.socket) -> None:
        rest = b""
        connection.settimeout(0.2)
        with connection:
            while not self._closing.is_set():
                try:
                    data = connection.recv(65536)
                except TimeoutError:
                    continue
                except OSError:
                    break
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._put(line)
                if len(rest) > _LONGEST_LINE:
                    self._put(rest[:_LONGEST_LINE])
                    rest = b""
            self._put(rest)

    def _put(self, line: bytes) -> None:
        """Keep a line; where a million wait, the sender has to wait too."""
        line = line.rstrip(b"\r")
        if not line.strip():
            return
        while not self._room.acquire(timeout=0.2):
            if self._closing.is_set():
                return
        self._lines.append(line)


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
