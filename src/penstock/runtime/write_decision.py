"""Whether executors write the results of a job, and where."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp

from penstock.policies import Unit
from penstock.runtime.rows.written import WriteTarget
from penstock.runtime.seen_rows import seen_by_all
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import Taken, UnitState, UnitStates, rows_of

WRITTEN_RESULTS = 250_000
"""From so many expected results of stored rows on, executors write them: fewer are faster through the driver."""
WRITTEN_OF_RESIDENT = 3_000_000
"""The same for resident rows: the driver has their values, and fetches only which rows are results."""
MOST_WRITTEN = 50_000_000
"""Results of joins that one job may write."""


class WriteDecision:
    """Decides where the results of jobs are written; nowhere, until there is a folder for them."""

    def __init__(self, state: RuntimeState, units: UnitStates) -> None:
        self._state = state
        self._units = units
        self.folder: Callable[[], Path] | None = None
        """Returns the folder in which executors may write."""

    def would_write(self, unit: Unit, served: UnitState, rows: int) -> bool:
        """Whether executors write the results of a job with so many rows of a unit."""
        stored = any(chunk.is_stored for lane in served.lanes for chunk in lane.queue.chunks)
        return self._is_worth(unit, served, rows, stored)

    def _is_worth(self, unit: Unit, served: UnitState, rows: int, stored: bool) -> bool:
        if not rows or self.folder is None or served.output is None or not (stored or served.multiplies):
            return False
        least = WRITTEN_RESULTS if stored else WRITTEN_OF_RESIDENT
        if self._units.expected_results(unit, rows) < least:
            return False
        [name] = self._state.plan.roots[served.output]
        return seen_by_all(self._state, name) is not None

    def target(self, units: Sequence[Unit], taken: Taken) -> WriteTarget | None:
        """Return where executors write a job's results; None if they are few, or are returned anyway.

        If there are several units, they have the same output.
        """
        stored = any(chunk.is_stored for chunks in taken.values() for chunk in chunks)
        states = [(unit, self._units.of(unit)) for unit in units]
        if not any(self._is_worth(unit, served, rows_of(served, taken), stored) for unit, served in states):
            return None
        served = states[0][1]
        assert self.folder is not None
        assert served.output is not None
        [name] = self._state.plan.roots[served.output]
        group = self._state.plan.groups.get(name)
        return WriteTarget(
            folder=Path(mkdtemp(prefix="job-", dir=self.folder())),
            operator=served.output,
            name=name,
            queries={each: self._state.queries[each] for each in self._state.plan.served_by(name)},
            seen=seen_by_all(self._state, name) or None,
            members=None if group is None else group.names,
        )
