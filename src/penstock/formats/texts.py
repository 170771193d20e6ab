"""Text files as blocks of records, packed or not: no file is ever held as a whole."""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from penstock.errors import RunError
from penstock.formats.layout import Layout

READ_BYTES = 1024 * 1024
"""What is read of a file at a time; of one that breaks off, so much is lost at most."""
LONGEST_RECORD = 1_000_000
"""Characters of one record; a longer one is cut, and then does not fit."""
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4"}


@contextmanager
def opened(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for reading, unpacked according to its suffix."""
    try:
        with pa.input_stream(str(path), compression=PACKED.get(path.suffix.lower())) as stream:
            yield stream
    except OSError as error:
        raise RunError(error.strerror or str(error)) from error


def first_lines(path: Path, most: int = 100_000) -> str:
    """Return the beginning of a file, for its header."""
    with opened(path) as stream:
        return str(stream.read(most).decode("utf-8-sig", errors="replace"))


def records_of(path: Path, layout: Layout) -> Iterator[list[str]]:
    """Return the records of a file in lists, in order, without header, comments and blank lines."""
    decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
    rest, skip = "", layout.header_lines
    with opened(path) as stream:
        while True:
            data = stream.read(READ_BYTES)
            text = rest + decode(data, final=not data)
            records, rest = split_records(text, layout, at_end=not data) if text else ([], "")
            if skip and records:
                records, skip = records[skip:], max(skip - len(records), 0)
            if records:
                yield records
            if not data:
                return


def split_records(text: str, layout: Layout, *, at_end: bool) -> tuple[list[str], str]:
    r"""Return the whole records at the beginning of a text, and what is left of it.

    >>> split_records('a,1\n\nb,2\r\nc', Layout("csv"), at_end=False)
    (['a,1', 'b,2'], 'c')
    >>> split_records('a,"x\ny"\nb,"z\n', Layout("csv", quoted=True), at_end=False)
    (['a,"x\ny"'], 'b,"z\n')
    """
    if "\r" in text:
        # A carriage return alone ends a line, too; at the end it may be the first half of one
        held = "\r" if text.endswith("\r") and not at_end else ""
        text = text.removesuffix("\r") if held else text
        text = text.replace("\r\n", "\n").replace("\r", "\n") + held
    end = len(text) if at_end else text.rfind("\n") + 1
    lines, rest = text[:end].split("\n"), text[end:]
    if layout.quoted and '"' in text:
        lines, unfinished = _joined(lines, layout, at_end=at_end)
        rest = unfinished + rest
    if len(rest) > LONGEST_RECORD and not at_end:
        lines, rest = [*lines, rest[:LONGEST_RECORD]], ""
    return without_blanks(lines, layout.comment), rest


def without_blanks(records: Sequence[str], comment: str | None) -> list[str]:
    """Return the records without empty ones and comments."""
    if comment:
        return [record for record in records if record.strip() and not record.startswith(comment)]
    return [record for record in records if record.strip()]


def _joined(lines: Sequence[str], layout: Layout, *, at_end: bool) -> tuple[list[str], str]:
    """Join the lines of records whose quoted fields hold line ends; return these, and an unfinished record."""
    records: list[str] = []
    pending: list[str] = []
    for line in lines[:-1] if not lines[-1] else lines:
        skipped = layout.comment is not None and not pending and line.startswith(layout.comment)
        if not skipped and (pending or '"' in line) and _ends_in_quotes(line, layout.delimiter, bool(pending)):
            pending.append(line)
            if sum(map(len, pending)) > LONGEST_RECORD:  # a quote that nobody closes: its line alone is wrong
                records += pending
                pending = []
        else:
            records.append("\n".join([*pending, line]))
            pending = []
    if at_end:
        return records + pending, ""
    return records, "".join(f"{line}\n" for line in pending)


def _ends_in_quotes(line: str, delimiter: str, inside: bool) -> bool:
    """Return whether a line ends inside a quoted field. A quote opens one only where a field begins."""
    place = 0
    while True:
        if inside:
            place = line.find('"', place)
            while place >= 0 and line[place + 1 : place + 2] == '"':
                place = line.find('"', place + 2)
            if place < 0:
                return True
            inside = False
        elif line[place : place + 1] == '"':
            inside, place = True, place + 1
            continue
        place = line.find(delimiter, place)
        if place < 0:
            return False
        place += 1
