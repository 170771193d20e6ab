"""Results as sorted lists of tuples: read from a run's output, ordered, and compared."""

import math
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def value_key(value) -> tuple:
    """A total order over everything a column can hold: NULL, booleans, numbers, NaN, strings, timestamps."""
    if value is None:
        return (0,)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, str):
        return (4, value)
    if isinstance(value, datetime):
        return (5, value)
    return (3,) if math.isnan(value) else (2, value)


def sort_key(row: tuple) -> tuple:
    return tuple(value_key(value) for value in row)


def sorted_rows(rows: Iterable[tuple]) -> list[tuple]:
    return sorted(rows, key=sort_key)


def result_files(out_dir: Path | str, query_name: str) -> list[Path]:
    folder = Path(out_dir) / query_name
    return sorted(path for path in folder.glob("*.parquet") if path.name[0] not in "._")


def read_columns(out_dir: Path | str, query_name: str) -> list[str]:
    """The names of the result's columns: the same in all its files, or it is an error."""
    names = {tuple(pq.read_schema(path).names) for path in result_files(out_dir, query_name)}
    if len(names) != 1:
        raise ValueError(f"the files of {query_name} have {len(names)} different headings: {sorted(names)}")
    return list(names.pop())


def read_rows(out_dir: Path | str, query_name: str) -> list[tuple]:
    """The rows in out_dir/NAME/*.parquet, sorted; timestamps as naive UTC. No files: no rows."""
    files = result_files(out_dir, query_name)
    if files:
        read_columns(out_dir, query_name)
    return sorted_rows(row for path in files for row in file_rows(path))


def file_rows(path: Path) -> list[tuple]:
    # One file by itself: a NAME=VALUE in its path must not become a column.
    table = pq.ParquetFile(path, coerce_int96_timestamp_unit="us").read()
    columns = [column_values(column) for column in table.columns]
    return list(zip(*columns, strict=True))


def column_values(column: pa.ChunkedArray) -> list:
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist()
    values = column.cast(pa.timestamp("us", tz=column.type.tz)).to_pylist()
    return [v.astimezone(UTC).replace(tzinfo=None) if v is not None and v.tzinfo else v for v in values]


def difference(expected: list[tuple], got: list[tuple], shown: int = 5) -> str:
    """'' when both hold the same rows equally often; else what is missing and what is too much, a few of each."""
    wanted, found = (Counter(map(comparable, rows)) for rows in (expected, got))
    if wanted == found:
        return ""
    return described(f"{len(expected)} rows expected, {len(got)} got", wanted - found, found - wanted, shown)


def described(heading: str, missing: Counter, too_many: Counter, shown: int) -> str:
    lines = [heading]
    for word, rest in (("missing", missing), ("too many", too_many)):
        if rest:
            lines.append(f"{word}: {rest.total()}")
            rows = sorted(rest.items(), key=lambda item: sort_key(item[0]))
            lines += [f"  {count} × {row!r}" for row, count in rows[:shown]]
            lines += ["  …"] * (len(rows) > shown)
    return "\n".join(lines)


def comparable(row: tuple) -> tuple:
    """Equal for equal rows: one NaN for all, so that it equals itself."""
    return tuple(math.nan if isinstance(value, float) and math.isnan(value) else value for value in row)
