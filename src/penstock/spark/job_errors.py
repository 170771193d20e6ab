"""Errors of Spark in one line, for users."""

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

from penstock.errors import RunError
from penstock.language.secrets import masked

_FULL = ("No space left on device", "Disk quota exceeded")
"""What operating systems say when a disk is full."""

_HINTS = {"INVALID_ARRAY_INDEX": "; get(array, index) returns NULL instead"}
"""What a script can do about some of Spark's errors, by error condition."""


def check_room(error: BaseException) -> None:
    """Raise `RunError` if a disk is full: that is the fault of no query and of no file.

    >>> check_room(RuntimeError("Job aborted: java.io.IOException: No space left on device"))
    Traceback (most recent call last):
    ...
    penstock.errors.RunError: no room is left on a disk that Spark writes to: make room, and start again
    """
    if any(text in str(error) for text in _FULL):
        raise RunError("no room is left on a disk that Spark writes to: make room, and start again") from error


def unreadable_file(error: BaseException) -> Path | None:
    """Return the file that a job could not read, if that is why it failed.

    >>> unreadable_file(RuntimeError("[FAILED_READ_FILE.X] error while reading file file:///a%20b/c.parquet. Y"))
    PosixPath('/a b/c.parquet')
    """
    found = re.search(r"FAILED_READ_FILE.*? reading file (\S+)\.(?:\s|$)", str(error), re.DOTALL)
    return Path(unquote(urlparse(found[1]).path)) if found else None


def explained(error: BaseException) -> str:
    r"""Return what went wrong in a job in one line: Spark's message and error condition, or the first cause.

    Secrets of scripts and sessions are not shown.

    >>> explained(RuntimeError("awaitResult:\nCaused by: org.Job: aborted\nCaused by: java.Syntax: no ]\n[\n^"))
    'no ]'
    """
    text = masked(str(error))
    found = re.search(r"\[([A-Z_0-9.]+)\]\s*([^\n]*)", text)
    if found is None:
        causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
        return causes[-1][:350] if causes else _short(text, error)
    # The rest is advice on functions and settings that a script does not have
    message = re.split(r" (?:Use|To tolerate|If necessary) |, (?:use|set) `| SQLSTATE", found[2])[0].strip()
    return f"{message[:350]} [{found[1]}]{_HINTS.get(found[1], '')}"


def _short(text: str, error: BaseException) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        return re.sub(r"^: (?:[\w$]+\.)+[\w$]+: ", "", lines[1])[:300]  # Java's message, without its class
    return (lines[0] if lines else type(error).__name__)[:300]
