"""Lines of a text file as executors read them, and whether these are the records that the driver would read."""

import re
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.formats.layout import Layout, lines_of
from penstock.formats.texts import KEPT, LONGEST_RECORD, PACKED, first_lines
from penstock.spark.paths import literal_path
from penstock.spark.sources.text_parser import LINE, escaped

BLOCK = "__block"
"""The column with the place in the file, in bytes, where a task began to read."""
_NUMBER = "__number"
_READ_BY_HADOOP = (".gz", ".bz2")
_OTHER_CODECS = (".deflate", ".snappy", ".passthrough", *PACKED)
_BEGINNING = 100_000
_PROBE_STEP, _PROBE_BYTES = 32 * 1024 * 1024, 64 * 1024


@dataclass(frozen=True)
class Beginning:
    """What the driver reads of a file: the line that is its header, and how Zeek names its fields."""

    header_line: int | None = None
    fields: str = ""


def is_readable(path: Path) -> bool:
    """Return whether executors can read a file by lines: its name, its codec, and no line fills their memory."""
    suffix = path.suffix
    if path.name.startswith((".", "_")) or path.name.endswith("._COPYING_"):
        return False  # Spark reads no rows from such a file
    if suffix not in _READ_BY_HADOOP and suffix.lower() in _OTHER_CODECS:
        return False
    return not _has_long_lines(path)


def is_packed(path: Path) -> bool:
    """Return whether the name of a file says that it is compressed, or another file's codec."""
    return path.suffix.lower() in (*_READ_BY_HADOOP, *_OTHER_CODECS)


def _has_long_lines(path: Path) -> bool:
    """Return whether a line may be far longer than a record: an executor would hold it as a whole.

    Looks for a line end every 32 MB; only the beginning of a packed file is examined.
    """
    most = 4 * LONGEST_RECORD
    if path.suffix in _READ_BY_HADOOP:
        beginning = first_lines(path, most)
        return len(beginning) >= LONGEST_RECORD and not {"\n", "\r"} & set(beginning)
    size = path.stat().st_size
    with path.open("rb") as file:
        for place in range(0, size - most, _PROBE_STEP):
            file.seek(place)
            seen = 0
            while True:
                data = file.read(_PROBE_BYTES)
                if b"\n" in data or b"\r" in data:
                    break
                seen += len(data)
                if seen > most or not data:
                    return True
    return False


def beginning_of(path: Path, layout: Layout) -> Beginning | None:
    """Return what the beginning of a file says; None if it is empty, or its header is not found there."""
    text = first_lines(path, _BEGINNING)
    lines = lines_of(text)
    if len(text) >= _BEGINNING // 4:  # the last line may be cut
        lines.pop()
    if not text.strip() or layout.header_lines > 1:
        return None
    header = None
    if layout.header_lines:
        comment = layout.comment
        rows = (
            place
            for place, line in enumerate(lines)
            if line.strip(" ") and not (comment and line.startswith(comment))
        )
        header = next(rows, None)
        if header is None:
            return None
    fields = next((line for line in lines if line.startswith("#fields")), "")
    return Beginning(header, fields if layout.set_separator is not None else "")


def lines_frame(spark: SparkSession, path: Path, beginning: Beginning) -> DataFrame:
    """Return the lines of a file as their bytes are, in ``value``, with ``__block``."""
    reader = spark.read.option("ignoreCorruptFiles", "false").option("ignoreMissingFiles", "false")
    columns = ["value", f"_metadata.file_block_start AS {BLOCK}"]
    if beginning.header_line is not None:
        columns.append(f"monotonically_increasing_id() AS {_NUMBER}")
    return reader.text(literal_path(path)).selectExpr(*columns)


def metrics(layout: Layout, beginning: Beginning) -> list[SparkColumn]:
    """Return what is observed of the lines: headers found, and lines that are not records by themselves."""
    found = []
    if beginning.header_line is not None:
        found.append(F.expr(f"count_if({_is_header(beginning.header_line)}) AS headers"))
    joined = _is_joined(layout, beginning)
    if joined is not None:
        found.append(F.expr(f"count_if({joined}) AS joined"))
    return found


def records_frame(frame: DataFrame, layout: Layout, beginning: Beginning) -> DataFrame:
    """Return the records of a file in ``__line``: no header, comments and blank lines; long ones are marked.

    Bytes that are not UTF-8 are replaced. Lines are filtered before that, as it is written once in the plan.
    """
    text = "make_valid_utf8(value)"
    is_long = f"octet_length(value) > {LONGEST_RECORD} AND length({text}) > {LONGEST_RECORD}"
    is_row = "trim(value) <> ''"
    if layout.comment:
        is_row += f" AND NOT {_is_comment(layout.comment)}"
    if beginning.header_line is not None:
        frame = frame.where(f"NOT ({_is_header(beginning.header_line)})")
    marked = f"CASE WHEN {is_long} THEN concat('\\0\\0', left({text}, {KEPT})) ELSE {text} END AS {LINE}"
    return frame.where(f"{is_row} OR {is_long}").selectExpr(marked, BLOCK)


def _is_header(line: int) -> str:
    """Return the SQL of the header: the line of this number in the task that reads the beginning."""
    return f"{BLOCK} = 0 AND {_NUMBER} = {line}"


def _is_comment(comment: str) -> str:
    return f"startswith(value, '{escaped(comment)}')"


def _is_joined(layout: Layout, beginning: Beginning) -> str | None:
    """Return the SQL of a line that `Splitter` would not return alone and unchanged; None if there is none."""
    if layout.set_separator is not None:
        return f"startswith(value, '#fields') AND value <> '{escaped(beginning.fields)}'"
    if not layout.quoted or layout.escape != '"':
        return None
    is_open = f"NOT value RLIKE '{escaped(closed_quotes(layout.delimiter))}'"
    sql = f"contains(value, '\"') AND (octet_length(value) > {LONGEST_RECORD} OR {is_open})"
    return f"{sql} AND NOT {_is_comment(layout.comment)}" if layout.comment else sql


def closed_quotes(delimiter: str) -> str:
    r"""Return the pattern of a line in which every quoted field ends; a quote opens one only where a field begins.

    All repetitions are possessive: Java then needs no stack for them, however long a line is.

    >>> import re
    >>> [bool(re.search(closed_quotes(","), line)) for line in ('a,"b""c", d', 'x"y,"z', 'q"q')]
    [True, False, True]
    """
    sign = re.escape(delimiter)
    field = f'(?:"(?:[^"]++|"")*+"[^{sign}]*+|(?!")[^{sign}]*+)'
    return f"^{field}(?:{sign}{field})*+(?![\\s\\S])"
