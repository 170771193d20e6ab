"""Checks before a run writes to a folder: what it holds, who wrote it, and whether new results fit."""

from pathlib import Path

import pyarrow as pa

from penstock.errors import RunError
from penstock.language.script import folded
from penstock.sinks.folder_layout import hidden_runs, is_older, staged_in
from penstock.sinks.manifest import Manifest
from penstock.sinks.run_marker import RunMarker
from penstock.sinks.schemas import columns_of

_SHOWN = 5


def check_usable(
    out: Path,
    marker: RunMarker,
    *,
    overwrite: bool,
    append: bool,
    force: bool = False,
    state: str | None = None,
) -> None:
    """Raise an error that says what a folder holds and what can be done, unless a run may write to it."""
    if overwrite and append:
        raise RunError("results are appended or overwritten, not both")
    if out.exists() and not out.is_dir():
        raise RunError(f"{out} is a file; results need a folder")
    if is_older(out):
        raise RunError(
            f"{out} holds results without a manifest, written by an older Penstock: choose another folder, or "
            "remove them yourself. penstock.read can read them"
        )
    if not force:
        marker.check_free()
    manifest = Manifest.read(out)
    if append:
        _check_hidden(out, manifest, state)
    if not manifest.runs or overwrite or append:
        return
    names = list(manifest.queries)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    listed = ", ".join(names[:_SHOWN]) + more
    if marker.since is None:
        raise RunError(
            f"{out} already holds results ({listed}): choose another folder, add to them (--append), "
            "or remove them (--overwrite)"
        )
    waiting = len(staged_in(out))
    unpublished = f"; {waiting:,} file{'s' * (waiting > 1)} not published yet" if waiting else ""
    raise RunError(
        f"{out} holds results of a run that did not finish, started {marker.since} ({listed}{unpublished}): "
        "choose another folder, publish them and add to them (--append), or remove them (--overwrite). "
        "penstock.read can read them as they are"
    )


def _check_hidden(out: Path, manifest: Manifest, state: str | None) -> None:
    """Raise if a run of another state died here, and its next run has to make results visible or to remove them.

    Results of a later run must not be published before that.
    """
    for run in hidden_runs(out):
        owner = manifest.states.get(run)
        if owner is not None and owner != state:
            raise RunError(
                f"{out} has results of a run with --state that did not finish: go on with that state first, "
                "choose another folder, or remove all results (--overwrite)"
            )


class QueryFolders:
    """The folders of queries in an output folder, compared as on file systems that ignore case."""

    def __init__(self, out: Path, manifest: Manifest, *, overwrite: bool) -> None:
        self._out = out
        self._ours = {folded(name): name for name in manifest.queries}
        self._taken = {} if overwrite else dict(self._ours)

    def claim(self, query: str) -> None:
        """Claim the folder of a query; raise an error if another query has it, or Penstock did not write it."""
        key = folded(query)
        other = self._taken.get(key, query)
        if other != query:
            raise RunError(
                f"query {query} would share the folder of query {other} in {self._out} on file systems that "
                "ignore case: give it another name"
            )
        if key not in self._ours and (self._out / query).exists():
            raise RunError(
                f"{self._out / query} already exists and was not written by Penstock: choose another folder for "
                "results, or another name for the query"
            )
        self._ours[key] = self._taken[key] = query


def check_columns(out: Path, query: str, manifest: Manifest, schema: pa.Schema) -> None:
    """Raise an error that names the column if results of a query do not fit those in a folder."""
    there, here = manifest.queries.get(query), columns_of(schema)
    if there is None:
        return
    for name in [*there, *here]:
        if there.get(name) != here.get(name):
            change = f"was {there.get(name, 'missing')} and is now {here.get(name, 'missing')}"
            raise RunError(f"query {query} cannot be appended to its results in {out}: column {name} {change}")
    if list(there) != list(here):
        raise RunError(
            f"query {query} cannot be appended to its results in {out}: the columns were in the order "
            f"{', '.join(there)} and are now in the order {', '.join(here)}"
        )
