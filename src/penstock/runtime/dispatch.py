"""Dispatch: which units run next."""

from penstock.network import Network
from penstock.policies import Policy, Scheduler, Train, Unit, Waiting, as_measured
from penstock.runtime.chunk import Chunk
from penstock.runtime.cost_model import CostModel
from penstock.runtime.job_rows import LONGEST_TRAIN
from penstock.runtime.join_progress import ready_until
from penstock.runtime.state import RuntimeState
from penstock.runtime.unit_state import UnitStates

FIRST_TRAIN = 4
"""Units of a train at most until the cost of one was measured. In a cold JVM each costs a lot."""


class Dispatcher:
    """Asks the policy which units run next."""

    def __init__(self, state: RuntimeState, costs: CostModel, units: UnitStates, quantum_s: float = 0.0) -> None:
        self._state = state
        self._costs = costs
        self._units = units
        self._quantum_s = quantum_s
        self._scheduler: Scheduler

    # Policy -------------------------------------------------------------------------------------------------

    def schedule(self, network: Network, policy: Policy, memory: int | None) -> None:
        """Continue with another policy or memory limit."""
        self._scheduler = Scheduler(network, policy, memory)
        self._units.clear()

    def move_to(self, network: Network) -> None:
        """Continue with another network, or with other costs, rates or weights."""
        self._scheduler.move_to(network)
        self._units.clear()

    def forget_removed(self) -> None:
        """Forget what is known of units that are gone."""
        self._units.limits.keep(unit.name for unit in self._scheduler.units)

    def observe_memory(self, now_s: float, held: float, mean: float) -> None:
        """Tell the policy the bytes held now and on average."""
        self._scheduler.see_memory(now_s, held, mean)

    @property
    def mode(self) -> str:
        """Normal, or saving memory."""
        return self._scheduler.mode

    @property
    def must_shed(self) -> bool:
        """Whether saving memory was not enough (JC03 §3.4); False for policies without a saving mode."""
        return self._scheduler.must_shed

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self._scheduler.units)

    # Choosing -----------------------------------------------------------------------------------------------

    def choose(self, now_us: int, least_s: float) -> tuple[Unit, ...]:
        """Return the units of the next job; none if nothing can run.

        Where trains are allowed, one takes at least `least_s` seconds if enough units wait.
        """
        most = LONGEST_TRAIN if self._costs.is_measured else FIRST_TRAIN
        quantum_s = max(self._quantum_s, least_s)
        train = Train(self._costs.setup_s, quantum_s, most, least_s, self._costs.pace) if self._quantum_s else None
        chosen = self._scheduler.choose(now_us / 1e6, self._waiting, as_measured, train)
        return (*chosen, *self._other_paths(chosen)) if chosen else ()

    def _other_paths(self, chosen: tuple[Unit, ...]) -> list[Unit]:
        """Return the units of the other streams of a join, if the first chosen reads these streams from files.

        They cost hardly more then: their rows are read and shuffled anyway, as the window of the first.
        """
        first = self._units.of(chosen[0])
        if not first.joins or not first.has_stored:
            return []
        taken = {edge for unit in chosen for edge in unit.entries}
        found = []
        for unit in self._scheduler.units:
            served = self._units.of(unit)
            alike = served.joins == first.joins and served.has_stored
            if alike and taken.isdisjoint(unit.entries) and self._waiting(unit) is not None:
                found.append(unit)
                taken.update(unit.entries)
        return found

    def _waiting(self, unit: Unit) -> Waiting | None:
        """Return what waits for a unit; None if nothing can run now."""
        served = self._units.of(unit)
        ready = 0
        oldest: Chunk | None = None
        waiting = 0
        for _, reach, queue in served.lanes:
            if not queue.chunks:
                continue
            waiting += queue.rows
            some = queue.rows if reach.is_free else queue.ready(ready_until(self._state, reach))
            if some:
                ready += some
                first = queue.chunks[0]
                if oldest is None or (first.arrival, first.number) < (oldest.arrival, oldest.number):
                    oldest = first
        if oldest is None or any(lane.edge in job.taken for job in self._state.in_flight for lane in served.lanes):
            return None
        batch = min(ready, self._units.most_rows(served, waiting))
        if served.has_stored:
            batch = min(ready, self._units.most_stored_rows(unit, served, waiting, writes=False))
        known = self._costs.window_rows
        window_rows = sum(known.get(join, 0.0) for join in served.joins) if served.joins else 0.0
        parts = 1.0 if served.closes is None else self._costs.window_parts.get(served.closes, 1.0)
        overhead_s = self._costs.overhead_s(window_rows)
        return Waiting(oldest.arrival / 1e6, oldest.number, ready * parts, batch * parts, overhead_s)
