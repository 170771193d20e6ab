"""Detection of a file's format, and a sample of several files of one format."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from penstock.errors import RunError
from penstock.formats.sample import FileSample, json_sample, parquet_sample, zeek_sample
from penstock.formats.separated import sampled_fields
from penstock.formats.texts import first_lines

MOST_ROWS = 50_000
"""The maximum number of rows in a sample."""
_MOST_FILES = 5


def sampled(paths: Sequence[Path]) -> FileSample:
    """Return a sample of files of one format, the first ones and the last; raise `RunError` if unreadable."""
    chosen = paths if len(paths) <= _MOST_FILES else [*paths[: _MOST_FILES - 2], *paths[-2:]]
    found = _sampled(chosen[0], MOST_ROWS // len(chosen))
    for path in chosen[1:]:
        try:
            other = _sampled(path, MOST_ROWS // len(chosen))
        except RunError:
            continue  # a run reports what is wrong with a row or a file
        if other.form == found.form and (found.form == "json" or set(other.columns) & set(found.columns)):
            found = found.with_more(other)
    return replace(found, has_more=found.has_more or len(chosen) < len(paths))


def _sampled(path: Path, most: int) -> FileSample:
    try:
        found = _sample(path, most)
    except RunError as error:
        raise (error if str(error).startswith(f"{path}: ") else RunError(f"{path}: {error}")) from error
    return replace(found, has_more=len(found.rows) + found.skipped >= most)


def _sample(path: Path, most: int) -> FileSample:
    if path.suffix.lower() in (".parquet", ".parq", ".pq") or _begins(path, b"PAR1"):
        return parquet_sample(path, most)
    text = first_lines(path)
    if not text.strip():
        raise RunError(f"{path}: the file is empty, so its columns cannot be inferred")
    if "\x00" in text[:1000]:
        raise RunError(f"{path}: this is neither text nor parquet")
    if text.startswith("#separator") or "\n#fields\t" in text[:5000]:
        return zeek_sample(path, text, most)
    if text.lstrip()[:1] in "{[":
        return json_sample(path, most)
    return sampled_fields(path, text, most)


def _begins(path: Path, sign: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(sign)) == sign
