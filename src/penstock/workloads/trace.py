"""Recorded arrivals: the times in a column of a Parquet or CSV file.

    time of row i = (value i − value 1) × unit × own rate ÷ rate        own rate = (rows − 1) ÷ (last − first)

The papers' real streams are of this kind: DEC-PKT in BBDM03, LBL-PKT-4 in SCLP08.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike

from penstock.errors import ArrivalError
from penstock.workloads.arrivals import Times
from penstock.workloads.checks import rate_of
from penstock.workloads.timefile import TimeFile


@dataclass(frozen=True)
class Trace:
    r"""The arrivals in the file at `path`, from 0 on, faster or slower so that their average rate is `rate`.

    Timestamps, dates and durations carry their unit. Numbers are seconds, unless the name of the column ends in
    ``_ns``, ``_us``, ``_ms`` or ``_s``. Without `column`, it is the one named time, else the first one of
    numbers or timestamps. With `repeat` the trace starts again one average gap after its end. The file is read
    once when the trace is built, to check it, and then in batches: it may be larger than memory.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from penstock.workloads import take
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "packets.csv")
    ...     _ = file.write_text("host,seen_ms\na,5000\nb,5100\na,5400\n")
    ...     trace = Trace(file, repeat=True)
    ...     trace.column, trace.rate, take(trace, seed=0, count=5).tolist()
    ...     take(Trace(file, rate=50), seed=0, count=5).tolist()
    ('seen_ms', 5.0, [0.0, 0.1, 0.4, 0.6, 0.7])
    [0.0, 0.01, 0.04]
    """

    path: str | PathLike[str]
    column: str | None = None
    rate: float | None = None
    repeat: bool = False
    count: int = field(init=False)
    speed: float = field(init=False, repr=False)
    _file: TimeFile = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        file = TimeFile.found(self.path, self.column)
        rate = None if self.rate is None else rate_of(self.rate, f"the trace {file.path}")
        count, span = 0, 0.0
        for times in file.batches():
            count += len(times)
            span = float(times[-1])
        own_rate = (count - 1) / span if span else None
        if count == 0:
            raise ArrivalError(f"the trace {file.path} is empty: column {file.column!r} has no rows")
        if own_rate is None and (self.repeat or rate) and not (count == 1 and rate):
            raise ArrivalError(
                f"the trace {file.path} has all its {count} arrivals at one time, "
                "so it has no rate at which it could be scaled or repeated"
            )
        object.__setattr__(self, "path", file.path)
        object.__setattr__(self, "column", file.column)
        object.__setattr__(self, "rate", rate or own_rate)
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "speed", rate / own_rate if own_rate and rate else 1.0)
        object.__setattr__(self, "_file", file)

    def batches(self, seed: int) -> Iterator[Times]:
        """Yield the arrival times in batches, as the file is read; the seed is ignored."""
        rounds = 0
        while rounds == 0 or (self.repeat and self.rate):
            start = rounds * self.count / self.rate if self.rate else 0.0
            for times in self._file.batches():
                yield start + times / self.speed
            rounds += 1
