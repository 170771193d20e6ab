"""Reader of text files, compressed or not, as lists of records: no file is held as a whole."""

import codecs
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from penstock.errors import RunError
from penstock.formats.layout import Layout

READ_BYTES = 1024 * 1024
"""Bytes read at a time; the most that is lost of a truncated file."""
LONGEST_RECORD = 1_000_000
"""Maximum characters of a record. A longer one is rejected; so is one whose quote is not closed within it."""
BROKEN = "\x00\x00"
"""The prefix of a record that cannot be read: too long, or with a quote that is not closed."""
KEPT = 1000
"""Characters kept of such a record."""
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4"}


@contextmanager
def opened(path: Path) -> Iterator[pa.NativeFile]:
    """Open a file for reading, decompressed by its suffix."""
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
    splitter, skip = Splitter(layout), layout.header_lines
    with opened(path) as stream:
        while True:
            data = stream.read(READ_BYTES)
            records = splitter.feed(decode(data, final=not data), at_end=not data)
            if skip and records:
                records, skip = records[skip:], max(skip - len(records), 0)
            if records:
                yield records
            if splitter.other_fields:
                raise RunError(
                    f"further down, {splitter.other_fields!r} names other columns: split the file there"
                )
            if not data:
                return


class Splitter:
    r"""Splits a text that arrives in parts into records, wherever the parts end.

    >>> splitter = Splitter(Layout("csv", quoted=True))
    >>> splitter.feed('a,1\n\nb,2\r\nc,"x\ny"\nd'), splitter.feed(',"z', at_end=True)
    (['a,1', 'b,2', 'c,"x\ny"'], ['\x00\x00d,"z'])
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._rest = ""
        self._skipping = False
        """Whether the rest of a line that is too long is being skipped."""
        self.other_fields = ""
        """A line that names other fields than the layout; records after it are not returned."""

    def feed(self, text: str, *, at_end: bool = False) -> list[str]:
        """Return the records that are complete by now."""
        text = self._line_ends(self._rest + text, at_end)
        if self._skipping:
            line, found, text = text.partition("\n")
            self._skipping = not found
            text = text if found or not line.endswith("\r") else "\r"
        end = len(text) if at_end else text.rfind("\n") + 1
        lines, partial = text[:end].split("\n"), text[end:]
        pending: list[str] = []
        if self._layout.quoted and self._layout.escape == '"' and '"' in text:
            lines, pending = self._joined(lines if at_end else lines[:-1])
        partial_length = len(partial.removesuffix("\r"))
        while pending and (at_end or _length(pending) + partial_length > LONGEST_RECORD):
            lines.append(broken(pending[0]))
            more, pending = self._joined(pending[1:])
            lines += more
        if not pending and partial_length > LONGEST_RECORD:
            lines.append(broken(partial.removesuffix("\r")))
            self._skipping, partial = True, "\r" if partial.endswith("\r") else ""
        self._rest = "".join(f"{line}\n" for line in pending) + partial
        lines = [broken(line) if len(line) > LONGEST_RECORD and line[:2] != BROKEN else line for line in lines]
        if self._layout.set_separator is not None:  # a Zeek log
            lines = self._up_to_other_fields(lines)
        return without_blanks(lines, self._layout.comment)

    def _up_to_other_fields(self, lines: list[str]) -> list[str]:
        for place, line in enumerate(lines):
            if self._layout.names_others(line):
                self.other_fields = line[:KEPT]
                return lines[:place]
        return lines

    @staticmethod
    def _line_ends(text: str, at_end: bool) -> str:
        """Return the text with uniform line ends; a carriage return at its end may be half of one."""
        if "\r" not in text:
            return text
        held = "\r" if text.endswith("\r") and not at_end else ""
        return text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n") + held

    def _joined(self, lines: Sequence[str]) -> tuple[list[str], list[str]]:
        """Join the lines of records with line ends inside quotes; return the records, and an unfinished one."""
        comment, delimiter = self._layout.comment, self._layout.delimiter
        records: list[str] = []
        pending: list[str] = []
        for place, line in enumerate(lines):
            skipped = comment is not None and not pending and line.startswith(comment)
            if pending and _length(pending) + len(line) > LONGEST_RECORD:
                # The quote is never closed: its own line is bad, and the lines after it are read separately
                more, rest = self._joined([*pending[1:], *lines[place:]])
                return [*records, broken(pending[0]), *more], rest
            if not skipped and (pending or '"' in line) and _ends_in_quotes(line, delimiter, bool(pending)):
                pending.append(line)
            else:
                records.append("\n".join([*pending, line]))
                pending = []
        return records, pending


def _length(lines: Sequence[str]) -> int:
    return sum(map(len, lines)) + len(lines)


def broken(record: str) -> str:
    """Return the beginning of a record that cannot be read, marked as such."""
    return BROKEN + record[:KEPT]


def without_blanks(records: Sequence[str], comment: str | None) -> list[str]:
    """Return the records without empty ones and comments."""
    if comment:
        return [record for record in records if record.strip(" ") and not record.startswith(comment)]
    return [record for record in records if record.strip(" ")]


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
