"""What AN04 says of Figures 6 to 10, and the ranges by which that is judged.

The ranges come from the paper's words, not from what was measured: "about" a percentage of resources holds within
half a step between its levels, a printed gain or error within a tenth or half of its last digit, whichever is
more, and "almost 8" is 7 to 8. For words such as "almost certain" the number stands in the claim.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from penstock.experiments.an04.study import Level
from penstock.experiments.claim import Claim
from penstock.experiments.examples.an04 import FIRST, planned

NOBODY = "No query gains there, so there is no ratio."


def claims(levels: Sequence[Level]) -> list[Claim]:
    """Return all claims, with what was computed for Figure 6 and measured at these levels for the others."""
    return [*_figure_6(), *_figure_7(levels), *_figures_8_and_9(levels), *_figure_10(levels)]


def _figure_6() -> list[Claim]:
    def below(one: str, other: str) -> Callable[[float], float]:
        return lambda cost_ms: planned(one, cost_ms).rate - planned(other, cost_ms).rate

    shedding = 1 / planned("b", 1).demand
    crossing = float(brentq(below("b", "c"), 3.8, 5))
    widest = float(minimize_scalar(below("b", "c"), bounds=(5, 50), method="bounded").x)
    at_14 = planned("c", 14).rate / planned("b", 14).rate
    worst = float(brentq(below("a", "b"), 15, 20))
    off_100 = max(abs(planned(name, 100).rate - 100) for name in FIRST)
    return [
        Claim("Figure 6", "b starts to shed at", "3.5 ms", shedding, "ms", 3.4, 3.6),
        Claim("Figure 6", "b and c cross at", "4 to 4.5 ms", crossing, "ms", 4, 4.5),
        Claim("Figure 6", "c is farthest above b at", "about 14 ms", widest, "ms", 13, 15),
        Claim("Figure 6", "c ÷ b at 14 ms", "over 2", at_14, low=2),
        Claim("Figure 6", "b becomes the worst at", "17 ms", worst, "ms", 16.5, 17.5),
        Claim("Figure 6", "farthest off 100/s at 100 ms", "all 100/s", off_100, "/s", high=1),
    ]


def _figure_7(levels: Sequence[Level]) -> list[Claim]:
    shares = {level.resources: 100 * level.gaining for level in levels}
    half = passing(levels, 0.5)
    if half is None:  # half of the queries gain everywhere, or nowhere
        half = max((level.resources for level in levels if level.gaining >= 0.5), default=0.0)
    x, y = np.array([(resources, share) for resources, share in shares.items() if resources >= 0.3]).T
    off_line = float(np.abs(y - np.polyval(np.polyfit(x, y, 1), x)).max())
    rise = shares[0.01] - shares[0.3]
    least = min(share for resources, share in shares.items() if resources < 0.3)
    return [
        Claim("Figure 7", "half of the queries gain at", "about 60 %", 100 * half, "%", 55, 65),
        Claim("Figure 7", "gaining, off a line to 30 %", "almost linear", off_line, "points", high=5),
        Claim("Figure 7", "gaining, rise from 30 to 1 %", "flat", rise, "points", high=10),
        Claim("Figure 7", "gaining, least below 30 %", "almost certain", least, "%", low=95),
    ]


def passing(levels: Sequence[Level], share: float) -> float | None:
    """Return the resources at which this share of queries gains, interpolated between levels; None if nowhere."""
    for above, below in pairwise(levels):
        if above.gaining < share <= below.gaining:
            part = (share - above.gaining) / (below.gaining - above.gaining)
            return above.resources + part * (below.resources - above.resources)
    return None


def _figures_8_and_9(levels: Sequence[Level]) -> list[Claim]:
    at = {level.resources: level for level in levels}
    diluted = _ratio(at[0.5].gain_of_gaining, at[0.5].gain)
    extreme = _ratio(at[0.9].largest_gain, at[0.9].gain_of_gaining)
    ratios = [level.largest_gain / level.gain for level in levels if level.gain > 0]
    rises = sum(after >= before for before, after in pairwise(ratios))
    return [
        Claim("Figure 8", "average gain at 60 %", "about 4 %", 100 * at[0.6].gain, "%", 3.5, 4.5),
        Claim("Figure 8", "average gain at 1 %", "almost 8-fold", at[0.01].gain, "times", 7, 8),
        Claim("Figure 9", "gainers' gain ÷ all's, 50 %", "not notable", diluted, high=1.5, missing=NOBODY),
        Claim("Figure 9", "largest ÷ gainers' gain, 90 %", "huge", extreme, low=10, missing=NOBODY),
        Claim("Figure 9", "largest ÷ all's gain rises at", "always falls", rises, "levels", high=0),
    ]


def _ratio(one: float, other: float) -> float | None:
    return one / other if other else None


def _figure_10(levels: Sequence[Level]) -> list[Claim]:
    lowest = min(levels, key=lambda level: level.resources)
    others = max(level.error for level in levels if level is not lowest)
    factor = 1 / (1 - max(level.largest_error for level in levels))
    return [
        Claim("Figure 10", "heuristic's mean error at 1 %", "28 %", 100 * lowest.error, "%", 25, 31),
        Claim("Figure 10", "its mean error above 1 %", "≤ 0.2 %", 100 * others, "%", high=0.2),
        Claim("Figure 10", "best ÷ heuristic's, largest", "≤ 2", factor, high=2),
    ]
