"""Stored rows as JSON: the files, which of their rows were admitted, and the index of their times."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any
from zlib import compress, decompress

import numpy as np

from penstock.language.statements import Column, StreamDef
from penstock.language.types import ColumnType
from penstock.plan.columns import Micros
from penstock.runtime.pane_log import PANES
from penstock.runtime.rows.segment import FileStamp, Segment
from penstock.runtime.rows.stored import StoredRows
from penstock.runtime.rows.stored_batch import AdmittedFile, StoredBatch
from penstock.runtime.rows.time_index import TimeIndex
from penstock.storage.documents import DamagedError
from penstock.storage.files import checksum_of

Checksum = Callable[[Segment], int]
"""Makes a file of ours durable, and returns its checksum."""


def described(rows: StoredRows, folder: Path, checksum: Checksum) -> dict[str, Any]:
    """Return stored rows as JSON. Files below the state folder are named from there."""
    batch = rows.batch
    columns = [[column.name, column.type.name] for column in batch.stream.columns]
    return {
        **({"columns": columns} if batch.stream.source == PANES else {}),
        "stream": batch.stream.name,
        "first": rows.first,
        "end": rows.end,
        "arrival": batch.arrival_us,
        "mean": batch.mean_arrival,
        "names": dict(batch.names),
        "index": [packed(batch.index.lows), packed(batch.index.highs), batch.index.block_rows],
        "files": [_described_file(file, folder, checksum) for file in batch.files],
    }


def _described_file(file: AdmittedFile, folder: Path, checksum: Checksum) -> dict[str, Any]:
    segment = file.segment
    path = segment.path.absolute()
    return {
        "path": str(path.relative_to(folder)) if segment.owned else str(path),
        "rows": segment.rows,
        "bytes": segment.bytes,
        "stamp": list(astuple(segment.stamp)),
        "time": segment.time_column,
        "base": segment.base,
        "bad": segment.has_bad,
        "numbered": segment.numbered,
        "owned": segment.owned,
        "last": segment.last_sequence,
        "kept": file.kept,
        "excluded": packed(file.excluded),
        "keep": file.keep,
        "crc": checksum(segment) if segment.owned else None,
    }


def restored(about: Mapping[str, Any], streams: Mapping[str, StreamDef], folder: Path) -> StoredRows:
    """Return stored rows from JSON; raise if a file of ours is not what was written."""
    lows, highs, block_rows = about["index"]
    name, own = about["stream"], about.get("columns")
    columns = tuple(Column(each, ColumnType(kind)) for each, kind in own or ())
    batch = StoredBatch(
        streams[name] if own is None else StreamDef(name, columns, PANES),
        tuple(_restored_file(each, about["stream"], folder) for each in about["files"]),
        about["arrival"],
        TimeIndex(unpacked(lows), unpacked(highs), block_rows),
        about["names"],
        about["mean"],
    )
    return StoredRows(batch, about["first"], about["end"])


def _restored_file(about: Mapping[str, Any], stream: str, folder: Path) -> AdmittedFile:
    segment = Segment(
        folder / about["path"],
        about["rows"],
        about["bytes"],
        FileStamp(*about["stamp"]),
        about["time"],
        about["base"],
        stream,
        about["bad"],
        about["numbered"],
        about["owned"],
        about["last"],
    )
    if segment.owned:
        check_file(folder, about["path"], about["crc"])
        segment = replace(segment, stamp=FileStamp.of(segment.path))  # a copied folder has other inodes
    return AdmittedFile(segment, about["kept"], unpacked(about["excluded"]), about["keep"])


def check_file(folder: Path, name: str, checksum: int) -> None:
    """Raise if a file below the state folder is missing or not what was written."""
    try:
        found = checksum_of(folder / name)
    except OSError as error:
        raise DamagedError(f"rows of the state are missing: {name}: {error.strerror or error}") from error
    if found != checksum:
        raise DamagedError(f"rows of the state are damaged: {name}: the checksum differs")


def packed(numbers: Micros) -> str:
    """Return numbers as short text.

    >>> unpacked(packed(np.array([1, -2]))).tolist()
    [1, -2]
    """
    return (
        b64encode(compress(np.ascontiguousarray(numbers, dtype="<i8").tobytes(), 1)).decode()
        if len(numbers)
        else ""
    )


def unpacked(text: str) -> Micros:
    """Return the numbers of a text."""
    return (
        np.frombuffer(decompress(b64decode(text)), dtype="<i8").astype(np.int64) if text else np.empty(0, np.int64)
    )
