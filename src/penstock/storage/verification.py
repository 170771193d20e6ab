"""Checks a state folder: every document, every row and every file that is named."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from penstock.runtime.rows.segment import FileStamp
from penstock.storage.documents import DamagedError, StateError, read_document
from penstock.storage.image import Image
from penstock.storage.inspection import found_in
from penstock.storage.journal import CHECKPOINTS, JOURNAL
from penstock.storage.owner import in_use, is_owned, owner_of
from penstock.storage.places import check_file
from penstock.storage.row_log import RowsAt, read_rows


def problems_in(
    folder: Path,
    on_progress: Callable[[int, int], object] = lambda done, of: None,
    also: Callable[[Image], Iterable[str]] = lambda image: (),
) -> list[str]:
    """Return what is wrong with a state folder; nothing if a run can go on there and finds all that it needs.

    `also` looks at what is not in the folder, such as results.
    """
    _, found = found_in(folder)
    if is_owned(folder):
        raise StateError(f"{in_use(folder, owner_of(folder))}: stop it before checking, or check a copy")
    image = Image.of(found.checkpoint, found.entries)
    problems = [*_broken_owner(folder), *_broken_documents(folder)]
    places = list(image.places())
    seen: set[str] = set()
    for place, about in enumerate(places):
        problems += _broken_rows(folder, about, seen)
        on_progress(place + 1, len(places))
    return [*problems, *also(image)]


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
