"""A case of the benchmark: system, queries and input; and what was measured."""

from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.bench.aggregates.query_set import QuerySet
from penstock.bench.aggregates.workload import AggregateWorkload
from penstock.bench.stock.case import MeasuredRun, RunFigures

SYSTEMS = {
    "each": "stock, one each",
    "each-fair": "stock, one each, FAIR",
    "each-rocksdb": "stock, one each, RocksDB",
    "joined": "stock by hand, joined",
    "joined-rocksdb": "stock by hand, joined, RocksDB",
    "panes": "stock by hand, panes",
    "panes-rocksdb": "stock by hand, panes, RocksDB",
    "penstock": "Penstock",
    "penstock-ungrouped": "Penstock, groups = false",
    "penstock-state": "Penstock with --state",
}
"""The names of the systems in tables."""
EACH = ("each", "each-fair", "each-rocksdb")
BY_HAND = ("joined", "joined-rocksdb", "panes", "panes-rocksdb")
OURS = ("penstock", "penstock-ungrouped", "penstock-state")
_KINDS = {
    "one": ("query", ""),
    "fifty": ("query of 50", "windows and constants"),
    "slices": ("filter of 0.1 %", "filters of 0.1 %"),
    "wide": ("filter of 1 %", "filters of 1 %"),
    "having": ("limit in HAVING", "limits in HAVING"),
    "windows": ("window", "windows"),
    "long": ("window of 600 panes", "windows of 600 panes"),
}
"""What one query of a kind is called, and what several are."""


@dataclass(frozen=True)
class AggregateCase:
    """A case. A paced one offers `load` times the rate at which stock, with one query each, drains its queries.

    A drained part is `files` files of `file_rows` rows, and a last one of few rows that closes all their windows.
    """

    part: str
    system: str
    queries: str = "one"
    count: int = 1
    keys: int = 50
    files: int = 20
    file_rows: int = 50_000
    event_rate: int = 10_000
    """Rows in a second of event time; of a paced case `speed` decides."""
    warm_files: int = 3
    repeat: int = 5
    feeding: str = "drain"
    load: float = 0.25
    seconds: float = 20.0
    every_s: float = 0.5
    """A paced case gets a file of equal length every so often."""
    speed: float = 5.0
    """Seconds of event time in a second of a paced case."""
    restart: bool = False
    """Whether another process goes on after half of the parts."""
    seed: int = 1
    on_disk: bool = False
    """Whether all folders are on a disk; else they are in memory, where the machine has such a folder."""

    @property
    def name(self) -> str:
        """The case in a few words.

        >>> AggregateCase("fifty", "joined", "fifty", 50).name
        '50 windows and constants, 1,000,000 rows, drain: stock by hand, joined'
        """
        return f"{self.what}, {self.feeding}: {SYSTEMS[self.system]}"

    @property
    def what(self) -> str:
        """The queries and their input, which the systems of a comparison share."""
        if self.queries == "keys":
            queries = f"{self.keys:,} keys"
        else:
            queries = f"{self.count:,} {_KINDS[self.queries][self.count > 1]}"
        rows = "" if self.feeding == "paced" else f", {self.files * self.file_rows:,} rows"
        return f"{queries}{rows}{', restarted in the middle' if self.restart else ''}"

    def made_workload(self, offered: float | None) -> AggregateWorkload:
        """Return the stream and the queries; a paced case's constants depend on the offered rows per second."""
        rate = self.event_rate if offered is None else max(round(offered / self.speed), 1)
        return AggregateWorkload(QuerySet(self.queries, self.count, self.keys, rate))


@dataclass(frozen=True)
class AggregateResult(RunFigures):
    """The result of a case. `status` is ok, wrong (results differ from the expected ones) or failed."""

    case: AggregateCase
    status: str
    reason: str = ""
    runs: tuple[MeasuredRun, ...] = ()
    """Responses are from the close of a window: when the row that moved the watermark past its end was sent."""
    register_s: float | None = None
    restart_s: float | None = None
    """What the second process of a restarted case needed to start its queries."""
    python_peaks: tuple[tuple[int, ...], ...] = ()
    """Peak memory of Python after each measured part, for each process."""
    java_peak_bytes: int | None = None
    offered: float | None = None
    took_s: float = field(default=0.0, compare=False)

    @property
    def rows_per_s(self) -> float | None:
        """Rows per second, the median of the runs; of a restarted case all rows by all seconds."""
        if not self.case.restart or not self.runs or self.restart_s is None:
            return super().rows_per_s
        return sum(run.rows for run in self.runs) / (sum(run.seconds for run in self.runs) + self.restart_s)

    @property
    def seconds_per_query(self) -> float | None:
        """The median time of a part divided by the number of queries."""
        seconds = self.median_of("seconds")
        return None if seconds is None else seconds / self.case.count

    @property
    def python_peak_bytes(self) -> int | None:
        """The largest peak memory of a Python process."""
        return max((max(each) for each in self.python_peaks if each), default=None)

    @property
    def python_growth(self) -> float | None:
        """Python's peak after all parts of a process ÷ after half of them, the largest of the processes."""
        halves = [(each[(len(each) - 1) // 2], each[-1]) for each in self.python_peaks if len(each) > 1]
        return max((whole / half for half, whole in halves if half), default=None)

    def as_dict(self) -> dict[str, Any]:
        """Return the case, the medians of its runs, and the runs, as JSON."""
        rates = [run.rows / run.seconds for run in self.runs]
        paced = self.case.feeding == "paced"
        return {
            **asdict(self.case),
            "name": self.case.name,
            "system_name": SYSTEMS[self.case.system],
            "table": self.case.what + (f" at {self.offered:,.0f} rows/s" if paced and self.offered else ""),
            "status": self.status,
            "reason": self.reason,
            "rows_per_s": self.rows_per_s,
            "rows_per_s_low": min(rates, default=None),
            "rows_per_s_high": max(rates, default=None),
            "seconds_measured": self.median_of("seconds"),
            "seconds_per_query": self.seconds_per_query,
            **{f"{name}_response": self.response(name) for name in ("avg", "median", "p95", "p99", "max")},
            "behind_s": self.median_of("behind_s"),
            "sustained": self.kept_up_with(self.case.seconds) if paced else None,
            "register_s": self.register_s,
            "restart_s": self.restart_s,
            "python_peak_bytes": self.python_peak_bytes,
            "python_peaks": self.python_peaks,
            "python_growth": self.python_growth,
            "java_peak_bytes": self.java_peak_bytes,
            "offered_rows_per_s": self.offered,
            "took_s": self.took_s,
            "runs": [asdict(run) for run in self.runs],
        }
