"""`penstock warm`: makes the archive of Java's classes, so that Spark starts faster."""

import json
import time
from typing import Annotated, Any

import typer

from penstock.cli.options import AsJson
from penstock.cli.signals import Signals
from penstock.cli.style import size, spinner
from penstock.errors import RunError


def warm(
    remove: Annotated[bool, typer.Option("--remove", help="Remove all archives.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what there is, and make nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make an archive of Spark's classes in the cache folder: then `penstock run` starts faster.

    Java loads the archive instead of hundreds of jars. It takes about 160 MB, and a minute or two to make.
    `penstock run` makes it in the background after a first run; PENSTOCK_CLASS_ARCHIVE=off prevents that.

    Examples: `penstock warm`; `penstock warm --dry-run --json`; `penstock warm --remove`
    """
    if remove and dry_run:
        raise typer.BadParameter("--remove and --dry-run cannot be combined", param_hint="--dry-run")
    found, text = _removed() if remove else _present() if dry_run else _made()
    typer.echo(json.dumps(found, indent=2) if as_json else text)


def _removed() -> tuple[dict[str, Any], str]:
    from penstock.spark.archive_making import remove_all
    from penstock.spark.class_archive import archives_folder

    freed = remove_all()
    found = {"state": "removed", "folder": str(archives_folder()), "bytes": freed}
    return found, f"{size(freed)} removed from {archives_folder()}"


def _present() -> tuple[dict[str, Any], str]:
    from penstock.spark.archive_state import archive_state

    found = archive_state()
    state = {"state": found.state, "folder": found.folder, "bytes": found.size, "reason": found.reason}
    return state, found.text


def _made() -> tuple[dict[str, Any], str]:
    from penstock.spark.archive_making import make_archive
    from penstock.spark.archive_state import archive_state

    had = archive_state().state == "ready"
    start = time.monotonic()
    try:
        with Signals(), spinner("making an archive of Spark's classes …") as change:
            path = make_archive(lambda text: change(f"{text} …"))
    except OSError as error:
        raise RunError(f"no archive can be made: {error}") from error
    took, count = time.monotonic() - start, path.stat().st_size
    found = {"state": "ready", "folder": str(path.parent), "bytes": count, "made": not had, "seconds": took}
    what = "there is an archive of" if had else f"made in {took:.0f} s:"
    return found, f"{what} {size(count)} in {path.parent}"
