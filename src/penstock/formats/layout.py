"""`Layout`: the record format of a text file: JSON objects, separated fields, or Zeek's tables."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.errors import RunError

USER_WITH_SPACES = r'^(\S+ \S+) ([^"\[]* [^"\[]*) \['
"""Pattern of a web server's log line whose third field, the user, has spaces; for Python and Java."""


@dataclass(frozen=True)
class Layout:
    """The layout of a text file. Files with the same layout are parsed together.

    `names` are the fields in their order; None: the declared columns, or JSON, which has its own names.
    """

    form: str
    names: tuple[str, ...] | None = None
    delimiter: str = ","
    quoted: bool = False
    header_lines: int = 0
    """Records at the beginning of a file that are not rows."""
    null: str | None = None
    comment: str | None = None
    set_separator: str | None = None
    """The separator of elements in a field with several; None: such a field holds JSON."""
    empty_set: str | None = None
    escape: str = '"'
    """The escape character of a quote inside quotes. If it is not the quote itself, a record is one line."""
    brackets: bool = False
    """Whether times are in brackets, as in a web server's log."""

    def with_header(self, beginning: str, file: str) -> "Layout":
        """Return the layout of a file with this beginning."""
        if self.form == "zeek":
            return _zeek(beginning, file)
        if self.form == "csv" and self.header_lines:
            lines = [line for line in lines_of(beginning) if line.strip() and not self._is_comment(line)]
            found = next(csv.reader(lines, delimiter=self.delimiter), [])
            return replace(self, names=tuple(name.strip() for name in found))
        return self

    def names_others(self, line: str) -> bool:
        """Return whether a line of a Zeek log names other fields than its header."""
        found = line.split(self.delimiter) if line.startswith("#fields") else []
        return bool(found) and tuple(filter(None, found[1:])) != self.names

    def _is_comment(self, line: str) -> bool:
        return self.comment is not None and line.startswith(self.comment)


def lines_of(text: str) -> list[str]:
    r"""Return the lines of a text; characters that only Unicode counts as line ends are kept as text.

    >>> lines_of("a\r\nb\u2028c\n")
    ['a', 'b\u2028c', '']
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def layout_of(form: str, options: Mapping[str, Any], *, in_file: bool) -> Layout:
    """Return the layout by the options of a stream or a table; a file's header may add to it."""
    if form == "json":
        return Layout("json", comment=options.get("comment"))
    if form == "zeek":
        return Layout("zeek")
    if form == "clf":
        null = options.get("null", "-")
        return Layout("csv", delimiter=" ", quoted=True, null=null, escape="\\", brackets=True)
    return Layout(
        "csv",
        delimiter=options.get("delimiter", ","),
        quoted=True,
        header_lines=int(in_file and options.get("header", True)),
        null=options.get("null"),
        comment=options.get("comment"),
    )


def _zeek(beginning: str, file: str) -> Layout:
    r"""Return the layout of a Zeek log, which its first lines describe.

    >>> _zeek('#separator \\x09\n#unset_field\t-\n#fields\tts\tuid\n', 'conn.log').names
    ('ts', 'uid')
    """
    told: dict[str, list[str]] = {}
    separator = "\t"
    for line in lines_of(beginning):
        if not line.startswith("#"):
            break
        if line.startswith("#separator "):
            written = line.split(" ", 1)[1].strip()
            if re.fullmatch(r"\\x[0-9a-fA-F]{2}", written):
                written = chr(int(written[2:], 16))
            separator = written if len(written) == 1 else separator
            continue
        key, *values = line[1:].split(separator)
        told[key] = [value for value in values if value]
    told = {key: values for key, values in told.items() if values}
    if "fields" not in told:
        raise RunError(f"{file} is not a Zeek log: it has no #fields line at its beginning. Is its format 'json'?")
    return Layout(
        "csv",
        names=tuple(told["fields"]),
        delimiter=separator,
        null=told.get("unset_field", ["-"])[0],
        comment="#",
        set_separator=told.get("set_separator", [","])[0],
        empty_set=told.get("empty_field", ["(empty)"])[0],
    )
