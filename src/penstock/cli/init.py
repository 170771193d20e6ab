"""`penstock init`: drafts a script that reads given files."""

import os
import re
import shlex
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.style import in_a_folder
from penstock.errors import RunError

_MOST_STREAMS = 20
_MANY = 0.02
"""Share of malformed rows above which the user is warned."""
_NOT_DATA = re.compile(r"(README|LICENSE|NOTES)\b|.*\.(sql|tmp|crc|md)$", re.IGNORECASE)


def init(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE_OR_FOLDER", help="A log, or a folder with logs.", exists=True, show_default=False
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the script here.", callback=in_a_folder),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the script if it exists.")] = False,
) -> None:
    """Inspect data and print a script that reads it: columns, types, the timestamp, and two queries to start with.

    Reads JSON (one object per line), CSV and other separated fields, logs of web servers and Zeek, and Parquet.
    Text files may be compressed with gzip, bzip2, zstd or lz4. Files of a folder whose names begin alike are one
    stream.

    Examples: `penstock init conn.log > conn.sql`;
    `penstock init logs/ --out logs.sql`, then `penstock run logs.sql --drain`
    """
    if out is not None and out.exists() and not overwrite:
        raise typer.BadParameter(f"{out} exists: --overwrite replaces it", param_hint="--out")
    if not (source.is_file() or source.is_dir()):
        raise typer.BadParameter(f"{source} is neither a file nor a folder", param_hint="FILE_OR_FOLDER")
    script = out or Path(f"{source.resolve().name.split('.')[0]}.sql")
    text = drafted(source, script)
    from penstock.language.script import Script

    Script.parse(text, str(script))  # the draft must be a valid script
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"{out} is written. Next: penstock run {shlex.quote(str(out))} --drain", err=True)


def drafted(source: Path, script: Path) -> str:
    """Return the text of a script that reads a file, or the files of a folder."""
    from penstock.formats.detect_format import sampled
    from penstock.formats.draft import Draft, stream_name

    drafts: list[Draft] = []
    left_out: list[str] = []
    groups = {source.name: [source]} if source.is_file() else _groups(source, left_out)
    for pattern, files in groups.items():
        try:
            sample = sampled(files)
            if not sample.rows or not any(key and key.isprintable() for key in sample.columns):
                raise RunError(f"{files[0]}: no row with columns was found")
        except RunError as error:
            if source.is_file():
                raise
            left_out.append(str(error))
            continue
        seen = len(sample.rows) + sample.skipped
        if sample.skipped > _MANY * seen:
            misfits = f"{sample.skipped:,} of {seen:,} rows do not fit the others"
            typer.echo(f"{files[0]}: {misfits}; a run will reject them", err=True)
        name = stream_name(files[0].name)
        if name == "rows":
            name = stream_name(files[0].absolute().parent.name)
        taken = {draft.name.lower() for draft in drafts}
        name = next(each for each in (name, *(f"{name}_{i}" for i in range(2, 1000))) if each.lower() not in taken)
        drafts.append(Draft(name, _beside(files[0].parent / pattern, script), sample))
    if not drafts:
        raise RunError(f"{source}: no file in this folder can be read\n" + "\n".join(left_out))
    title = [
        f"-- Made by: penstock init {shlex.quote(str(source))}",
        f"-- Run it:  penstock run {shlex.quote(str(script))} --drain          reads the files once",
        f"--          penstock run {shlex.quote(str(script))} --out results    also reads new files",
        *(f"-- Left out: {each}" for each in left_out),
        "",
    ]
    title = [" ".join(line.splitlines()) for line in title]
    return "\n".join([*title, *(draft.statements() for draft in drafts)])


def _beside(path: Path, script: Path) -> str:
    """Return a path relative to the folder of the script, where it is looked up first."""
    return str(path) if path.is_absolute() else os.path.relpath(path, script.parent)


def _groups(folder: Path, left_out: list[str]) -> dict[str, list[Path]]:
    """Return the files of a folder, grouped by a pattern that matches those of one kind."""
    there = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    below = [path.name for path in there if path.is_dir()]
    files = [path for path in there if path.is_file() and not _NOT_DATA.match(path.name)]
    if not files:
        hint = f" It has {len(below)} folders; give one of them" if below else ""
        raise RunError(f"{folder}: there is no file in this folder.{hint}")
    left_out += [f"the folder {name}" for name in below]
    kinds: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in files:
        begins = re.match(r"[A-Za-z_]*[A-Za-z]", path.name.split(".")[0])
        ends = [each for each in path.suffixes if not re.fullmatch(r"\.(\d.*|gz|bz2|zstd?|lz4)", each)]
        kinds[begins[0] if begins else "", ends[-1] if ends else ""].append(path)
    if len(kinds) > _MOST_STREAMS:
        raise RunError(f"{folder}: it has {len(kinds)} kinds of files; give one file, or a folder with fewer")
    found: dict[str, list[Path]] = {}
    for (begins_with, ending), mine in kinds.items():
        found |= _patterns(begins_with, ending, mine, there)
    return found


def _patterns(begins: str, ends: str, mine: list[Path], there: list[Path]) -> dict[str, list[Path]]:
    """Return a pattern that matches the files of a kind and no others; else the files one by one."""
    tail = "*" if any(not path.name.endswith(ends) for path in mine) else ""
    for pattern in (f"{begins}*{ends}{tail}", f"{begins}[!A-Za-z_]*{ends.removeprefix('.')}{tail}"):
        if [path for path in there if fnmatchcase(path.name, pattern)] == mine:
            return {pattern: mine}
    return {path.name: [path] for path in mine}
