"""Results of a run with a state: parts that were committed and not revealed, and parts that were not committed."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.errors import RunError
from penstock.sinks.folder_layout import REJECTED, PartId, parts_in, staged_in
from penstock.sinks.manifest import Manifest
from penstock.storage.faults import reached
from penstock.storage.files import flush_folder

Position = Mapping[str, Any]


def reveal(out: Path, files: Iterable[list[str]]) -> set[Path]:
    """Rename committed parts to their places; return the folders in which names changed."""
    folders = set()
    for hidden, place in files:
        source, target = out / hidden, out / place
        reached("reveal.before")
        target.parent.mkdir(parents=True, exist_ok=True)
        source.rename(target)
        folders.add(target.parent)
        reached("reveal.renamed")
    return folders


def recover(out: Path, manifest: Manifest, state: str, position: Position, pending: list[list[str]]) -> list[str]:
    """Name the parts that were committed, and remove those that were not; return what should be said about it."""
    reached("recovery.before")
    last: PartId = (position.get("run", 0), position.get("part", 0))
    notes = []
    for hidden, place in pending:
        if (out / hidden).exists():
            folders = reveal(out, [[hidden, place]])
            for folder in folders:
                flush_folder(folder)
            reached("recovery.renamed")
        elif not (out / place).exists() and not _is_published(out, place):
            notes.append(
                f"{out / place} was committed and is neither there nor published: it was removed by others"
            )
    for each in staged_in(out):
        if each.part > last and manifest.states.get(each.part[0]) == state:
            each.path.unlink()
    for query in manifest.queries:
        for part, path in reversed(parts_in(out / query)):
            if part <= last:
                break
            if manifest.states.get(part[0]) == state:
                raise RunError(
                    f"{path} has results of a time after the state's last commit: the state is older than its "
                    "results. Restore the newest state, or begin a new state and a new folder for results"
                )
    _cut_rejected(out, position.get("run", 0), position.get("rejected", {}))
    reached("recovery.after")
    return notes


def _is_published(out: Path, place: str) -> bool:
    """Whether later results of a query were published; for groups, those of any query."""
    path = Path(place)
    folders = (
        [out / path.parent.name]
        if path.parts[0] == "_recent"
        else [each for each in out.iterdir() if each.is_dir()]
    )
    return any(parts[-1][1].name >= path.name for parts in map(parts_in, folders) if parts)


def _cut_rejected(out: Path, run: int, lengths: Mapping[str, int]) -> None:
    """Cut off rejected rows that were written and not committed."""
    for folder in (out / REJECTED).glob("*"):
        for path in folder.glob("rows-*.json"):
            match = re.fullmatch(r"rows-(\d+)\.json", path.name)
            if match is None or int(match[1]) < run:
                continue
            length = lengths.get(folder.name, 0) if int(match[1]) == run else 0
            if path.stat().st_size > length:
                with path.open("r+b") as file:
                    file.truncate(length)
