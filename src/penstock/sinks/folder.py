"""The layout of an output folder, its manifest, and the removal of old results.

- ``NAME/part-*.parquet``: results of a query;
- ``_rejected/STREAM/rows-*.json``: rejected rows, one JSON object per line;
- ``_recent``, ``_groups``: results of jobs that are not published yet;
- ``_writing``: unfinished files;
- ``_penstock.jsonl``: the manifest, with the runs and the queries whose results are in the folder;
- ``_running``: a run writes to the folder, or did not finish.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

MANIFEST = "_penstock.jsonl"
RUNNING = "_running"
GROUPS = "_groups"
RECENT = "_recent"
REJECTED = "_rejected"
WRITING = "_writing"

PartId = tuple[int, int]
"""Number of the run, and of the part in the run: unique in a folder, and larger for later parts."""

_PART = re.compile(r"part-(\d{4,})-(\d{8,})\.parquet")


def part_name(part: PartId) -> str:
    """Return the name of a part's file; names sort as parts do.

    >>> part_name((1, 12))
    'part-0001-00000012.parquet'
    """
    return f"part-{part[0]:04d}-{part[1]:08d}.parquet"


def parts_in(folder: Path) -> list[tuple[PartId, Path]]:
    """Return the files of parts in a folder, in their order; other files are ignored."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _PART.fullmatch(path.name)
        if match is not None:
            found.append(((int(match[1]), int(match[2])), path))
    return sorted(found)


@dataclass(frozen=True)
class Staged:
    """A part that is not published yet; `place` is the folder of its query, None for the results of a group."""

    part: PartId
    path: Path
    place: str | None


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


def is_older(out: Path) -> bool:
    """Whether a folder holds results of an older Penstock, which wrote no manifest."""
    ours = (out / name for name in (GROUPS, RECENT, REJECTED))
    return not (out / MANIFEST).exists() and (any(out.glob("query=*")) or any(path.exists() for path in ours))


@dataclass
class Manifest:
    """The runs and the queries whose results are in a folder; a file with one entry per line."""

    path: Path
    runs: int = 0
    queries: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The types of the columns by name, for each query."""

    @classmethod
    def read(cls, out: Path) -> Self:
        """Read the manifest of a folder; without one, the folder has no results."""
        found = cls(out / MANIFEST)
        try:
            lines = found.path.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return found
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a crash cut it off
            found.runs = entry.get("run", found.runs)
            if _is_plain(entry.get("query", "")):
                found.queries[entry["query"]] = entry["columns"]
        return found

    def begin(self, started: str) -> None:
        """Record the start of a run."""
        if self.runs:
            self._append_text("\n")  # a crash may have cut the last line off
        self.runs += 1
        self._append({"run": self.runs, "started": started})

    def add(self, queries: Mapping[str, Mapping[str, str]]) -> None:
        """Record queries with their columns, before their folders are created."""
        new = {name: columns for name, columns in queries.items() if name not in self.queries}
        self._append(*({"query": name, "columns": columns} for name, columns in new.items()))
        self.queries.update(new)

    def _append(self, *entries: Mapping[str, object]) -> None:
        self._append_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))

    def _append_text(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)


def _is_plain(name: str) -> bool:
    """Whether a name can be that of a query: no other folder is ever removed."""
    return name[:1] not in ("", "_", ".") and Path(name).name == name


def remove_results(out: Path, manifest: Manifest) -> None:
    """Remove the files that Penstock wrote, and folders that become empty; everything else stays."""
    places = [out / name for name in manifest.queries]
    for above in (GROUPS, RECENT, REJECTED):
        places += [*(out / above).glob("*"), out / above]
    for path in (out / REJECTED).glob("*/rows-*.json"):
        path.unlink()
    for place in places:
        for _, path in parts_in(place):
            path.unlink()
        _remove_if_empty(place)
    remove_unfinished(out)
    manifest.path.unlink(missing_ok=True)


def remove_unfinished(out: Path) -> None:
    """Remove the unfinished files of a run that did not finish."""
    for path in (out / WRITING).glob("part-*.tmp"):
        path.unlink()
    _remove_if_empty(out / WRITING)


def remove_staging(out: Path) -> None:
    """Remove the empty folders of unpublished parts."""
    for above in (GROUPS, RECENT, WRITING):
        for folder in [*(out / above).glob("*"), out / above]:
            _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
