"""What BBDM03 §5 says of its five plans, and the ranges by which that is judged.

The paper prints no numbers that can be read, so the ranges stand for its words: "almost identical" is within 1 %,
"almost as well" and "compares well" at most 1.2 times Chain's memory, "badly" at least 1.2 times, "much worse",
"vastly" and "really badly" 1.5 times, "nearly as bad as" and "as badly as" at least 0.8 times the other's, "a huge
margin" at least twice. Chain is best if it needs at most what the best of the others does, and 1 % for rounding to
whole tuples.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import exp, log
from typing import TypeAlias

from penstock.experiments.bbdm03.studies import QUANTUM
from penstock.experiments.claim import Claim

Memory: TypeAlias = dict[tuple[str, str], dict[str, list[tuple[float, float]]]]
"""(mean, peak) of every run, by (plan, kind of arrivals) and policy."""

OTHERS = ("greedy", "fifo", "round_robin", QUANTUM)
SECTIONS = {"two": "§5.1", "four": "§5.1", "lookup": "§5.2", "join": "§5.3", "three": "§5.4"}
BURST = (
    "During a burst round robin gives the selective operators only their share of the processor, one turn in as "
    "many as there are operators ready"
)

NO_TRACE = "It is about real arrivals, and no trace was given: --trace FILE."


def judged(memory: Memory) -> list[Claim]:
    """Return all claims."""
    look = _Look(memory)
    return [*_chain(look), *_greedy(look), *_fifo(look), *_round_robin(look)]


class _Look:
    """Ratios of memory, over the kinds of arrivals that were run."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def ratios(self, plan: str, one: str, other: str, kind: str | None = None, peaks: bool = False) -> list[float]:
        """Return one policy's memory ÷ another's, run by run: means, and peaks too if wanted."""
        found = []
        for (its_plan, its_kind), runs in self.memory.items():
            if its_plan == plan and kind in (None, its_kind):
                for ours, theirs in zip(runs[one], runs[other], strict=True):
                    found += [ours[i] / theirs[i] for i in ((0, 1) if peaks else (0,)) if theirs[i]]
        return found

    def ratio(self, plan: str, one: str, other: str, kind: str | None = None) -> float | None:
        """Return the geometric mean of the ratios of mean memory."""
        found = self.ratios(plan, one, other, kind)
        return exp(sum(map(log, found)) / len(found)) if found and min(found) > 0 else None


def _extreme(which: Callable[[Sequence[float]], float], found: Sequence[float]) -> float | None:
    return which(found) if found else None


def _chain(look: _Look) -> list[Claim]:
    claims = []
    for plan, section in SECTIONS.items():
        worst = {name: _extreme(max, look.ratios(plan, "chain", name, peaks=True)) or 0.0 for name in OTHERS}
        name = max(worst, key=lambda other: worst[other])
        why = f"{name} is below Chain here: Chain does not preempt a tuple in the slow operator, and {name} may"
        what = f"{plan}: Chain's memory ÷ any other's, mean and peak, at most"
        claims.append(Claim(section, what, "Chain is best", worst[name] or None, high=1.01, why=why))
    margin = _extreme(min, [ratio for name in OTHERS for ratio in look.ratios("three", name, "chain")])
    what = "three: any other's mean memory ÷ Chain's, at least"
    return [*claims, Claim("§5.4", what, "beats all others by a huge margin", margin, low=2)]


def _greedy(look: _Look) -> list[Claim]:
    off = [abs(ratio - 1) * 100 for ratio in look.ratios("two", "greedy", "chain", peaks=True)]
    what = "two: Greedy's memory off Chain's, mean and peak, at most"
    claims = [Claim("§5.1", what, "almost identical", _extreme(max, off), "%", high=1)]
    for plan, words, low in (
        ("four", "badly compared to Chain", 1.2),
        ("lookup", "vastly improved over Greedy", 1.5),
        ("join", "much worse than Chain", 1.5),
        ("three", "badly", 1.2),
    ):
        least = _extreme(min, look.ratios(plan, "greedy", "chain"))
        what = f"{plan}: Greedy's mean memory ÷ Chain's, at least"
        claims.append(Claim(SECTIONS[plan], what, words, least, low=low))
    return claims


def _fifo(look: _Look) -> list[Claim]:
    claims = []
    for plan, words, low in (("two", "badly", 1.2), ("join", "much worse than Chain", 1.5)):
        what = f"{plan}: FIFO's mean memory ÷ Chain's, at least"
        claims.append(
            Claim(SECTIONS[plan], what, words, _extreme(min, look.ratios(plan, "fifo", "chain")), low=low)
        )
    near = look.ratio("four", "fifo", "greedy")
    return [
        *claims,
        Claim("§5.1", "four: FIFO's mean memory ÷ Greedy's", "nearly as bad as Greedy", near, low=0.8),
    ]


def _round_robin(look: _Look) -> list[Claim]:
    claims = []
    for kind in ("synthetic", "real"):
        what, at = f"two, {kind}: round robin's mean memory ÷ Chain's", look.ratio("two", QUANTUM, "chain", kind)
        why, missing = _slower(look, "two", kind), NO_TRACE if kind == "real" else Claim.missing
        claims.append(Claim("§5.1", what, "almost as well as Chain", at, high=1.2, why=why, missing=missing))
    for plan, words in (("four", "nearly as bad as Greedy"), ("lookup", "as badly as Greedy")):
        what = f"{plan}: round robin's mean memory ÷ Greedy's"
        claims.append(Claim(SECTIONS[plan], what, words, look.ratio(plan, QUANTUM, "greedy"), low=0.8))
    at = look.ratio("join", QUANTUM, "chain", "real")
    what = "join, real: round robin's mean memory ÷ Chain's"
    why = _slower(look, "join", "real")
    claims.append(Claim("§5.3", what, "compares well with Chain", at, high=1.2, why=why, missing=NO_TRACE))
    at = look.ratio("join", QUANTUM, "chain", "synthetic")
    what = "join, synthetic: round robin's mean memory ÷ Chain's"
    claims.append(Claim("§5.3", what, "really badly", at, low=1.5))
    growth = [look.ratio(plan, QUANTUM, "chain") for plan in ("two", "four", "three")]
    known = [ratio for ratio in growth if ratio is not None]
    least = min(after / before for before, after in pairwise(known)) if len(known) == 3 else None
    what = "two, four, three: round robin's memory ÷ Chain's rises from each to the next, by a factor of at least"
    why = " ".join(_growing(look, kind) for kind in ("synthetic", "real"))
    return [*claims, Claim("§5.4", what, "degrades with the number of operators", least, low=1, why=why)]


def _slower(look: _Look, plan: str, kind: str) -> str:
    """Say what round robin is with a last operator that is slower still."""
    at = {name: look.ratio(f"{plan}, slower", name, "chain", kind) for name in (QUANTUM, "fifo")}
    said = {name: "unknown" if ratio is None else f"{ratio:.2f}" for name, ratio in at.items()}
    return (
        f"{BURST}. How much that matters is a question of how slow the last operator is, which cannot be read in "
        f"the paper: four times as slow as declared, at the same load, round robin is {said[QUANTUM]} times "
        f"Chain, and FIFO {said['fifo']} times."
    )


def _growing(look: _Look, kind: str) -> str:
    ratios = [look.ratio(plan, QUANTUM, "chain", kind) for plan in ("two", "four", "join", "three")]
    if None in ratios:
        return ""
    said = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return f"With two, four, four (join) and twelve operators it is {said} on {kind} data."
