"""A state folder: whether it is ours, whose run it holds, and what was last committed."""

import contextlib
import errno
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.language.script import Script
from penstock.language.source_options import STREAMS
from penstock.language.statements import Relation
from penstock.runtime.change import Change
from penstock.runtime.clock import now_text
from penstock.storage.documents import DamagedError, StateError, encoded, read_document
from penstock.storage.engine_restore import script_after
from penstock.storage.files import NO_ROOM, STOPS_WITHOUT_ROOM, make_folder, replace_file, unfinished_files
from penstock.storage.image import Image
from penstock.storage.journal import CHECKPOINTS, JOURNAL, Journal, Recovered, checkpoint_numbers, recover
from penstock.storage.owner import LOCK, OWNER, FencedError, Owner
from penstock.storage.script_changes import kept_scripts, relation_differences

ABOUT = "penstock-state.json"
"""The file that tells that a folder is a state, and of which run."""


class Folder:
    """A state folder that this process owns."""

    def __init__(self, path: Path, owner: Owner, about: Mapping[str, Any], found: Recovered | None) -> None:
        self.path = path
        self.owner = owner
        self.id = str(about["id"])
        self.notes: list[str] = [] if found is None else list(found.notes)
        """What was wrong and could be mended."""
        self.image = None if found is None else Image.of(found.checkpoint, found.entries)
        """The run as an earlier process left it."""
        self._journal = Journal(path, 0 if found is None else found.last, checkpoint_numbers(path))
        self.base = Script()
        """The script as the run began, with the streams and tables of its latest version."""
        self.script: dict[str, Any] = {}

    @classmethod
    def open(cls, path: Path, *, take_over: bool = False) -> "Folder":
        """Open or create a state folder; raise if it is not usable, and say why."""
        check_local(path)
        path = path.absolute()
        with os_errors(path):
            about = about_of(path)
            if about is None:
                if path.exists() and not _is_new(path):
                    if (path / JOURNAL).is_dir():
                        raise DamagedError(f"{ABOUT} is missing")
                    raise StateError(
                        f"{path} is not a state of Penstock, and not empty: --state needs a new or an empty folder"
                    )
                make_folder(path)
            owner = Owner.claim(path, now_text(), take_over=take_over)
            try:
                if about is None:
                    about = {"id": uuid.uuid4().hex, "created": now_text()}
                    replace_file(path / ABOUT, encoded("state", about))
                if not take_over:  # else the other process may be writing one
                    _remove_unfinished(path)
                found = _recovered(path, owner)
                if take_over:
                    found = _fenced(path, owner, found)
                return cls(path, owner, about, found)
            except BaseException:
                owner.release()
                raise

    # The script ---------------------------------------------------------------------------------------------

    def begin(self, script: Script) -> Script:
        """Take the script of a first run."""
        self._keep(script.text, script)
        self.base = script
        return script

    def go_on(self, script: Script) -> tuple[Script, Script, Script]:
        """Return the script that runs and the two versions of its file, before and now; raise if streams changed.

        New streams and tables are added. Settings that changed in the file apply; those that were set while it
        ran stay otherwise.
        """
        assert self.image is not None
        old, before = kept_scripts(self.image, script.folder, script)
        self._check_relations(old, script)
        self.base = replace(
            old,
            streams={**old.streams, **script.streams},
            tables={**old.tables, **script.tables},
            name=script.name,
        )
        changed = {name: value for name, value in script.settings.items() if before.settings.get(name) != value}
        removed = before.settings.keys() - script.settings.keys()
        kept = [c for c in self.image.engine["changes"] if c["kind"] != "set" or c["name"] not in removed]
        self.image.engine["changes"] = [
            *kept,
            *(Change("set", name, value=value).as_dict() for name, value in changed.items()),
        ]
        running, _, _ = script_after(self.base, self.image)
        self.notes += _drained_joins(running, self.image.run.get("ended", ()))
        settings = {**script.settings, **self._set_while_running(), **self._planned(old, script)}
        self._keep(self.image.script["text"], script)
        return replace(running, settings=settings, folder=script.folder), before, script

    def _planned(self, old: Script, script: Script) -> dict[str, Any]:
        """Return the settings that decide the plan: those of the first run, as its queues are in the state."""
        first = old.settings.get("groups", True)
        if script.settings.get("groups", True) != first:
            self.notes.append(
                f"groups stay {'on' if first else 'off'}, as this state began: SET groups applies to a new state"
            )
        return {"groups": first}

    def _keep(self, first: str, script: Script) -> None:
        self.script = {"text": first, "latest": script.text, "name": script.name}

    def _set_while_running(self) -> dict[str, Any]:
        assert self.image is not None
        return {each["name"]: each["value"] for each in self.image.engine["changes"] if each["kind"] == "set"}

    def _check_relations(self, before: Script, now: Script) -> None:
        old: dict[str, Relation] = {**before.streams, **before.tables}
        new: dict[str, Relation] = {**now.streams, **now.tables}
        differences = relation_differences(old, new)
        if differences:
            raise StateError(
                f"the state {self.path} is of a script with other streams or tables:\n  "
                + "\n  ".join(differences)
                + "\nqueries and settings may change between runs, streams and tables may only be added; "
                "for another script, choose another folder for --state"
            )

    # Writing ------------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last entry."""
        return self._journal.last

    def append(self, entry: Mapping[str, Any]) -> int:
        """Commit an entry, and return its bytes; raise if another process did so instead."""
        try:
            return self._journal.append(entry)
        except FileExistsError as error:
            self.owner.check()
            raise FencedError(f"another process writes to the state {self.path}: this one stops") from error

    def checkpoint(self, body: Mapping[str, Any]) -> None:
        """Write everything, and remove what is older than the checkpoint before."""
        self._journal.checkpoint(body)
        self.owner.check()  # before anything is removed
        self._journal.prune()

    def prune_all(self) -> None:
        """Remove what is older than the newest checkpoint."""
        self._journal.prune(keep=1)

    @contextlib.contextmanager
    def os_errors(self) -> Iterator[None]:
        """Turn errors of the disk into sentences; raise if they come from another process that took over."""
        with os_errors(self.path):
            try:
                yield
            except (FileNotFoundError, FileExistsError):
                self.owner.check()
                raise


