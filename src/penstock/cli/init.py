"""`penstock init`: a script from what files hold, ready to run."""

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
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the script if it is there.")] = False,
) -> None:
    """Look at data and print a script that reads it: columns, types, the time, and two queries to begin with.

    Reads JSON (one object a line), CSV and other separated fields, Zeek's logs and parquet; texts may be packed
    with gzip, bzip2, zstd or lz4. Files of a folder whose names begin alike become one stream.

    Examples: `penstock init conn.log > conn.sql`;
    `penstock init logs/ --out logs.sql`, then `penstock run logs.sql --drain`
    """
    if out is not None and out.exists() and not overwrite:
        raise typer.BadParameter(f"{out} is there already: --overwrite replaces it", param_hint="--out")
    script = out or Path(f"{source.resolve().name.split('.')[0]}.sql")
    text = drafted(source, str(script))
    from penstock.language.script import Script

    Script.parse(text, str(script))  # what is printed can be read
    if out is None:
        typer.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8")
        typer.echo(f"{out} is written. Next: penstock run {shlex.quote(str(out))} --drain", err=True)


def drafted(source: Path, script: str) -> str:
    """Return the text of a script that reads a file or the files of a folder."""
    from penstock.formats.draft import Draft, stream_name
    from penstock.formats.sample import sampled

    drafts: list[Draft] = []
    unread: list[str] = []
    groups = {str(source): [source]} if source.is_file() else _groups(source)
    for path, files in groups.items():
        try:
            sample = sampled(files[0])
        except RunError as error:
            if source.is_file():
                raise
            unread.append(f"-- left out: {error}")
            continue
        name = stream_name(files[0].name)
        if name == "rows":
            name = stream_name(files[0].absolute().parent.name)
        taken = {draft.name.lower() for draft in drafts}
        name = next(each for each in (name, *(f"{name}_{i}" for i in range(2, 1000))) if each.lower() not in taken)
        drafts.append(Draft(name, path, sample))
    if not drafts:
        raise RunError(f"{source}: no file in there can be read\n" + "\n".join(unread))
    title = [
        f"-- Made by: penstock init {shlex.quote(str(source))}",
        f"-- Run it:  penstock run {shlex.quote(script)} --drain            once through what is there",
        f"--          penstock run {shlex.quote(script)} --out results      goes on with what comes, into files",
        "",
    ]
    return "\n".join([*title, *unread, *(draft.statements() for draft in drafts)])


def _groups(folder: Path) -> dict[str, list[Path]]:
    """Return the files of a folder by what finds those of one kind: the folder itself, or a pattern in it."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._")
    files = [path for path in files if path.suffix not in (".sql", ".tmp", ".crc", ".md")]
    if not files:
        below = sum(path.is_dir() for path in folder.iterdir())
        hint = f" It has {below} folders; give one of them" if below else ""
        raise RunError(f"{folder}: there is no file in this folder.{hint}")
    kinds: dict[str, list[Path]] = defaultdict(list)
    for path in files:
        begins = re.match(r"[A-Za-z_]*[A-Za-z]", path.name.split(".")[0])
        kinds[f"{begins[0] if begins else ''}*{''.join(path.suffixes[-2:]) if path.suffixes else ''}"].append(path)
    kinds = _merged(kinds, files)
    if len(kinds) > _MOST_STREAMS:
        raise RunError(f"{folder}: these are {len(kinds)} kinds of files; give one file, or a folder with fewer")
    everything = len(kinds) == 1 and len(next(iter(kinds.values()))) == len(list(_visible(folder)))
    return {str(folder) if everything else str(folder / pattern): found for pattern, found in kinds.items()}


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.name[0] not in "._"]


def _merged(kinds: dict[str, list[Path]], files: list[Path]) -> dict[str, list[Path]]:
    """Return the kinds with patterns that find their own files and no others; else the files one by one."""
    found: dict[str, list[Path]] = {}
    for pattern, mine in kinds.items():
        if [path for path in files if fnmatchcase(path.name, pattern)] == mine:
            found[pattern] = mine
        else:
            found |= {path.name: [path] for path in mine}
    return found
