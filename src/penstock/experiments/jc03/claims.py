"""What JC03 §5.2 says of its strategies, and the ranges by which that is judged.

"Better" and "less" are ratios above or below 1. "Much" is at least 1.5 times, "sharper" twice, "a little bit more"
at most a fifth more, "almost 5 times" is 4 to 5.
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from typing import Any, TypeAlias

from penstock.experiments.claim import Claim
from penstock.experiments.jc03.unpruned import NOT_PRUNED

Runs: TypeAlias = dict[str, dict[str, list[Mapping[str, Any]]]]
"""What every seed gave, by declaration of the plans and policy."""

PATH, CHAIN, SIMPLIFIED = "path_capacity", "chain", "simplified_segment"
DECLARED = "as described"
MUCH = 1.5
Measure: TypeAlias = Callable[[Mapping[str, Any]], float]


def judged(runs: Runs) -> list[Claim]:
    """Return all claims."""
    return [*_latency(runs), *_throughput(runs), *_memory(runs), *_threshold(runs)]


def latency(run: Mapping[str, Any]) -> float:
    """Mean latency of all results."""
    return float(run["latency"])


def mean_memory(run: Mapping[str, Any]) -> float:
    """Mean memory of the queues."""
    return float(run["mean"])


def peak_memory(run: Mapping[str, Any]) -> float:
    """Peak memory of the queues."""
    return float(run["peak"])


def burstiness(run: Mapping[str, Any]) -> float:
    """Most results in a second ÷ the mean."""
    outputs = run["outputs"]
    return float(max(outputs) * len(outputs) / sum(outputs))


def ratio(runs: Runs, measure: Measure, one: str, other: str, variant: str = DECLARED) -> float | None:
    """Return the geometric mean over the seeds of one policy's measure ÷ another's."""
    pairs = zip(runs[variant][one], runs[variant][other], strict=True)
    found = [measure(ours) / measure(theirs) for ours, theirs in pairs if measure(theirs)]
    return exp(sum(map(log, found)) / len(found)) if found and min(found) > 0 else None


def _each(runs: Runs, measure: Measure, one: str, other: str) -> str:
    """Say a ratio for every seed, and for the other declarations."""
    own = zip(runs[DECLARED][one], runs[DECLARED][other], strict=True)
    seeds = ", ".join(f"{measure(ours) / measure(theirs):.2f}" for ours, theirs in own if measure(theirs))
    found = ((name, ratio(runs, measure, one, other, name)) for name in runs if name != DECLARED)
    others = ", ".join(f"{at:.2f} with {name}" for name, at in found if at is not None)
    return f"Seed by seed it is {seeds}; {others}."


def _not_pruned(runs: Runs, measure: Measure, one: str, other: str) -> str:
    at = ratio(runs, measure, one, other)
    return "" if at is None else f"With segments that are not pruned it is {at:.2f}."


def _latency(runs: Runs) -> list[Claim]:
    def compared(one: str, other: str, words: str, low: float, reason: str) -> Claim:
        what = f"latency of {_named(one)} ÷ {_named(other)}"
        why = f"{reason} {_each(runs, latency, one, other)}"
        return Claim("Figure 2", what, words, ratio(runs, latency, one, other), low=low, why=why)

    rests = (
        "Pruning leaves a query of several joins one second segment, with the release of its lowest join, and "
        f"what enters higher up waits for it. {_not_pruned(runs, latency, CHAIN, NOT_PRUNED)}"
    )
    outputs = "Path capacity is best over all tuples (Theorem 1), not over results: queries that make many wait."
    sharper = _sharper(runs[DECLARED])
    own = runs[DECLARED][PATH][0]["phase_latency"]
    phases = (
        f"Under overload path capacity postpones its most expensive paths: its own latency goes from "
        f"{own[0]:.2f} to {own[-1]:.2f} s. The ratio by phase, first seed, is "
        + ", ".join(f"{one:.2f}" for one in _by_phase(runs[DECLARED], 0))
    )
    return [
        compared(SIMPLIFIED, PATH, "path capacity is much better", MUCH, outputs),
        compared(CHAIN, PATH, "path capacity is much better", MUCH, outputs),
        compared(CHAIN, SIMPLIFIED, "Chain performs worst", 1, rests),
        Claim("Figure 2", "Chain ÷ path capacity, last phase ÷ first", "much sharper", sharper, low=2, why=phases),
    ]


def _by_phase(runs: Mapping[str, Sequence[Mapping[str, Any]]], place: int) -> list[float]:
    pairs = zip(runs[CHAIN][place]["phase_latency"], runs[PATH][place]["phase_latency"], strict=True)
    return [chain / path for chain, path in pairs if path]


def _sharper(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> float | None:
    found = [_by_phase(runs, place) for place in range(len(runs[CHAIN]))]
    growth = [phases[-1] / phases[0] for phases in found if phases and min(phases) > 0]
    return exp(sum(map(log, growth)) / len(growth)) if growth else None


def _throughput(runs: Runs) -> list[Claim]:
    chain = [burstiness(run) for run in runs[DECLARED][CHAIN]]
    silent = [_silence(run) for run in runs[DECLARED][CHAIN]]
    fifths = (
        "What Chain postpones are a few paths; the other queries go on, and results of all sixteen are counted. "
        "Seed by seed it is " + ", ".join(f"{one:.2f}" for one in chain) + "."
    )
    simple = (
        "Chain always has results of the queries of selects only: their chains end at the root and are among the "
        "steepest, so that it does not fall silent while they arrive."
    )
    return [
        _smoother(runs, PATH, CHAIN, "much smoother than Chain", 1 / MUCH),
        _smoother(runs, SIMPLIFIED, CHAIN, "much smoother than Chain", 1 / MUCH),
        _smoother(runs, PATH, SIMPLIFIED, "path capacity is best", 1),
        Claim("Figure 3", "Chain's most results in a second ÷ mean", "almost 5", max(chain), "", 4, 5, fifths),
        Claim(
            "Figure 3",
            "longest silence of Chain in the last phase",
            "no output",
            max(silent),
            "s",
            low=1,
            why=simple,
        ),
    ]


def _smoother(runs: Runs, one: str, other: str, words: str, high: float) -> Claim:
    at = ratio(runs, burstiness, one, other)
    what = f"burstiness of {_named(one)} ÷ {_named(other)}"
    return Claim("Figure 3", what, words, at, high=high, why=_each(runs, burstiness, one, other))


def _silence(run: Mapping[str, Any]) -> float:
    """Return the longest time without results in the last fifth, while tuples wait."""
    begin = len(run["outputs"]) * 4 // 5
    longest = here = 0
    for made, memory in zip(run["outputs"][begin:], run["memory"][begin:], strict=True):
        here = here + 1 if made == 0 and memory >= 1 else 0
        longest = max(longest, here)
    return longest * float(run["width"])


def _memory(runs: Runs) -> list[Claim]:
    def compared(measure: Measure, of: str, one: str, other: str, words: str, high: float) -> Claim:
        what = f"{of} memory of {_named(one)} ÷ {_named(other)}"
        at, why = ratio(runs, measure, one, other), _each(runs, measure, one, other)
        if (one, other) == (SIMPLIFIED, CHAIN):
            why = f"{why} {_not_pruned(runs, measure, NOT_PRUNED, CHAIN)}"
        return Claim("Figure 4", what, words, at, high=high, why=why)

    return [
        compared(mean_memory, "mean", CHAIN, SIMPLIFIED, "Chain performs better", 1),
        compared(peak_memory, "peak", CHAIN, SIMPLIFIED, "Chain performs better", 1),
        compared(mean_memory, "mean", SIMPLIFIED, PATH, "path capacity requires much more", 1 / MUCH),
        compared(peak_memory, "peak", SIMPLIFIED, PATH, "path capacity requires much more", 1 / MUCH),
        compared(mean_memory, "mean", SIMPLIFIED, CHAIN, "a little bit more than Chain", 1.2),
        compared(peak_memory, "peak", SIMPLIFIED, CHAIN, "a little bit more than Chain", 1.2),
    ]


def _threshold(runs: Runs) -> list[Claim]:
    both = runs[DECLARED]["threshold"]
    early = [(run["short_at"] or 0.0) - run["differs_at"] for run in both if run["differs_at"] is not None]
    peaks = [run["peak"] / run["path_capacity"]["peak"] for run in both]
    limits = [run["peak"] / run["limit"] for run in both]
    over = "Seed by seed the peak is " + ", ".join(f"{one:.2f}" for one in limits) + " times the limit."
    same, less, hybrid = "optimal latency with enough memory", "near optimal memory otherwise", "a hybrid of both"
    between = ratio(runs, latency, "threshold", SIMPLIFIED)
    leaves = "threshold leaves path capacity before memory is short, by"
    return [
        Claim("§5.2", leaves, same, max([0.0, *early]), "s", high=0.001),
        Claim("§5.2", "threshold's peak memory ÷ path capacity's", less, max(peaks), high=1, why=over),
        Claim("§5.2", "latency of threshold ÷ simplified segment", hybrid, between, high=1, why=_each_own(runs)),
    ]


def _each_own(runs: Runs) -> str:
    pairs = zip(runs[DECLARED]["threshold"], runs[DECLARED][SIMPLIFIED], strict=True)
    return "Seed by seed it is " + ", ".join(f"{latency(one) / latency(two):.2f}" for one, two in pairs) + "."


def _named(policy: str) -> str:
    return "Chain" if policy == CHAIN else policy.replace("_", " ")