def _drained_joins(script: Script, ended: Iterable[str]) -> Iterator[str]:
    """Say of which streams joins may lack results: --drain ended them, and more of their rows may come."""
    joined = {
        item.relation.name for query in script.queries.values() if len(query.streams) > 1 for item in query.streams
    }
    for name in ended:
        if name in joined and not STREAMS[script.streams[name].source].makes_rows:
            yield (
                f"{name} had ended in the last run (--drain does that), and joins waited no more for its rows: "
                f"rows of {name} that come now do not meet newer rows of other streams that were read before"
            )


def _recovered(path: Path, owner: Owner) -> Recovered | None:
    """Read the newest state; set damaged files aside."""
    found = recover(path)
    if found is not None:
        for damaged in found.damaged:
            damaged.rename(damaged.with_suffix(".damaged"))
        owner.follow(max(each["run"]["epoch"] for each in (found.checkpoint, *found.entries)))
    return found


def _fenced(path: Path, owner: Owner, found: Recovered | None) -> Recovered | None:
    """Commit an entry of the new epoch, and return the state with it.

    Then a process from which the folder was taken can commit nothing more, whatever it was about to do. From now
    on files that no entry names can be removed.
    """
    is_ours = False
    while found is not None and not is_ours:
        try:
            Journal(path, found.last).append({"run": {"epoch": owner.epoch}})
            is_ours = True
        except FileExistsError:  # it was faster
            owner.check()
        found = _recovered(path, owner)
    return found


def check_local(path: Path) -> None:
    """Raise if a path is on a file system that gives no promises that a state needs."""
    text = str(path)
    if ":/" in text and not text.startswith("/"):
        raise StateError(
            f"a state cannot be on {text}: it needs files that can be renamed, flushed and locked, and Spark's "
            "public interface to other file systems has none of these; choose a folder of this machine, or one "
            "that is mounted here"
        )


def check_apart(state: Path, results: Path) -> None:
    """Raise if the folder of a state has that of its results in it, or the other way round."""
    one, other = state.resolve(), results.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        raise StateError(
            f"the state {state} and the folder for results {results} are one inside the other: choose folders "
            "beside each other"
        )


def _is_new(path: Path) -> bool:
    """Whether a folder has nothing but what a process leaves that dies when it begins a state."""
    begun = {LOCK, OWNER, *(each.name for each in unfinished_files(path))}
    return path.is_dir() and all(each.name in begun for each in path.iterdir())


def _remove_unfinished(path: Path) -> None:
    for folder in (path, path / JOURNAL, path / CHECKPOINTS):
        for each in unfinished_files(folder):
            each.unlink(missing_ok=True)


def about_of(path: Path) -> dict[str, Any] | None:
    """Return what a state folder says of itself; None if it is no state folder."""
    try:
        return read_document("state", path / ABOUT)
    except (FileNotFoundError, NotADirectoryError):
        if path.exists() and not path.is_dir():
            raise StateError(f"{path} is a file; --state needs a folder") from None
        return None


@contextlib.contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into sentences, and say what to do about damage."""
    try:
        yield
    except DamagedError as error:
        raise StateError(
            f"the state {path} is damaged: {error}; restore a backup of the state and of its results, or begin a "
            "new state and a new folder for results"
        ) from error
    except OSError as error:
        raise StateError(_explained(path, error)) from error


def _explained(path: Path, error: OSError) -> str:
    if error.errno in NO_ROOM:
        return f"no room is left for the state {path} or its results: {STOPS_WITHOUT_ROOM}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"the state {path} cannot be written: {error.strerror} ({error.filename or path})"
    if error.errno == errno.ENOENT and not (path / ABOUT).exists():
        return f"the state folder {path} was removed while the run used it"
    return f"the state {path} cannot be used: {error.strerror or error} ({error.filename or path})"
