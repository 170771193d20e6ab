"""A case of the benchmark: system, queries and input; and what was measured."""

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from penstock.bench.stock.filters import Filters
from penstock.bench.stock.mixed import Mixed
from penstock.bench.stock.windowed import Windowed
from penstock.bench.stock.workload import StockWorkload

SYSTEMS = {
    "each-fifo": "stock, one each, FIFO",
    "each-fair": "stock, one each, FAIR",
    "fan-out": "stock, foreachBatch",
    "grouped": "stock, grouped by hand",
    "penstock": "Penstock",
    "penstock-state": "Penstock with --state",
}
"""The names of the systems in tables."""
OURS = ("penstock", "penstock-state")


@dataclass(frozen=True)
class StockCase:
    """A case. A paced one offers `load` times the rate at which stock, with one query each, drains its queries.

    A steady one gets a file of `file_rows` rows every `every_s` seconds.
    """

    part: str
    system: str
    workload: str = "filters"
    feeding: str = "drain"
    queries: int = 1
    selectivity: float = 0.01
    files: int = 20
    file_rows: int = 10_000
    warm_files: int = 3
    repeat: int = 2
    load: float = 0.5
    seconds: float = 30.0
    every_s: float = 0.5
    seed: int = 1
    window_rows: int = 0
    """Rows in each window of the join; the windows are filled before anything is measured."""
    on_disk: bool = False
    """Whether all folders are on a disk; else they are in memory, where the machine has such a folder."""

    @property
    def name(self) -> str:
        """The case in a few words.

        >>> StockCase("filters", "penstock", queries=50).name
        '50 filters of 1 %, files of 10,000 rows, drain: Penstock'
        """
        return f"{self.what}, {self.feeding}: {SYSTEMS[self.system]}"

    @property
    def what(self) -> str:
        """The queries and their input, which the systems of a comparison share."""
        if self.workload == "mixed":
            queries = f"{self.queries} mixed queries"
        elif self.workload == "windowed":
            queries = f"a join of windows of {self.window_rows:,} rows"
        else:
            filters = "1 filter" if self.queries == 1 else f"{self.queries:,} filters"
            queries = f"{filters} of {100 * self.selectivity:g} %"
        return queries if self.feeding == "paced" else f"{queries}, files of {self.file_rows:,} rows"

    def made_workload(self) -> StockWorkload:
        """Return the streams and queries."""
        if self.workload == "windowed":
            return Windowed(self.window_rows)
        return Mixed() if self.workload == "mixed" else Filters(self.queries, self.selectivity)


@dataclass(frozen=True)
class MeasuredRun:
    """One run of the measured part; times in seconds."""

    rows: int
    row_queries: int
    outputs: int
    seconds: float
    avg_response: float | None
    median_response: float | None
    p95_response: float | None
    p99_response: float | None
    max_response: float | None
    behind_s: float
    """How long after the last arrival the last result was out."""
    feeder_late_s: float = 0.0
    """The longest delay of an input file; responses count from when the file was due."""

    @property
    def rate(self) -> float:
        """Row-queries per second."""
        return self.row_queries / self.seconds


class RunFigures:
    """What is computed from the runs of a case."""

    runs: tuple[MeasuredRun, ...]

    @property
    def rate(self) -> float | None:
        """Row-queries per second, the median of the runs."""
        return median(run.rate for run in self.runs) if self.runs else None

    @property
    def rows_per_s(self) -> float | None:
        """Rows per second, the median of the runs."""
        return median(run.rows / run.seconds for run in self.runs) if self.runs else None

    @property
    def avg_response(self) -> float | None:
        """The average response, the median of the runs."""
        return self.median_of("avg_response")

    def response(self, name: str) -> float | None:
        """Return a figure of responses, such as `p95`, the median of the runs."""
        return self.median_of(f"{name}_response")

    def kept_up_with(self, seconds: float) -> bool | None:
        """Whether what was left at the end of a paced load of so many seconds took less than half of them."""
        return max(run.behind_s for run in self.runs) < seconds / 2 if self.runs else None

    def median_of(self, name: str) -> float | None:
        """Return the median of a figure of the runs."""
        values = [getattr(run, name) for run in self.runs]
        return median(values) if values and None not in values else None


@dataclass(frozen=True)
class CaseResult(RunFigures):
    """The result of a case. `status` is ok, wrong (results differ from the expected ones) or failed."""

    case: StockCase
    status: str
    reason: str = ""
    runs: tuple[MeasuredRun, ...] = ()
    session_s: float | None = None
    register_s: float | None = None
    first_s: float | None = None
    peak_bytes: int | None = None
    offered: float | None = None
    took_s: float = field(default=0.0, compare=False)

    @property
    def start_s(self) -> float | None:
        """From a session to all queries having answered a first file."""
        return None if self.register_s is None or self.first_s is None else self.register_s + self.first_s

    @property
    def sustained(self) -> bool | None:
        """Whether a paced load was sustained."""
        return self.kept_up_with(self.case.seconds) if self.case.feeding == "paced" else None

    @property
    def _table(self) -> str:
        """The title of the table in which the case is a row."""
        if self.case.part == "cost":
            return f"Penstock alone, N filters of {100 * self.case.selectivity:g} %, drain"
        load = "" if self.offered is None else f" at {self.offered:,.0f} rows/s"
        return f"{self.case.what}, {self.case.feeding}{load}"

    def as_dict(self) -> dict[str, Any]:
        """Return the case, the medians of its runs, and the runs, as JSON."""
        rates = [run.rate for run in self.runs]
        return {
            **asdict(self.case),
            "name": self.case.name,
            "system_name": SYSTEMS[self.case.system],
            "table": self._table,
            "label": f"N = {self.case.queries:,}" if self.case.part == "cost" else SYSTEMS[self.case.system],
            "status": self.status,
            "reason": self.reason,
            "row_queries_per_s": self.rate,
            "row_queries_per_s_low": min(rates, default=None),
            "row_queries_per_s_high": max(rates, default=None),
            "rows_per_s": self.rows_per_s,
            "seconds_measured": self.median_of("seconds"),
            "avg_response": self.avg_response,
            "median_response": self.median_of("median_response"),
            "p95_response": self.median_of("p95_response"),
            "p99_response": self.median_of("p99_response"),
            "max_response": self.median_of("max_response"),
            "behind_s": self.median_of("behind_s"),
            "session_s": self.session_s,
            "register_s": self.register_s,
            "first_s": self.first_s,
            "start_s": self.start_s,
            "peak_bytes": self.peak_bytes,
            "offered_rows_per_s": self.offered,
            "sustained": self.sustained,
            "took_s": self.took_s,
            "runs": [{**asdict(run), "row_queries_per_s": run.rate} for run in self.runs],
        }
