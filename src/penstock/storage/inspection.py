"""What is in a state folder, without going on from there."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from penstock.language.script import Script
from penstock.language.statements import StreamDef
from penstock.runtime.lateness import watermark_of
from penstock.storage.documents import StateError
from penstock.storage.folder import about_of, check_local, os_errors
from penstock.storage.image import Image
from penstock.storage.journal import Recovered, recover
from penstock.storage.owner import is_owned, owner_of
from penstock.storage.script_changes import kept_scripts

_TRIES = 5
"""A run that goes on may remove a file between the listing and the reading."""


@dataclass(frozen=True)
class StreamState:
    """A stream: what was admitted, and what is still needed of it."""

    rows: int
    late: int
    malformed: int
    dropped: int
    watermark: str | None
    position: dict[str, Any]
    waiting_rows: int
    window_rows: int


@dataclass(frozen=True)
class StateReport:
    """What a state folder has."""

    folder: Path
    script: str
    version: str
    committed: str
    entry: int
    seconds: float
    owner: dict[str, Any] | None
    """The process that uses it now."""
    results_folder: str | None
    queries: dict[str, str]
    """Queries and their status."""
    results: int
    streams: dict[str, StreamState]
    inside_rows: int
    """Rows that wait inside the network, between operators."""
    bytes: dict[str, int]
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            **vars(self),
            "folder": str(self.folder),
            "streams": {name: vars(stream) for name, stream in self.streams.items()},
        }


def found_in(folder: Path) -> tuple[dict[str, Any], Recovered]:
    """Read what was committed last in a state folder; raise if it is none, or nothing was committed."""
    check_local(folder)
    about = about_of(folder)
    if about is None:
        what = "is not a state of Penstock" if folder.exists() else "does not exist"
        raise StateError(
            f"{folder} {what}; `penstock run SCRIPT --state DIR` begins one in a new or an empty folder"
        )
    for last in range(_TRIES - 1, -1, -1):
        try:
            with os_errors(folder):
                found = recover(folder)
        except StateError:
            if not last or not is_owned(folder):
                raise
        else:
            if found is None:
                raise StateError(f"{folder} is a state in which nothing was committed yet")
            return about, found
    raise AssertionError


def report_of(folder: Path) -> StateReport:
    """Return what a state folder has; a run may use it meanwhile."""
    _, found = found_in(folder)
    image = Image.of(found.checkpoint, found.entries)
    first, latest = kept_scripts(image, Path())
    owner = owner_of(folder) if is_owned(folder) else None
    return StateReport(
        folder=folder,
        script=image.script["name"],
        version=image.run["version"],
        committed=image.run["written"],
        entry=found.last,
        seconds=image.run["seconds"],
        owner=owner,
        results_folder=image.sink.get("folder"),
        queries=_statuses(first, image),
        results=_results(image),
        streams={name: _stream(image, name, latest.streams[name]) for name in image.engine["streams"]},
        inside_rows=_inside(image),
        bytes=_sizes(folder),
        notes=found.notes,
    )


def _statuses(script: Script, image: Image) -> dict[str, str]:
    found = dict.fromkeys(script.queries, "running")
    for change in image.engine["changes"]:
        if change["kind"] == "forget":
            found.pop(change["name"], None)
        elif change["kind"] in _STATUS:
            found[change["name"]] = _STATUS[change["kind"]]
    return found


_STATUS = {"create": "running", "drop": "ending", "stop": "failed", "ended": "ended"}


def _results(image: Image) -> int:
    before = sum(response[0] for response, _ in image.engine["queries"].values())
    return int(before + sum(sums[0] for _, found, _ in image.results for sums in found))


def _stream(image: Image, name: str, definition: StreamDef) -> StreamState:
    about = image.engine["streams"][name]
    rows, _, _, _, (late, malformed, _) = about["counts"]
    sizes = [(each["n"], _end(each), each["rows"]) for each in image.engine["chunks"] if each["source"] == name]
    first, begin = image.first_waiting(name)
    waiting = sum(rows if number > first else end - begin for number, end, rows in sizes if number >= first)
    logged = image.log_numbers(name)
    merged = [each["stored"] for each in image.engine["logs"].get(name, ()) if isinstance(each, dict)]
    return StreamState(
        rows=rows,
        late=late,
        malformed=malformed,
        dropped=about["dropped"],
        watermark=_watermark(about, definition),
        position=_shown_position(image.sources.get(name, {})),
        waiting_rows=waiting,
        window_rows=sum(rows for number, _, rows in sizes if number in logged)
        + sum(each["end"] - each["first"] for each in merged),
    )


def _end(chunk: dict[str, Any]) -> int:
    return int(chunk["stored"]["end"] if "stored" in chunk else chunk["rows"])


def _watermark(about: dict[str, Any], definition: StreamDef) -> str | None:
    known = about["watermark"]
    if known is None and about["newest"] is not None:
        known = watermark_of(about["newest"], definition.lateness_us)
    if known is None:
        return None
    try:
        return (_EPOCH + timedelta(microseconds=known)).isoformat(sep=" ", timespec="milliseconds")
    except OverflowError:  # a time of the stream is out of the range of dates
        return str(known)


_EPOCH = datetime(1970, 1, 1)


def _shown_position(position: dict[str, Any]) -> dict[str, Any]:
    """Return a position with numbers of files in place of their names."""
    shown = {name: value for name, value in position.items() if name not in _INNER}
    if "read" not in shown:
        return shown
    stamps, rows = shown["group"]
    return shown | {"read": len(shown["read"]), "group": [[path for path, _, _ in stamps], rows]}


_INNER = ("random",)
"""Of positions, what only the source itself understands."""


def _inside(image: Image) -> int:
    ends = {each["n"]: _end(each) for each in image.engine["chunks"]}
    waiting: dict[int, int] = {}
    for queue in image.engine["queues"].values():
        for number, first in queue:
            waiting[number] = min(waiting.get(number, first), first)
    return sum(ends.get(number, first) - first for number, first in waiting.items())


def bytes_of(folder: Path) -> int:
    """Return the bytes of all files in a state folder."""
    return _sizes(folder)["all"]


def _sizes(folder: Path) -> dict[str, int]:
    """Return the bytes in each part of a state folder, and in all."""
    found: dict[str, int] = {}
    for path in folder.rglob("*"):
        try:
            size = path.stat().st_size if path.is_file() else 0
        except OSError:
            continue  # a run removed it
        part = path.relative_to(folder).parts[0]
        found[part] = found.get(part, 0) + size
    folders = {name: size for name, size in sorted(found.items()) if (folder / name).is_dir()}
    return {**folders, "all": sum(found.values())}
