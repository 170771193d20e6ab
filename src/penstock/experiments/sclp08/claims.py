"""What SCLP08 §9 says of Figures 6 to 30, and the ranges by which that is judged.

The ranges were written before anything was measured: a percentage holds within 10 points of the printed one,
within 5 where that is 20 or less; a factor within a quarter either way; a ratio of Figure 28 within a tenth. Words
such as "best" hold if nothing is better.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from penstock.experiments.claim import Claim
from penstock.experiments.reproduction import CellResults
from penstock.experiments.sclp08.experiment import (
    LEARNING,
    NAMES,
    RATES,
    SHOWN_AT,
    STEPS,
    SCLP08Experiment,
    clustered,
)
from penstock.experiments.sclp08.reasons import REASONS


def claims(paper: SCLP08Experiment, found: CellResults) -> list[Claim]:
    """Return all claims, each with the reason why it does not hold, where there is one to tell."""
    return [*_loads(paper, found), *_classes_and_time(paper, found), *_selectivity(paper, found),
            *_joins(paper, found), *_memory(paper, found), *_overhead(paper, found), *_sharing(paper, found),
            *_learning(paper, found)]  # fmt: skip


def _claim(
    figure: int, what: str, published: str, value: float | None, unit: str, low: float | None, high: float | None
) -> Claim:
    name = f"Figure {figure}"
    return Claim(name, what, published, value, unit, low, high, REASONS.get((figure, what), ""))


def _percent(figure: int, what: str, printed: float, measured: float, words: str = "") -> Claim:
    margin = 10 if printed > 20 else 5
    return _claim(figure, what, words or f"{printed:g} %", measured, "%", printed - margin, printed + margin)


def _times(figure: int, what: str, printed: float, measured: float) -> Claim:
    return _claim(figure, what, f"{printed:g} times", measured, "times", 0.75 * printed, 1.25 * printed)


def _least(figure: int, what: str, published: str, worst: float) -> Claim:
    """A policy is the best: the most by which it is above the best other one."""
    return _claim(figure, what, published, worst, "%", None, 0)


def below(one: float, other: float) -> float:
    """Return by how many per cent one value is below another.

    >>> below(25, 100)
    75.0
    """
    return 100 * (1 - one / other)


def _loads(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 6 to 12."""
    loads = paper.sizes.loads

    def less(policy: str, other: str, load: float, metric: str) -> float:
        return below(paper.mean(found, policy, load, metric), paper.mean(found, other, load, metric))

    def up_to(policy: str, other: str, metric: str) -> float:
        return max(less(policy, other, load, metric) for load in loads)

    def above_best(policy: str, metric: str, among: Sequence[str]) -> float:
        others = [other for other in among if other != policy]
        return max(-less(policy, other, load, metric) for other in others for load in loads)

    for load, printed in ((0.7, (74, 51, 18)), (0.97, (75, 53, 20))):
        for other, percent in zip(("aurora", "srpt", "hr"), printed, strict=True):
            what = f"avg slowdown, HNR below {NAMES[other]} at {load}"
            yield _percent(6, what, percent, less("hnr", other, load, "avg_slowdown"))
    plotted = ("aurora", "srpt", "hr", "hnr")
    yield _least(6, "avg slowdown, HNR above the best other", "lowest", above_best("hnr", "avg_slowdown", plotted))
    for load, percent in ((0.7, 4), (0.97, 7)):
        what = f"avg response, HNR above HR at {load}"
        yield _percent(7, what, percent, -less("hnr", "hr", load, "avg_response"))
    ratio = paper.mean(found, "fifo", 0.97, "avg_response") / paper.mean(found, "hr", 0.97, "avg_response")
    yield _times(7, "avg response, FCFS ÷ HR at 0.97", 6.3, ratio)
    every = tuple(NAMES)
    yield _percent(8, "max response, FCFS below HR at 0.97", 75, less("fifo", "hr", 0.97, "max_response"))
    yield _least(8, "max response, FCFS above the best other", "lowest", above_best("fifo", "max_response", every))
    yield _percent(9, "max slowdown, LSF below HNR at 0.97", 80, less("lsf", "hnr", 0.97, "max_slowdown"))
    yield _least(9, "max slowdown, LSF above the best other", "lowest", above_best("lsf", "max_slowdown", every))
    yield _percent(10, "max slowdown, BSD below HNR at 0.95", 44, less("bsd", "hnr", 0.95, "max_slowdown"))
    yield _percent(10, "avg slowdown, BSD below LSF at 0.95", 80, less("bsd", "lsf", 0.95, "avg_slowdown"))
    yield _percent(11, "ℓ2 slowdown, BSD below LSF, up to", 57, up_to("bsd", "lsf", "l2_slowdown"))
    yield _percent(11, "ℓ2 slowdown, BSD below HNR, up to", 24, up_to("bsd", "hnr", "l2_slowdown"))
    yield _least(11, "ℓ2 slowdown, BSD above the best other", "lowest", above_best("bsd", "l2_slowdown", every))
    yield _percent(12, "ℓ2 response, BRT below FCFS, up to", 51, up_to("brt", "fifo", "l2_response"))
    yield _percent(12, "ℓ2 response, BRT below HR, up to", 23, up_to("brt", "hr", "l2_response"))
    yield _least(12, "ℓ2 response, BRT above the best other", "lowest", above_best("brt", "l2_response", every))


