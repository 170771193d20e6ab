"""Results and the times of their commits, read from the output files of both systems.

A result is out when its file is committed. Stock's file sink commits a micro-batch with a manifest in
`_spark_metadata` that lists its files; a batch written inside foreachBatch is committed with its `_SUCCESS`;
Penstock renames a file into place. The time is that of the manifest, the marker, or the rename.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.bench.weighted_statistics import Counts, Responses, responses
from penstock.plan.group import QUERY
from penstock.sinks.folder_layout import staged_in


@dataclass(frozen=True)
class CommittedFile:
    """A file of results, and when it was committed; `by` is the column that tells queries apart, if it has one."""

    path: Path
    committed: float
    query: str = ""
    by: str | None = None


@dataclass(frozen=True)
class ResultFile:
    """A file of results: its commit time, rows by query, and arrival times with their counts."""

    committed: float
    counts: Mapping[str, int]
    sent_us: Counts
    weights: Counts


def manifests(folder: Path) -> dict[str, float]:
    """Return the names of a file sink's files, each with the time of its commit.

    Every tenth manifest is compacted: it lists the files of the ones before as well, so the earliest counts.
    """
    found: dict[str, float] = {}
    for manifest in (folder / "_spark_metadata").glob("[0-9]*"):
        committed = manifest.stat().st_mtime
        for line in manifest.read_text().splitlines()[1:]:  # the first has the version
            name = Path(unquote(urlparse(json.loads(line)["path"]).path)).name
            found[name] = min(found.get(name, committed), committed)
    return found


def one_each_files(out: Path) -> Iterator[CommittedFile]:
    """Yield the files that stock queries wrote, a folder each."""
    for folder in sorted(out.iterdir()):
        for name, committed in manifests(folder).items():
            yield CommittedFile(folder / name, committed, folder.name)


def grouped_files(out: Path) -> Iterator[CommittedFile]:
    """Yield the files that one stock query wrote for all, told apart by a column `q`."""
    for name, committed in manifests(out / "all").items():
        yield CommittedFile(out / "all" / name, committed, by="q")


def fan_out_files(out: Path) -> Iterator[CommittedFile]:
    """Yield the files that foreachBatch wrote: a folder for every query and batch."""
    for marker in sorted(out.glob("*/batch=*/_SUCCESS")):
        committed = marker.stat().st_mtime
        for file in marker.parent.glob("*.parquet"):
            yield CommittedFile(file, committed, marker.parent.parent.name)


def penstock_files(out: Path) -> Iterator[CommittedFile]:
    """Yield the files that Penstock's jobs wrote: of groups, told apart by a column, and of single queries.

    They are published to the folders of queries at the end; those copies do not count. A file gets its time of
    change when it is renamed: with a state that is later than the time at which it was written.
    """
    for staged in staged_in(out):
        committed = renamed_s(staged.path)
        if staged.place is None:
            yield CommittedFile(staged.path, committed, by=QUERY)
        else:
            yield CommittedFile(staged.path, committed, staged.place)


def renamed_s(path: Path) -> float:
    """Return when a file was renamed to its place, if nothing else was changed since."""
    return path.stat().st_ctime


def one_each(out: Path) -> Iterator[ResultFile]:
    """Yield what stock queries wrote, a folder each."""
    return map(_read, one_each_files(out))


def grouped(out: Path) -> Iterator[ResultFile]:
    """Yield what one stock query wrote for all."""
    return map(_read, grouped_files(out))


def fan_out(out: Path) -> Iterator[ResultFile]:
    """Yield what foreachBatch wrote."""
    return map(_read, fan_out_files(out))


def penstock(out: Path) -> Iterator[ResultFile]:
    """Yield what Penstock's jobs wrote."""
    return map(_read, penstock_files(out))


READERS: Mapping[str, Callable[[Path], Iterator[ResultFile]]] = {
    "each-fifo": one_each,
    "each-fair": one_each,
    "fan-out": fan_out,
    "grouped": grouped,
    "penstock": penstock,
    "penstock-state": penstock,
}
"""How to read the results of each system."""


def _read(file: CommittedFile) -> ResultFile:
    columns = ["sent"] if file.by is None else ["sent", file.by]
    # Read as a file, not as a data set: the name of a folder above it must not become a column
    table = pq.ParquetFile(file.path).read(columns=columns)
    values, weights = np.unique(table.column("sent").to_numpy(), return_counts=True)
    if file.by is None:
        counts = {file.query: table.num_rows}
    else:
        pairs = pc.value_counts(table.column(file.by)).to_pylist()
        counts = {_name(pair["values"]): pair["counts"] for pair in pairs}
    return ResultFile(file.committed, counts, values.astype(np.int64), weights.astype(np.int64))


def _name(value: int | str) -> str:
    return value if isinstance(value, str) else f"q{value}"


def totals(outputs: list[ResultFile]) -> dict[str, int]:
    """Return the number of results by query."""
    found: dict[str, int] = {}
    for output in outputs:
        for query, count in output.counts.items():
            found[query] = found.get(query, 0) + count
    return found


def between(outputs: list[ResultFile], start: float, end: float) -> list[ResultFile]:
    """Return the files that were committed from `start` on and before `end`."""
    return [output for output in outputs if start <= output.committed < end]


def responses_since(outputs: list[ResultFile], start: float, sent_us: int = 0) -> Responses:
    """Return how long results took from the arrival of their rows: at `start` those whose `sent` is `sent_us`."""
    if not outputs:
        return Responses(0)
    values = [output.committed - start - (output.sent_us - sent_us) / 1e6 for output in outputs]
    return responses(np.concatenate(values), np.concatenate([output.weights for output in outputs]))
