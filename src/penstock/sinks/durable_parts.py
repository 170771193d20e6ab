"""Results of a run with a state: parts that were committed and not revealed, and parts that were not committed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from penstock.errors import RunError
from penstock.sinks.folder_layout import RECENT, REJECTED, PartId, part_of, parts_in, staged_in
from penstock.sinks.manifest import Manifest
from penstock.sinks.rolling_files import HeldParts
from penstock.storage.faults import reached
from penstock.storage.files import flush_folder, make_folder
from penstock.storage.image import Image

Position = Mapping[str, Any]


def reveal(out: Path, files: Iterable[list[str]]) -> set[Path]:
    """Rename committed parts to their places; return the folders in which names changed."""
    folders = set()
    for hidden, place in files:
        source, target = out / hidden, out / place
        reached("reveal.before")
        make_folder(target.parent)
        source.rename(target)
        folders.add(target.parent)
        reached("reveal.renamed")
    return folders


def recover(out: Path, manifest: Manifest, state: str, position: Position, pending: list[list[str]]) -> list[str]:
    """Name the parts that were committed, and remove those that were not; return what should be said about it."""
    reached("recovery.before")
    check_newest(out, manifest, state, position)
    notes = []
    for hidden, place in pending:
        if (out / hidden).exists():
            folders = reveal(out, [[hidden, place]])
            for folder in folders:
                flush_folder(folder)
            reached("recovery.renamed")
        elif not is_shown(out, place):
            notes.append(
                f"{out / place} was committed and is neither there nor published: it was removed by others"
            )
    _cut_rejected(out, _runs_of(manifest, state), position.get("run", 0), position.get("rejected", {}))
    reached("recovery.after")
    return notes


def missing_results(image: Image, moved_to: Path | None = None) -> Iterator[str]:
    """Yield results that were committed and are nowhere; `moved_to` is their folder, if it is not where it was."""
    known = image.sink.get("folder")
    if known is None:
        return
    out = moved_to or Path(known)
    if not out.is_dir():
        yield f"the folder of results {out} is gone"
        return
    for hidden, place in image.pending:
        if not (out / hidden).exists() and not is_shown(out, place):
            yield f"{out / place} was committed and is neither there nor published"


def is_shown(out: Path, place: str) -> bool:
    """Whether a part is at its place, or a published file of its query holds it; for groups, of any query."""
    part = part_of(Path(place).name)
    assert part is not None
    one = Path(place).parts[0] == RECENT
    folders = [out / Path(place).parent.name] if one else [each for each in out.iterdir() if each.is_dir()]
    return (out / place).exists() or any(_holds(folder, part) for folder in folders)


def _holds(folder: Path, part: PartId) -> bool:
    """Whether the first published file that ends with this part or later begins before it."""
    for until, path in parts_in(folder):
        if until >= part and until[1]:  # part 0 is that of a query without results
            with pq.ParquetFile(path) as file:
                held = HeldParts.of(file, until)
            return held.sealed or held.after < part
    return False


def check_newest(out: Path, manifest: Manifest, state: str, position: Position) -> None:
    """Raise if results were revealed after the last commit of their state, or if they are older than it."""
    last: PartId = (position.get("run", 0), position.get("part", 0))
    if manifest.runs < last[0]:
        raise RunError(
            f"{out} has the results of an earlier time than the state, which knows of later runs: restore the "
            "newest results, or begin a new state and a new folder for results"
        )
    ours = _runs_of(manifest, state)
    parts = [(each.part, each.path) for each in staged_in(out)]
    parts += [part for query in manifest.queries for part in parts_in(out / query)[-1:]]
    for part, path in parts:
        if part > last and part[1] and part[0] in ours:  # part 0 is that of a query without results
            raise RunError(
                f"{path} has results of a time after the state's last commit: the state is older than its "
                "results. Restore the newest state, or begin a new state and a new folder for results"
            )


def _runs_of(manifest: Manifest, state: str) -> set[int]:
    return {run for run, each in manifest.states.items() if each == state}


def _cut_rejected(out: Path, runs: Set[int], run: int, lengths: Mapping[str, int]) -> None:
    """Cut off rejected rows that were written in these runs and not committed."""
    for folder in (out / REJECTED).glob("*"):
        for path in folder.glob("rows-*.json"):
            match = re.fullmatch(r"rows-(\d+)\.json", path.name)
            if match is None or int(match[1]) < run or int(match[1]) not in runs:
                continue
            length = lengths.get(folder.name, 0) if int(match[1]) == run else 0
            if path.stat().st_size > length:
                with path.open("r+b") as file:
                    file.truncate(length)
