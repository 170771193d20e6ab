"""Check that a Spark server answers at its address, before PySpark tries for minutes."""

import os
import re
import socket
from collections.abc import Iterable

from penstock.errors import RunError

CONNECT_PORT = 15002
"""The default port of a Spark Connect server."""
MASTER_PORT = 7077
WAIT_S = 5.0
"""Time in which an address must answer, in seconds."""
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")

Address = tuple[str, int]


def check_reachable(where: str, wait_s: float = WAIT_S) -> None:
    """Raise an error if no server answers at an address: `sc://host:port` or `spark://host:port,host:port`.

    Other masters are not checked: they are on this machine, or Spark finds them by its own settings.
    """
    addresses = addresses_of(where)
    if not addresses or _has_proxy(host for host, _ in addresses):
        return
    reasons = [_refused(address, wait_s / len(addresses)) for address in addresses]
    if None not in reasons:
        details = "; ".join(f"{host}:{port}: {why}" for (host, port), why in zip(addresses, reasons, strict=True))
        server = "Spark Connect server" if where.startswith("sc:") else "Spark master"
        raise RunError(f"no {server} answers at {where} ({details}). Is it running, and is the port right?")


def addresses_of(where: str) -> list[Address]:
    """Return the hosts and ports of a Spark URL; none if it names none.

    >>> addresses_of("sc://localhost/;token=a:b"), addresses_of("spark://one:7077,two")
    ([('localhost', 15002)], [('one', 7077), ('two', 7077)])
    >>> addresses_of("sc://[::1]:9"), addresses_of("local[*]")
    ([('::1', 9)], [])
    """
    found = re.fullmatch(r"(sc|spark)://([^/;?#]*).*", where)
    if found is None:
        return []
    port = CONNECT_PORT if found[1] == "sc" else MASTER_PORT
    return [_address(part, port, where) for part in found[2].split(",")]


def _address(text: str, port: int, where: str) -> Address:
    found = re.fullmatch(r"(\[[^]]+\]|[^:\[\]]+)(?::(\d+))?", text.rpartition("@")[2])
    if found is None or not 0 < int(found[2] or port) < 65536:
        raise RunError(
            f"{where!r} is not an address of a Spark server; expected e.g. sc://localhost:{CONNECT_PORT}"
        )
    return found[1].strip("[]"), int(found[2] or port)


def _refused(address: Address, wait_s: float) -> str | None:
    """Return why an address does not answer; None if it does."""
    try:
        with socket.create_connection(address, timeout=wait_s):
            return None
    except TimeoutError:
        return f"no answer within {wait_s:g} s"
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _has_proxy(hosts: Iterable[str]) -> bool:
    """Whether a remote host is reached through a proxy, so that a direct connection proves nothing."""
    local = all(host in ("localhost", "127.0.0.1", "::1") for host in hosts)
    return not local and any(os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES)
