"""Required comparisons of a benchmark, with the measured values."""

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Comparison:
    """A claim: `measured` must be at least, or at most, `required`. Without a measure, `reason` says why."""

    claim: str
    side: Literal["at least", "at most"]
    required: float
    measured: float | None = None
    reason: str = ""
    failed: bool = False
    """Whether the measurement is missing because a case failed, not because it was not run."""

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None if it was not measured.

        >>> Comparison("speed", "at least", 10, 12.5).holds, Comparison("response", "at most", 0.33, 0.5).holds
        (True, False)
        """
        if self.measured is None:
            return False if self.failed else None
        return self.measured >= self.required if self.side == "at least" else self.measured <= self.required

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {**asdict(self), "holds": self.holds}
