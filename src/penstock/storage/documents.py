"""Documents: JSON with a first line that has the kind, the format and a checksum."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from penstock.errors import RunError

FORMAT = 1
"""The version of all that is in a state folder. A higher one is refused."""


class StateError(RunError):
    """A state folder that cannot be used, and why."""


class DamagedError(StateError):
    """A file of a state folder that is not what was written."""


def encoded(kind: str, body: Mapping[str, Any]) -> bytes:
    """Return a document as bytes."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=True).encode()
    return f"penstock {kind} {FORMAT} {crc32(text):08x} {len(text)}\n".encode() + text


def decoded(kind: str, data: bytes, name: str) -> dict[str, Any]:
    """Return the body of a document; raise if it is damaged, of another kind, or of a newer format.

    >>> decoded("entry", encoded("entry", {"a": 1}), "1.json")
    {'a': 1}
    >>> decoded("entry", encoded("entry", {"a": 1})[:-1], "1.json")
    Traceback (most recent call last):
    ...
    penstock.storage.documents.DamagedError: 1.json is cut off: it has 6 of 7 bytes
    """
    line, found, text = data.partition(b"\n")
    words = line.decode(errors="replace").split(" ")
    if not found or len(words) != 5 or words[:2] != ["penstock", kind] or not words[2].isdigit():
        raise DamagedError(f"{name} is damaged: it does not begin as a {kind} of Penstock")
    if int(words[2]) > FORMAT:
        raise StateError(
            f"{name} was written by a newer Penstock (format {words[2]}; this one reads up to {FORMAT}): "
            "update Penstock"
        )
    if not words[4].isdigit() or len(text) != int(words[4]):
        raise DamagedError(f"{name} is cut off: it has {len(text):,} of {words[4]} bytes")
    if f"{crc32(text):08x}" != words[3]:
        raise DamagedError(f"{name} is damaged: its checksum differs")
    return dict(json.loads(text))


def read_document(kind: str, path: Path) -> dict[str, Any]:
    """Read a document from a file."""
    return decoded(kind, path.read_bytes(), path.name)
