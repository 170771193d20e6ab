"""Checks a state folder: every document, every row and every file that is named."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.runtime.rows.segment import FileStamp
from penstock.storage.documents import DamagedError, StateError, read_document
from penstock.storage.image import Image
from penstock.storage.inspection import found_in
from penstock.storage.journal import CHECKPOINTS, JOURNAL
from penstock.storage.owner import is_owned, owner_of
from penstock.storage.places import check_file
from penstock.storage.row_log import RowsAt, read_rows


def problems_in(
    folder: Path, on_progress: Callable[[int, int], object] = lambda done, of: None, results: Path | None = None
) -> list[str]:
    """Return what is wrong with a state folder; nothing if a run can go on there and finds all that it needs.

    `results` is the folder of results, if it is not where it was.
    """
    _, found = found_in(folder)
    if is_owned(folder):
        owner = owner_of(folder)
        raise StateError(
            f"process {owner.get('process')} on {owner.get('machine')} uses the state {folder}: "
            "stop it before checking, or check a copy"
        )
    image = Image.of(found.checkpoint, found.entries)
    problems = [*_broken_owner(folder), *_broken_documents(folder)]
    places = list(image.places())
    seen: set[str] = set()
    for place, about in enumerate(places):
        problems += _broken_rows(folder, about, seen)
        on_progress(place + 1, len(places))
    problems += _missing_results(image, results)
    return problems


def _broken_owner(folder: Path) -> Iterator[str]:
    try:
        owner_of(folder)
    except DamagedError as error:
        yield str(error)


def _broken_documents(folder: Path) -> Iterator[str]:
    for kind, name in (("entry", JOURNAL), ("checkpoint", CHECKPOINTS)):
        for path in sorted((folder / name).glob("*.json")):
            try:
                read_document(kind, path)
            except StateError as error:
                yield f"{name}: {error}"


def _broken_rows(folder: Path, about: dict[str, Any], seen: set[str]) -> Iterator[str]:
    """Yield what is wrong with the rows of a chunk; each file is checked once."""
    if "at" in about:
        try:
            read_rows(folder, RowsAt(*about["at"]))
        except StateError as error:
            yield str(error)
    for file in about.get("stored", {}).get("files", ()):
        if file["path"] in seen:
            continue
        seen.add(file["path"])
        try:
            if file["owned"]:
                check_file(folder, file["path"], file["crc"])
            elif FileStamp.of(Path(file["path"])) != FileStamp(*file["stamp"]):
                yield f"{file['path']}, a file of a stream, has changed since it was admitted"
        except StateError as error:
            yield str(error)
        except OSError as error:
            yield f"{file['path']}, a file of a stream that is still needed: {error.strerror or error}"


def _missing_results(image: Image, moved_to: Path | None) -> Iterator[str]:
    """Yield results that were committed and are nowhere; what was revealed may have been published since."""
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
    """Whether a part is at its place, or later results of its query were published; for groups, of any query."""
    path = Path(place)
    one = path.parts[0] == "_recent"
    folders = [out / path.parent.name] if one else [each for each in out.iterdir() if each.is_dir()]
    published = (each for folder in folders for each in folder.glob("part-*.parquet"))
    return (out / place).exists() or any(each.name >= path.name for each in published)
