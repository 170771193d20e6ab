"""A case of the benchmark: system, queries and input; and what was measured."""

from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from penstock.bench.scale.inputs import ScaleInput
from penstock.bench.scale.query_set import QuerySet

SYSTEM_NAMES = {
    "batch": "one batch job",
    "each": "stock, one each",
    "grouped": "stock, grouped by hand",
    "penstock": "Penstock",
    "penstock-state": "Penstock with --state",
}
"""The names of the systems in tables."""
OURS = ("penstock", "penstock-state")


@dataclass(frozen=True)
class ScaleCase:
    """A system that runs queries over an input. `place` is Penstock's setting `rows`, if it is not the default."""

    part: str
    system: str
    queries: QuerySet
    input: ScaleInput
    repeat: int = 5
    place: str | None = None
    on_disk: bool = False
    """Whether all folders are on a disk; else they are in memory, where the machine has such a folder."""

    @property
    def what(self) -> str:
        """The queries and their input, which the systems of a comparison share."""
        files = f"{self.input.file_format} files of {self.input.file_rows:,} rows"
        return f"{self.queries.what}, {files}, {self.input.rows:,} in all"

    @property
    def name(self) -> str:
        """The case in a few words.

        >>> ScaleCase("filters", "batch", QuerySet(), ScaleInput(2_000_000, 100_000)).name
        '1 filter of 1 %, parquet files of 100,000 rows, 2,000,000 in all: one batch job'
        """
        place = f", rows = {self.place}" if self.place else ""
        return f"{self.what}: {SYSTEM_NAMES[self.system]}{place}"

    @staticmethod
    def of(found: dict[str, Any]) -> "ScaleCase":
        """Return the case that `asdict` was called on."""
        parts = {"queries": QuerySet(**found["queries"]), "input": ScaleInput(**found["input"])}
        return ScaleCase(**{**found, **parts})


@dataclass(frozen=True)
class MeasuredDrain:
    """One measured drain of the whole input."""

    seconds: float
    """Until all results were committed."""
    python_cpu_s: float
    jvm_cpu_s: float
    """Of the driver's Java; without a cluster it has the executors, too."""
    executor_cpu_s: float | None
    traffic: dict[str, int]
    """What passed through the driver; only of Penstock."""
    files_read: int | None
    """Files that Spark says its jobs read; Penstock's jobs also read results, to split them by query."""
    ended_s: float = 0.0
    """Until the drain ended: Penstock publishes results of groups by query after they are committed."""


@dataclass(frozen=True)
class InputFacts:
    """How large an input is."""

    files: int
    read_bytes: int
    """Of the columns that the queries need, in memory, as Arrow; without the time."""
    time_bytes: int
    """Eight for each row, where rows have a time."""
    file_bytes: int


@dataclass(frozen=True)
class ScaleResult:
    """The result of a case. `status` is ok, wrong (results differ from the expected ones) or failed."""

    case: ScaleCase
    status: str
    reason: str = ""
    drains: tuple[MeasuredDrain, ...] = ()
    facts: InputFacts | None = None
    peak_bytes: int | None = None
    """Peak memory of the Python process."""
    took_s: float = field(default=0.0, compare=False)

    @property
    def seconds(self) -> float | None:
        """The median time of a drain."""
        return median(drain.seconds for drain in self.drains) if self.drains else None

    @property
    def rows_per_s(self) -> float | None:
        """Rows per second, by the median time."""
        return self.case.input.rows / self.seconds if self.seconds else None

    @property
    def driver_share(self) -> float | None:
        """Bytes that passed through the driver ÷ bytes of the input; eight bytes a row for times are free.

        None for other systems, and where the run counted nothing at all.
        """
        if not self._counted or self.facts is None:
            return None
        passed = median(_passed(drain) for drain in self.drains)
        return max(passed - self.facts.time_bytes, 0) / self.facts.read_bytes

    @property
    def scans_per_file(self) -> float | None:
        """How often a job read each file: what Penstock counted, of other systems what Spark says."""
        if not self.drains or self.facts is None:
            return None
        told = [drain.files_read for drain in self.drains if drain.files_read is not None]
        if self._counted:
            told = [drain.traffic["scans"] for drain in self.drains]
        return median(told) / self.facts.files if told else None

    @property
    def _counted(self) -> bool:
        return any(count for drain in self.drains for count in drain.traffic.values())

    @property
    def _memory(self) -> bool:
        return self.case.part == "memory"

    def cpu_per_million(self, name: str) -> float | None:
        """Return the median of a CPU time in seconds, per million rows."""
        times = [getattr(drain, name) for drain in self.drains]
        return median(times) * 1e6 / self.case.input.rows if times and None not in times else None

    def as_dict(self) -> dict[str, Any]:
        """Return the case, the medians of its drains, and the drains, as JSON."""
        times = [drain.seconds for drain in self.drains]
        return {
            **asdict(self.case),
            "name": self.case.name,
            "table": "Memory of Penstock's driver" if self._memory else self.case.what,
            "label": self.case.what if self._memory else SYSTEM_NAMES[self.case.system],
            "system_name": SYSTEM_NAMES[self.case.system],
            "status": self.status,
            "reason": self.reason,
            "seconds": self.seconds,
            "seconds_low": min(times, default=None),
            "seconds_high": max(times, default=None),
            "ended_s": median(drain.ended_s for drain in self.drains) if self.drains else None,
            "rows_per_s": self.rows_per_s,
            "python_cpu_s_per_million": self.cpu_per_million("python_cpu_s"),
            "jvm_cpu_s_per_million": self.cpu_per_million("jvm_cpu_s"),
            "executor_cpu_s_per_million": self.cpu_per_million("executor_cpu_s"),
            "driver_share": self.driver_share,
            "scans_per_file": self.scans_per_file,
            "peak_bytes": self.peak_bytes,
            "input_facts": None if self.facts is None else asdict(self.facts),
            "took_s": self.took_s,
            "drains": [asdict(drain) for drain in self.drains],
        }


def _passed(drain: MeasuredDrain) -> int:
    return drain.traffic["handed_over"] + drain.traffic["fetched"] + drain.traffic["read"]
