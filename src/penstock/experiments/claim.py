"""A statement of a paper, as a number that can be measured again."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Claim:
    """A statement: in the paper's words, and as a number, in `unit`, that must lie from `low` to `high` to hold.

    Without a number, None, it was not measured: it neither holds nor fails. One end may be open.
    """

    figure: str
    what: str
    published: str
    measured: float | None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    why: str = ""
    """Why it does not hold here, where that is known; said only then."""
    missing: str = "This run has no figure for it."
    """Why it was not measured; said only then."""

    @property
    def judged(self) -> str:
        """The range in words.

        >>> Claim("Figure 6", "c ÷ b at 14 ms", "over 2", 2.3, low=2).judged
        '≥ 2'
        """
        if self.low is None or self.high is None:
            ends = f"≥ {_short(self.low)}" if self.high is None else f"≤ {_short(self.high)}"
        else:
            ends = f"{_short(self.low)} to {_short(self.high)}"
        return f"{ends} {self.unit}".rstrip()

    @property
    def claim(self) -> str:
        """The statement with the range by which it is judged.

        >>> Claim("Figure 6", "plans b and c cross", "4 to 4.5 ms", 4.255, "ms", 4, 4.5).claim
        'plans b and c cross: 4 to 4.5 ms'
        """
        return f"{self.what}: {self.judged}"

    @property
    def holds(self) -> bool | None:
        """Whether the number is in the range, its ends included; None where there is no number.

        >>> Claim("Figure 8", "gain at 60 %", "about 4 %", 3.4, "%", 3.5, 4.5).holds
        False
        """
        if self.measured is None:
            return None
        if self.low is not None and self.measured < self.low:
            return False
        return self.high is None or self.measured <= self.high

    def as_dict(self) -> dict[str, Any]:
        """Return the claim as JSON."""
        found = {"claim": self.claim, **asdict(self), "judged": self.judged, "holds": self.holds}
        del found["missing"]
        why = self.missing if self.holds is None else "" if self.holds else self.why
        return found | {"verdict": VERDICTS[self.holds], "why": why}


VERDICTS = {True: "holds", False: "does not hold", None: "not measured"}


def _short(value: float | None) -> str:
    """Return a number with three digits, or more where they are before the point."""
    if value is None:
        return ""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
