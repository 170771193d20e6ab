"""Remove old results, unfinished files and empty folders from an output folder."""

import shutil
from pathlib import Path

from penstock.sinks.folder_layout import GROUPS, RECENT, REJECTED, WRITING, parts_in
from penstock.sinks.manifest import Manifest


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
    for kind in ("job-*", "split-*"):
        for folder in (out / WRITING).glob(kind):
            shutil.rmtree(folder, ignore_errors=True)  # a job that nobody waits for may still write there
    _remove_if_empty(out / WRITING)


def remove_staging(out: Path) -> None:
    """Remove the empty folders of unpublished parts."""
    for above in (GROUPS, RECENT, WRITING):
        for folder in [*(out / above).glob("*"), out / above]:
            _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()
