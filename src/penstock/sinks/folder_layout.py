"""The layout of an output folder: names of its files and folders, and the parts in it.

- ``NAME/part-*.parquet``: results of a query;
- ``_rejected/STREAM/rows-*.json``: rejected rows, one JSON object per line;
- ``_recent``, ``_groups``: results of jobs that are not published yet;
- ``_writing``: unfinished files;
- ``_penstock.jsonl``: the manifest, with the runs and the queries whose results are in the folder;
- ``_running``: a run writes to the folder, or did not finish.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MANIFEST = "_penstock.jsonl"
RUNNING = "_running"
GROUPS = "_groups"
RECENT = "_recent"
REJECTED = "_rejected"
WRITING = "_writing"

PartId = tuple[int, int]
"""Number of the run, and of the part in the run: unique in a folder, and larger for later parts."""

_HIDDEN = re.compile(r"part-new-(\d+)-")
_PART = re.compile(r"part-(\d{4,})-(\d{8,})\.parquet")


def part_name(part: PartId) -> str:
    """Return the name of a part's file; names sort as parts do.

    >>> part_name((1, 12))
    'part-0001-00000012.parquet'
    """
    return f"part-{part[0]:04d}-{part[1]:08d}.parquet"


def parts_in(folder: Path) -> list[tuple[PartId, Path]]:
    """Return the files of parts in a folder, in their order; other files are ignored."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted((part, path) for path in paths if (part := part_of(path.name)) is not None)


def part_of(name: str) -> PartId | None:
    """Return the part that a file is named by; None if it is no part.

    >>> part_of("part-0001-00000012.parquet")
    (1, 12)
    """
    match = _PART.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]))


@dataclass(frozen=True)
class Staged:
    """A part that is not published yet; `place` is the folder of its query, None for the results of a group."""

    part: PartId
    path: Path
    place: str | None

    @cached_property
    def bytes(self) -> int:
        """The size of its file."""
        return self.path.stat().st_size


def staged_in(out: Path) -> list[Staged]:
    """Return the parts of an output folder that are not published yet, in their order, without gaps.

    While folders are listed, a part may be added to a folder that was listed before, and a later part be found. So
    folders are listed twice, and only parts up to the last one of the first listing are returned.
    """
    last = max((each.part for each in _staged_in(out)), default=None)
    if last is None:
        return []
    return sorted((each for each in _staged_in(out) if each.part <= last), key=lambda each: each.part)


def _staged_in(out: Path) -> Iterator[Staged]:
    for group in (out / GROUPS).glob("*"):
        for part, path in parts_in(group):
            yield Staged(part, path, None)
    for folder in (out / RECENT).glob("*"):
        for part, path in parts_in(folder):
            yield Staged(part, path, folder.name)


def hidden_name(part: PartId) -> str:
    """Return the name, without its ending, of a part that is written and waits for the commit of a state."""
    return f"part-new-{part[0]}-{part[1]}.parquet"


def hidden_runs(out: Path) -> set[int]:
    """Return the runs with parts that wait for a commit."""
    names = (path.name for path in (out / WRITING).glob("part-new-*"))
    return {int(match[1]) for match in map(_HIDDEN.match, names) if match is not None}


def is_older(out: Path) -> bool:
    """Whether a folder holds results of an older Penstock, which wrote no manifest."""
    ours = (out / name for name in (GROUPS, RECENT, REJECTED))
    return not (out / MANIFEST).exists() and (any(out.glob("query=*")) or any(path.exists() for path in ours))
