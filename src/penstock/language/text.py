"""The text of a script, and error messages that point into it."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

from penstock.errors import ScriptError
from penstock.language.secrets import blanked, masked, secrets_in

LONGEST_LINE = 160
"""Characters of a line that an error shows; of a longer line, it shows the part around the place."""


@dataclass(frozen=True)
class Span:
    """A range of the text: the offset of its first character, and of the one after its last."""

    start: int
    stop: int


@dataclass(frozen=True)
class Text:
    """A script as written, and its name in error messages.

    >>> text = Text("SELECT srx", "a.sql")
    >>> text.fail("there is no column 'srx'.", Span(7, 10))
    Traceback (most recent call last):
    penstock.errors.ScriptError: a.sql:1:8: there is no column 'srx'.
      1 | SELECT srx
        |        ^^^
    """

    content: str
    name: str = "script"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(place + 1 for place, char in enumerate(self.content) if char == "\n")]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both counted from 1."""
        line = bisect_right(self._line_starts, offset) - 1
        return line + 1, offset - self._line_starts[line] + 1

    def fail(self, message: str, span: Span) -> NoReturn:
        """Raise a `ScriptError` with the line and a caret below the span."""
        raise ScriptError(self.pointed(message, span))

    def pointed(self, message: str, span: Span) -> str:
        """Return the message with file, line, column, the line itself and a caret; secrets are not shown."""
        line, column = self.place(min(span.start, len(self.content)))
        start = self._line_starts[line - 1]
        end = self.content.find("\n", start)
        shown = blanked(self.content)[start : end if end >= 0 else len(self.content)].rstrip("\r")
        first = 0 if column <= LONGEST_LINE - 20 else column - LONGEST_LINE // 2
        part = shown[first : first + LONGEST_LINE].replace("\t", " ")
        part = "".join(char if char.isprintable() else "�" for char in part)
        width = max(1, min(span.stop - span.start, len(part) - (column - 1 - first)))
        margin = " " * len(str(line))
        caret = " " * (column - 1 - first) + "^" * width
        message = masked(message, secrets_in(self.content))
        return f"{self.name}:{line}:{column}: {message}\n  {line} | {part}\n  {margin} | {caret}"
