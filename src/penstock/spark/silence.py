"""Silence: what Java, PySpark and py4j would print while a session starts and runs."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseServer
from typing import Any

from pyspark import accumulators
from pyspark.logger import PySparkLogger


@contextmanager
def quiet(noise: bool) -> Iterator[Callable[[], str]]:
    """Redirect the stderr of child processes that start meanwhile to a file; Python keeps its stderr."""
    if noise:
        yield lambda: ""
        return
    with tempfile.TemporaryFile("w+b") as file:
        kept = os.dup(2)
        sys.stderr.flush()
        python_stderr = sys.stderr
        os.dup2(file.fileno(), 2)
        sys.stderr = os.fdopen(os.dup(kept), "w", buffering=1, errors="replace")

        def last_messages() -> str:
            file.seek(0)
            lines = without_stacks(file.read()[-20_000:].decode(errors="replace"))
            return "\nSpark's last messages:\n  " + "\n  ".join(lines[-6:]) if lines else ""

        try:
            yield last_messages
        finally:
            sys.stderr.flush()
            sys.stderr.close()
            sys.stderr = python_stderr
            os.dup2(kept, 2)
            os.close(kept)


def without_stacks(text: str) -> list[str]:
    r"""Return the lines of Java's output, without those of stack traces.

    >>> without_stacks("Exception: no such jar\n\tat org.x.Main(Main.scala:1)\n\t... 3 more\n")
    ['Exception: no such jar']
    """
    lines = [line.rstrip() for line in text.splitlines()]
    return [line[:300] for line in lines if line and not re.match(r"\s+(at |\.\.\. \d+ more)", line)]


@contextmanager
def hushed(noise: bool) -> Iterator[None]:
    """Stop PySpark and py4j from logging errors with stack traces: Penstock reports them in one line."""
    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    loggers = [logging.getLogger("py4j"), *(PySparkLogger.getLogger(name) for name in names)]
    levels = [logger.level for logger in loggers]
    for logger in loggers if not noise else ():
        logger.setLevel(logging.CRITICAL + 1)
    root = logging.getLogger()
    servers: list[Any] = [each for each in vars(accumulators).values() if _is_server(each)]
    if not noise:
        root.addFilter(_is_not_py4j)
        for server in servers:
            server.handle_error = _ignore  # else it prints a stack trace when Java ends first
    try:
        yield
    finally:
        root.removeFilter(_is_not_py4j)
        for server in servers:
            server.handle_error = BaseServer.handle_error
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _is_server(each: object) -> bool:
    """Whether something of PySpark's module is a class of servers."""
    return isinstance(each, type) and issubclass(each, BaseServer) and each.__module__ == accumulators.__name__


def _ignore(server: BaseServer, request: object, address: object) -> None:
    """Do nothing."""


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether a log record is not from py4j, which logs some to the root logger."""
    return Path(record.pathname).parent.name != "py4j"
