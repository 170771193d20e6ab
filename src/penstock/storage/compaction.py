"""Makes a state folder small: one checkpoint, no journal, and only the rows that are needed."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from penstock.runtime.clock import now_text
from penstock.storage.documents import StateError
from penstock.storage.folder import Folder
from penstock.storage.image import Image
from penstock.storage.inspection import bytes_of, found_in
from penstock.storage.owner import in_use, is_owned, owner_of
from penstock.storage.retention import Retention
from penstock.storage.row_log import RowLogs, RowsAt, read_rows


@dataclass(frozen=True)
class Compacted:
    """The bytes of a state folder before and after."""

    before: int
    after: int


def compact(folder: Path, on_progress: Callable[[int, int], object] = lambda done, of: None) -> Compacted:
    """Write what is needed anew, and then remove all else. If this ends in between, nothing is lost."""
    found_in(folder)
    if is_owned(folder):
        raise StateError(f"{in_use(folder, owner_of(folder))}: stop it before compacting")
    before = bytes_of(folder)
    state = Folder.open(folder)
    try:
        with state.os_errors():
            image = state.image
            assert image is not None
            image.run |= {"epoch": state.owner.epoch, "version": version("penstock"), "written": now_text()}
            image.forget_chunks()
            _rewrite_rows(image, RowLogs(state.path, state.owner.epoch), state.path, on_progress)
            state.append({"run": image.run})
            state.checkpoint(image.body())
            state.prune_all()
            Retention(state.path).remove_orphans(image.files)
    finally:
        state.owner.release()
    return Compacted(before, bytes_of(folder))


def _rewrite_rows(image: Image, rows: RowLogs, folder: Path, on_progress: Callable[[int, int], object]) -> None:
    """Copy the rows that are needed to new files: the old ones also have others."""
    places = [about for about in image.places() if "at" in about]
    for place, about in enumerate(places):
        at = RowsAt(*about["at"])
        about["at"] = rows.append(str(Path(at.file).parent), read_rows(folder, at)).as_json()
        on_progress(place + 1, len(places))
    rows.flush()
    rows.close()
