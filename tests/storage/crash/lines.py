"""Files of a stream: rows as the oracle's files have them, with lines in between that are no rows."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from tests.oracle.datafiles import csv_field, iso, write_parquet

Numbered = Sequence[tuple[int, tuple]]
"""The number of a file, and a line of it."""


def write_lines(
    folder: Path,
    stream: str,
    file_format: str,
    columns: Sequence[tuple[str, str]],
    numbered: Numbered,
    bad: Mapping[int, str],
) -> None:
    """Write the files of a stream, `part-NUMBER`; `bad` says what is wrong with the lines of some ids."""
    folder.mkdir()
    names = [name for name, _ in columns]
    for number, lines in groupby(numbered, key=lambda line: line[0]):
        path = folder / f"part-{number:05d}.{file_format}"
        rows = [row for _, row in lines]
        if file_format == "parquet":
            write_parquet(path, columns, rows)
            continue
        shown = json_line if file_format == "json" else csv_line
        heading = [",".join(names)] if file_format == "csv" else []
        text = [shown(names, row, bad.get(row[0])) for row in rows]
        path.write_text("\n".join([*heading, *text]) + "\n", encoding="utf-8")


def spoilt(names: Sequence[str], row: tuple, wrong: str | None) -> dict:
    """A row by name, with a value that does not fit if something is `wrong`."""
    shown = {name: iso(value) for name, value in zip(names, row, strict=True)}
    if wrong == "type":
        shown["host"] = "nobody"
    elif wrong == "time":
        shown["at"] = "yesterday"
    return shown


def json_line(names: Sequence[str], row: tuple, wrong: str | None) -> str:
    text = json.dumps(spoilt(names, row, wrong))
    return text[: len(text) // 2] if wrong == "cut" else text


def csv_line(names: Sequence[str], row: tuple, wrong: str | None) -> str:
    return ",".join(str(csv_field(value)) for value in spoilt(names, row, wrong).values())
