"""A clock that all runs begin at the same time, and a sink that measures responses from the ends of windows."""

import time

import numpy as np
import pyarrow as pa

from penstock.bench.discarding_sink import Nowhere
from penstock.bench.weighted_statistics import percentile

_START_US = 1_800_000_000_000_000
"""A full hour: windows of time are aligned to 1970, and all runs have the same ones."""
_BEFORE_US = 3_600_000_000


class RunClock:
    """The machine's clock, set to the same time when each run begins."""

    def __init__(self) -> None:
        self._set(_START_US - _BEFORE_US)

    def begin(self) -> None:
        """Set the clock to the time at which a run begins."""
        self._set(_START_US)

    def _set(self, now_us: int) -> None:
        self._epoch_us = now_us - time.monotonic_ns() // 1000

    def now_us(self) -> int:
        """Return microseconds since 1970, as if the run had begun at its time."""
        return self._epoch_us + time.monotonic_ns() // 1000

    def wait(self, seconds: float) -> None:
        """Sleep."""
        time.sleep(seconds)


class CloseResponses(Nowhere):
    """Discards results, and keeps how long after the ends of their windows they came."""

    def __init__(self, clock: RunClock) -> None:
        self._clock = clock
        self._responses: list[float] = []
        self._results: list[int] = []

    def emit(self, query: str, rows: pa.Table) -> None:
        """Note the responses of results that name the ends of their windows."""
        if "window_end" not in rows.column_names:
            return
        now_us = self._clock.now_us()
        ends = rows.column("window_end").cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        each, counts = np.unique(ends, return_counts=True)
        self._responses += ((now_us - each) / 1e6).tolist()
        self._results += counts.tolist()

    @property
    def p99(self) -> float:
        """The 99th percentile over all results; 0 without any."""
        if not self._results:
            return 0.0
        return percentile(np.array(self._responses), np.array(self._results), 0.99)
