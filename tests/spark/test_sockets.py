"""A socket's buffer is bounded and counted: a sender that is too fast has to wait, and nothing is lost."""

import socket
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

import penstock.spark as ps
from penstock.language import Script
from penstock.runtime.memory_sizes import buffer_bytes
from penstock.spark.sources import socket as socket_source
from penstock.spark.sources.context import SourceContext

BUFFER = 64 * 1024
ROWS = 600_000
"""More than the system itself keeps of what was sent and not received."""


@pytest.fixture
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture
def source(port, tmp_path, monkeypatch):
    """A socket source whose lines are not parsed, with what it told."""
    monkeypatch.setattr(socket_source, "parsed", lambda spark, texts, *_: pa.table({"line": texts}))
    told: list[str] = []
    context = SourceContext(None, Path(), True, None, 50_000, 0, tmp_path, told.append, BUFFER)
    script = Script.parse(f"CREATE STREAM s (v INT) FROM socket WITH (port = {port}, format = 'csv');")
    opened = socket_source.SocketSource(script.streams["s"], context)
    yield opened, told
    opened.close()


def connected(port: int) -> socket.socket:
    """Connect to a stream as soon as it listens."""
    end = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_who_listens_says_so(source, port):
    assert source[1] == [f"stream s: waiting for a client on 127.0.0.1:{port}"]


def test_a_sender_waits_when_the_buffer_is_full_and_no_line_is_lost(source, port):
    opened, _ = source
    sent = threading.Event()

    def send():
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"".join(b"%d,some text that makes a row longer\n" % i for i in range(ROWS)))
        sent.set()

    threading.Thread(target=send, daemon=True).start()
    assert not sent.wait(1.0)
    assert BUFFER // 2 < opened.held_bytes <= BUFFER
    got: list[str] = []
    end = time.monotonic() + 30
    while not opened.ended and time.monotonic() < end:
        for arrived in opened.poll(0, 70_000):
            assert arrived.rows.num_rows <= 70_000
            got += arrived.rows.column("line").to_pylist()
        assert opened.held_bytes <= BUFFER
        time.sleep(0.001)
    assert [int(line.split(",")[0]) for line in got] == list(range(ROWS))
    assert opened.held_bytes == 0
    assert opened.offered(0) == ROWS


def test_a_line_longer_than_the_buffer_passes_alone(source, port):
    opened, _ = source
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"x" * (2 * BUFFER) + b"\n\n\r\nlast")
    got: list[str] = []
    end = time.monotonic() + 30
    while not opened.ended and time.monotonic() < end:
        for arrived in opened.poll(0, 10):
            got += arrived.rows.column("line").to_pylist()
        time.sleep(0.01)
    assert got == ["x" * (2 * BUFFER), "last"]


def test_the_buffer_is_a_part_of_the_memory_limit():
    assert buffer_bytes(4 * 2**20, 1) == 2**19
    assert buffer_bytes(256 * 2**20, 2) == 4 * 2**20
    assert buffer_bytes(1000, 3) == 64 * 1024


def test_queues_leave_room_for_the_buffer_in_the_memory_limit(spark, port):
    script = f"""
        CREATE STREAM s (v INT, t STRING) FROM socket WITH (port = {port}, format = 'json');
        CREATE QUERY q AS SELECT v, md5(t) AS h FROM s;
        SET memory = '1MiB'; SET shed = false; SET batch_rows = 500;
    """
    lines_sent = "".join(f'{{"v": {i}, "t": "{"x" * 40}"}}\n' for i in range(20_000)).encode()
    with ps.started(script, spark=spark, drain=True) as running:
        with connected(port) as client:
            client.sendall(lines_sent)
        summary = running.wait(120)
    assert summary.rows_out == 20_000
    assert 0.9 * 2**20 < summary.peak_bytes <= 2**20


@pytest.mark.parametrize(("memory", "rows", "long"), [("64kB", 5000, 0), ("1MB", 100, 900_000)])
def test_a_small_memory_limit_holds_no_socket_up_for_ever(spark, port, memory, rows, long):
    script = f"""
        CREATE STREAM s (v INT, t STRING) FROM socket WITH (port = {port}, format = 'json');
        CREATE QUERY q AS SELECT v, length(t) AS n FROM s;
        SET memory = '{memory}'; SET shed = false;
    """
    sent = [f'{{"v": {i}, "t": "{"x" * 40}"}}\n' for i in range(rows)]
    sent += [f'{{"v": -1, "t": "{"x" * long}"}}\n'] * (long > 0)
    sent += ["y" * 2_500_000 + "\n"] * (long > 0)
    with ps.started(script, spark=spark, drain=True) as running:
        with connected(port) as client:
            client.sendall("".join(sent).encode())
        summary = running.wait(120)
    assert summary.rows_out == rows + (long > 0)
    assert summary.streams["s"].malformed == (long > 0)
