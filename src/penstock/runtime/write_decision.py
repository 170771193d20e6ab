"""Whether executors write the results of a job, and how: as files of one query, of each query, or of a group."""

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from penstock.policies import Unit
from penstock.runtime.rows.written import WriteTarget
from penstock.runtime.seen_rows import seen_by_all
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken, UnitState, UnitStates, rows_of

WRITTEN_RESULTS = 100_000
"""From so many expected results on, executors write them: fewer are faster through the driver."""
MOST_WRITTEN = 50_000_000
"""Results of joins that one job may write."""
FILE_ROWS = 8_000
"""If each task is expected to write so many results for each query of a group, every query gets files of its own."""


class WriteDecision:
    """Decides where the results of jobs are written; nowhere, until there is a folder for them."""

    def __init__(self, state: RuntimeState, units: UnitStates, slots: int) -> None:
        self._state = state
        self._units = units
        self._slots = slots
        self.folder: Callable[[], Path] | None = None
        """Returns the folder in which executors may write."""

    def would_write(self, unit: Unit, served: UnitState, rows: int) -> bool:
        """Whether executors write the results of a job with so many rows of a unit."""
        stored = any(chunk.is_stored for lane in served.lanes for chunk in lane.queue.chunks)
        return self._is_worth(unit, served, rows, stored)

    def _is_worth(self, unit: Unit, served: UnitState, rows: int, stored: bool) -> bool:
        if self.folder is None or served.output is None or not (stored or served.multiplies):
            return False
        return self._units.expected_results(unit, rows) >= WRITTEN_RESULTS

    def together(self, served: UnitState, rows: int) -> int:
        """Return how many stored rows a job takes whose results executors write, of so many at most.

        Those of a group arrived together, so that files need not tell the arrival of each result.
        """
        [queue] = [lane.queue for lane in served.lanes] if len(served.lanes) == 1 else [None]
        assert served.output is not None
        [name] = self._state.plan.roots[served.output]
        if queue is None or not queue.chunks or name not in self._state.plan.groups:
            return rows
        first, count = queue.chunks[0], 0
        for chunk in queue.chunks:
            if not chunk.is_stored or chunk.arrival != first.arrival:
                break
            count += chunk.rows
        return min(rows, count) or rows

    def target(self, unit: Unit, taken: Taken) -> WriteTarget | None:
        """Return where executors write a job's results; None if they are few, or are returned anyway."""
        served = self._units.of(unit)
        rows = rows_of(served, taken)
        chunks = [chunk for each in taken.values() for chunk in each]
        stored = any(chunk.is_stored for chunk in chunks)
        if not rows or not self._is_worth(unit, served, rows, stored):
            return None
        assert self.folder is not None
        assert served.output is not None
        [name] = self._state.plan.roots[served.output]
        seen = seen_by_all(self._state, name)
        if seen is None:
            return None
        group = self._state.plan.groups.get(name)
        members = None if group is None else group.names
        arrivals = {chunk.arrival for chunk in chunks if chunk.is_stored}
        together = all(chunk.is_stored for chunk in chunks) and len(arrivals) == 1 and not served.joins
        results = self._units.expected_results(unit, rows)
        own_files = members is not None and together and results >= FILE_ROWS * self._slots * len(members)
        folder = Path(mkdtemp(prefix="job-", dir=self.folder()))
        return WriteTarget(
            folder, served.output, name, seen or None, members, min(arrivals) if own_files else None
        )
