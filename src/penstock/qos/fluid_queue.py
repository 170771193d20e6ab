"""Queues of the fluid model: rows are kept as sums, so a queue of any length takes constant memory."""

from collections import deque
from typing import NamedTuple

_MOST_FLOWS = 16
"""Flows that a queue keeps apart. The newest rows of a longer queue are merged into its last flow."""


class Flow(NamedTuple):
    """Rows as sums: their number, the first arrival, the sums of arrivals and of squared arrivals, in seconds."""

    rows: float
    first: float
    total: float
    squares: float

    @classmethod
    def at(cls, rows: float, mean: float, first: float | None = None) -> "Flow":
        """Return rows with this average arrival."""
        return cls(rows, mean if first is None else first, rows * mean, rows * mean * mean)

    def times(self, factor: float) -> "Flow":
        """Return the flow with its rows multiplied by a factor."""
        return Flow(self.rows * factor, self.first, self.total * factor, self.squares * factor)

    def with_flow(self, other: "Flow") -> "Flow":
        """Return both flows as one."""
        return Flow(
            self.rows + other.rows,
            min(self.first, other.first),
            self.total + other.total,
            self.squares + other.squares,
        )


class FluidQueue:
    """A first-in, first-out queue of flows."""

    __slots__ = ("flows", "number", "rows")

    def __init__(self) -> None:
        self.flows: deque[Flow] = deque()
        self.rows = 0.0
        self.number = 0

    def put(self, flow: Flow, number: int) -> None:
        """Add rows at the end. Policies break ties between queues by `number` (`Waiting.number`)."""
        if not self.flows:
            self.number = number
        self.flows.append(self.flows.pop().with_flow(flow) if len(self.flows) == _MOST_FLOWS else flow)
        self.rows += flow.rows

    def take(self, most: float) -> Flow:
        """Remove and return at most so many of the oldest rows. The queue must not be empty."""
        taken: Flow | None = None
        while self.flows and most > 0:
            flow = self.flows.popleft()
            if flow.rows > most:
                self.flows.appendleft(flow.times(1 - most / flow.rows))
                flow = flow.times(most / flow.rows)
            taken = flow if taken is None else taken.with_flow(flow)
            most -= flow.rows
        assert taken is not None
        self.rows = sum(flow.rows for flow in self.flows)
        return taken