def shown(paper: SCLP08Experiment, found: CellResults, policy: str) -> Mapping[str, Any]:
    """Return the run that is shown per class and over time."""
    return found.of(paper.at_load(policy, SHOWN_AT, paper.seed))


def classes(paper: SCLP08Experiment, found: CellResults, policy: str) -> list[tuple[str, float]]:
    """Return the slowdown of the cheapest queries, by selectivity."""
    prefix = "cost 0, selectivity "
    every = shown(paper, found, policy)["classes"]
    return [
        (name.removeprefix(prefix), value) for name, value in every.items() if name.startswith(prefix) and value
    ]


def _classes_and_time(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 13 to 17."""
    bias = {}
    for policy in ("hr", "hnr", "bsd"):
        values = [value for _, value in classes(paper, found, policy)]
        bias[policy] = values[0] / values[-1]
    what = "slowdown, lowest ÷ highest selectivity: HR ÷ HNR"
    yield _claim(13, what, "HR is less fair", bias["hr"] / bias["hnr"], "times", 1, None)
    what = "slowdown, lowest ÷ highest selectivity: HNR ÷ BSD"
    yield _claim(13, what, "BSD is fairer", bias["hnr"] / bias["bsd"], "times", 1, None)
    for figure, (policy, metric) in zip((14, 15, 16, 17), LEARNING.items(), strict=True):
        others = [other for other in NAMES if other != policy]
        mine = shown(paper, found, policy)["series"][metric]
        theirs = [shown(paper, found, other)["series"][metric] for other in others]
        rows = [row for row in zip(mine, *theirs, strict=False) if None not in row]
        busiest = sorted(rows, key=lambda row: -max(row))[: max(1, len(rows) // 10)]
        best = 100 * fmean(row[0] <= min(row[1:]) * 1.05 for row in busiest)
        name = metric.replace("avg_", "avg ").replace("l2_", "ℓ2 ")
        what = f"{name}, {NAMES[policy]} within 5 % of the best, of peaks"
        yield _claim(figure, what, "best at peaks", best, "%", 50, None)


def _selectivity(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 18 and 19."""

    def at(policy: str, most: float, metric: str) -> float:
        return float(found.of(paper.same_cost(policy, most))[metric])

    for most, printed in ((0.5, (44, 19)), (1.0, (61, 27))):
        for other, percent in zip(("hr", "hnr"), printed, strict=True):
            less = below(at("bsd", most, "l2_slowdown"), at(other, most, "l2_slowdown"))
            yield _percent(18, f"ℓ2 slowdown, BSD below {NAMES[other]}, most {most}", percent, less)
    values = [at(policy, 0.1, "l2_slowdown") for policy in ("hr", "hnr", "bsd")]
    spread = 100 * (max(values) / min(values) - 1)
    yield _claim(18, "ℓ2 slowdown, apart at most 0.1", "almost the same", spread, "%", None, 5)
    gains = {
        most: max(
            below(at(f"{policy}_oracle", most, metric), at(policy, most, metric))
            for policy, metric in (("hr", "avg_response"), ("hnr", "avg_slowdown"))
        )
        for most in (0.1, 1.0)
    }
    yield _percent(19, "oracle below its policy at most 0.1, up to", 80, gains[0.1])
    yield _percent(19, "oracle below its policy at most 1.0", 12, gains[1.0])


def _joins(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figure 20."""

    def at(policy: str, load: float) -> float:
        return float(found.of(paper.two_streams(policy, load))["l2_slowdown"])

    less = max(below(at("bsd", load), at("hnr", load)) for load in paper.shared_loads)
    yield _percent(20, "ℓ2 slowdown, BSD below HNR, up to", 14, less)
    yield _times(20, "ℓ2 slowdown, RR ÷ BSD at 0.9", 17, at("aurora", 0.9) / at("bsd", 0.9))
    yield _times(20, "ℓ2 slowdown, FCFS ÷ BSD at 0.9", 15, at("fifo", 0.9) / at("bsd", 0.9))


def _memory(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 21 and 22."""

    def at(policy: str, load: float, metric: str = "mean_memory") -> float:
        return paper.mean(found, policy, load, metric)

    loads = paper.sizes.loads
    yield _percent(21, "memory, HNR below HR, up to", 22, max(below(at("hnr", x), at("hr", x)) for x in loads))
    yield _percent(21, "memory, BSD below HNR, up to", 13, max(below(at("bsd", x), at("hnr", x)) for x in loads))
    for what, printed, one, other, metric in (
        ("avg slowdown, Chain ÷ HNR at 0.97", 3, "chain", "hnr", "avg_slowdown"),
        ("memory, HNR ÷ Chain at 0.97", 2, "hnr", "chain", "mean_memory"),
        ("ℓ2 slowdown, Chain ÷ BSD at 0.97", 2.2, "chain", "bsd", "l2_slowdown"),
        ("memory, BSD ÷ Chain at 0.97", 1.85, "bsd", "chain", "mean_memory"),
    ):
        yield _times(22, what, printed, at(one, 0.97, metric) / at(other, 0.97, metric))


def _overhead(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 23 and 24."""
    logarithmic, uniform = paper.sizes.clusters["log"], paper.sizes.clusters["uniform"]

    def at(m: int, spacing: str) -> float:
        return float(found.of(paper.charged(clustered(m, spacing)))["l2_slowdown"])

    def step(name: str) -> float:
        return float(found.of(paper.charged(*STEPS[name]))["l2_slowdown"])

    ideal = step("no overhead")
    hnr = float(found.of(paper.charged("hnr", "scan", free=True))["l2_slowdown"])
    yield _percent(23, "ℓ2 slowdown, 12 log clusters above ideal", 5, -below(at(12, "log"), ideal))
    few = max(at(m, "log") for m in logarithmic if m <= 6) / hnr
    yield _claim(23, "ℓ2 slowdown, 6 log clusters or fewer ÷ HNR", "may exceed", few, "times", 1, None)
    many = max(at(m, "log") for m in logarithmic if m > 12) / at(12, "log")
    yield _claim(23, "ℓ2 slowdown, more than 12 log clusters ÷ 12", "rises again", many, "times", 1, None)
    coarse = at(12, "uniform") / at(12, "log")
    yield _claim(23, "ℓ2 slowdown, 12 uniform clusters ÷ 12 log", "very poor", coarse, "times", 2, None)
    fine = -below(at(max(uniform), "uniform"), ideal)
    yield _percent(23, "ℓ2 slowdown, very many uniform above ideal", 10, fine)
    naive = -below(step("naive"), ideal)
    yield _claim(24, "ℓ2 slowdown, naive above ideal", "6470 %", naive, "%", 4850, 8100)
    drops = [step(name) for name in list(STEPS)[1:]]
    worst = max(later / earlier for earlier, later in pairwise(drops))
    yield _claim(24, "ℓ2 slowdown, each technique ÷ without it, most", "each gains", worst, "times", None, 1)


def _sharing(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 25 to 27."""
    printed = {"hr": (25, (21, 12)), "hnr": (26, (24, 18)), "bsd": (27, (10, 8))}
    for policy, (figure, percents) in printed.items():
        metric = LEARNING[policy]
        for how, percent in zip(("max", "sum"), percents, strict=True):
            less = max(
                below(
                    float(found.of(paper.shared(policy, "pdt", load))[metric]),
                    float(found.of(paper.shared(policy, how, load))[metric]),
                )
                for load in paper.shared_loads
            )
            name = metric.replace("avg_", "avg ").replace("l2_", "ℓ2 ")
            yield _percent(figure, f"{name}, PDT below {how.capitalize()}, up to", percent, less)


def ratio(paper: SCLP08Experiment, found: CellResults, policy: str, deviation: int, **learning: float) -> float:
    """Return adaptive ÷ static, under the metric that the policy is for."""
    metric = LEARNING[policy]
    adaptive = found.of(paper.drifting(policy, deviation, **learning))[metric]
    return float(adaptive) / float(found.of(paper.drifting(policy, deviation, None))[metric])


def _learning(paper: SCLP08Experiment, found: CellResults) -> Iterator[Claim]:
    """Figures 28 to 30."""
    sizes = paper.sizes
    for deviation, printed in ((5, (0.10, 0.15)), (25, (0.74, 0.76))):
        for policy, share in zip(("hr", "hnr"), printed, strict=True):
            what = f"{NAMES[policy]}, adaptive ÷ static, deviation {deviation}"
            value = ratio(paper, found, policy, deviation)
            yield _claim(28, what, f"{share:g}", value, "", max(0, share - 0.1), share + 0.1)
    worst = max(ratio(paper, found, policy, d) for policy in LEARNING for d in sizes.deviations)
    yield _claim(28, "adaptive ÷ static, the most", "always better", worst, "", None, 1)
    low = sizes.deviations[0]
    by_window = {w: fmean(ratio(paper, found, p, low, window=w) for p in RATES) for w in sizes.windows}
    by_alpha = {a: fmean(ratio(paper, found, p, low, alpha=a) for p in RATES) for a in sizes.alphas}
    best_window = min(by_window, key=lambda window: by_window[window])
    best_alpha = min(by_alpha, key=lambda alpha: by_alpha[alpha])
    yield _claim(29, "best window", "50 to 150 tuples", best_window, "tuples", 50, 150)
    yield _claim(30, "best α", "0.1 to 0.25", best_alpha, "", 0.1, 0.25)
