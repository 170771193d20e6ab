"""The log file of a run: lines with time, level, logger and message, or JSON objects; it rotates by itself."""

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

import typer

from penstock.cli.run.log_lines import Level, Log
from penstock.language.secrets import masked

FILE_BYTES, OLDER_FILES = 10_000_000, 5
"""A file of this size becomes FILE.1; so many older files are kept."""


@contextmanager
def logging_to(path: Path | None, level: Level, form: Log) -> Iterator[None]:
    """Write what Penstock logs to a file while the context lasts; without a path, nowhere."""
    if path is None:
        yield
        return
    try:
        handler = _File(path, maxBytes=FILE_BYTES, backupCount=OLDER_FILES, encoding="utf-8", errors="replace")
    except OSError as error:
        raise typer.BadParameter(
            f"{path} cannot be written: {error.strerror or error}", param_hint="--log-file"
        ) from error
    handler.setFormatter(_AsJson() if form == "json" else _AsText())
    logger = logging.getLogger("penstock")
    before = logger.level
    logger.setLevel(level.upper())
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
        handler.close()


class _File(RotatingFileHandler):
    """A rotating file. If it cannot be written, that is said once, and the run goes on."""

    _is_silent = False

    def handleError(self, record: logging.LogRecord) -> None:
        if not self._is_silent:
            self._is_silent = True
            typer.echo(f"penstock: the log file cannot be written: {sys.exc_info()[1]}", err=True)


class _AsText(logging.Formatter):
    """`2026-01-31T09:30:00.123Z INFO penstock.run: query big ended`."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time_of(record)} {record.levelname} {record.name}: {_text_of(self, record)}"


class _AsJson(logging.Formatter):
    """The same as a JSON object; figures are in it by name."""

    def format(self, record: logging.LogRecord) -> str:
        about = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": _text_of(self, record),
        }
        return json.dumps(about | getattr(record, "figures", {}), ensure_ascii=False, default=str)


def _time_of(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _text_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text += "\n" + formatter.formatException(record.exc_info)
    return masked(text).replace("\n", "\n  ")
