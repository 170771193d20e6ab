"""What P04 §6 and §7 say, and the ranges by which that is judged.

The thesis prints no numbers that can be read, so the ranges stand for its words: "best" and "outperforms" are a
gain of 0 % or more, "never outperforms" and "no worse" none beyond noise, "more than the others" is half of the
runs, "about average" within 5 %, "quite well" at most 5 % behind, "comparable" at most 5 % of the processor, "for
some, but not all" more than none and not all. What counts as noise was settled after a first quick run.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import TypeAlias

from penstock.experiments.claim import Claim
from penstock.experiments.p04.mixes import ALONE, EQUAL, GOALS, MIXED, PAIRS, WEIGHTS, mix, weights_of
from penstock.experiments.p04.reasons import COMPROMISE, CONTRADICTED, TIES, of_selector
from penstock.experiments.p04.runs import Runs, RunSetting, compared, noise, percent
from penstock.experiments.p04.study import BURST, IN_FULL, NAMES, PLANS, SELECTORS, Study

Rule: TypeAlias = Callable[[Study, Runs], Iterator[Claim]]
ONE, OTHER = PLANS


def claims(study: Study, runs: Runs) -> list[Claim]:
    """Return all claims, figure by figure, each with the reason why it does not hold, as far as it is known."""
    rules: Sequence[Rule] = (_singles, _picked, _never_better, _one_goal, _two_goals, _three_goals, _median,
                             _beats, _weights, _overhead)  # fmt: skip
    found = [claim for rule in rules for claim in rule(study, runs)]
    figures = list(dict.fromkeys(claim.figure for claim in found))
    return sorted(found, key=lambda claim: figures.index(claim.figure))


def _mean(runs: Runs, setting: RunSetting, policy: str, goal: str) -> float:
    return fmean(each["values"][goal] for each in runs.single[setting][policy])


def _singles(study: Study, runs: Runs) -> Iterator[Claim]:
    """Figure 6.2."""
    for plan in (OTHER, ONE):
        setting = study.at(plan, study.long)
        memory = {policy: _mean(runs, setting, policy, "memory") for policy in NAMES}
        delay = {policy: _mean(runs, setting, policy, "delay") for policy in NAMES}
        batch, fair = ("chain", "mtiq"), ("fifo", "round_robin")
        most = max(memory[one] for one in batch) / min(memory[one] for one in fair)
        what = f"{PLANS[plan]}: memory, Chain and MTIQ ÷ FIFO and RR, at most"
        yield Claim("Figure 6.2", what, "Chain and MTIQ performed best", most, high=1)
        least = min(delay[one] for one in batch) / max(delay[one] for one in fair)
        what = f"{PLANS[plan]}: delay, MTIQ and Chain ÷ FIFO and RR, at least"
        yield Claim("Figure 6.2", what, "the two worst performers", least, low=1)
        behind = 100 * (delay["fifo"] / min(delay.values()) - 1)
        yield Claim("Figure 6.2", f"{PLANS[plan]}: delay, FIFO behind the best", "quite well", behind, "%", high=5)


def most_used(shares: dict[str, float]) -> str:
    """Return the policy that ran longest."""
    return max(shares, key=shares.__getitem__)


def picks(runs: Runs, setting: RunSetting, selector: str, goal: str) -> list[bool]:
    """Return whether the best single policy, or one that is as good, was used most, by seed."""
    best = runs.best(setting, goal)
    return [most_used(each["shares"]) in best for each in runs.selected[setting, selector][ALONE[goal]]]


def _picked(study: Study, runs: Runs) -> Iterator[Claim]:
    """§7.1: for one goal the best single policy is used most. Where all are alike, there is nothing to pick."""
    words = "chosen more than others"
    for selector in IN_FULL:
        for plan in PLANS:
            setting = study.at(plan, study.short)
            for goal in GOALS:
                share = 100 * fmean(picks(runs, setting, selector, goal))
                alike = len(runs.best(setting, goal))
                which = "best" if alike == 1 else f"one of {alike} best"
                what = f"{SELECTORS[selector]}, {PLANS[plan]}, {goal}: {which} used most, of runs"
                why = of_selector(selector, goal) or TIES
                yield Claim(f"§7.1, {study.short:.0f} s", what, words, share, "%", low=50, why=why)
    for burst in study.seeds:
        for seconds in (study.short, study.long):
            settings = [study.at(plan, seconds, burst) for plan in PLANS]
            asked = [
                (each, goal) for each in settings for goal in GOALS if len(runs.best(each, goal)) < len(NAMES)
            ]
            for selector, name in SELECTORS.items():
                found = [pick for each, goal in asked for pick in picks(runs, each, selector, goal)]
                what = f"{name}, all plans and goals{_bursts(burst)}: best used most, of runs"
                yield Claim(
                    f"§7.1, {seconds:.0f} s", what, words, 100 * fmean(found) if found else None, "%", low=50,
                    why=of_selector(selector) or TIES,
                )  # fmt: skip


def _bursts(burst: float) -> str:
    return "" if burst == BURST else f", ×{burst:g}"


def _never_better(study: Study, runs: Runs) -> Iterator[Claim]:
    """§7.1: for one goal no selector beats the best single policy."""
    for seconds in (study.short, study.long):
        for selector, name in SELECTORS.items():
            beyond, where = max(
                (fmean(gains) - noise(gains), f"{PLANS[plan]}, {goal}: by {percent(gains):.1f} %")
                for plan in PLANS
                for goal in GOALS
                for gains in [runs.gains(study.at(plan, seconds), selector, ALONE[goal], goal)]
            )
            what = f"{name}, one goal: gain over the best beyond noise, most"
            yield Claim(
                f"§7.1, {seconds:.0f} s", what, "never able to outperform", percent([beyond]), "%", high=0,
                why=f"{name} is ahead on {where}.",
            )  # fmt: skip


def _gain(
    figure: str, runs: Runs, setting: RunSetting, selector: str, name: str, goal: str, words: str, why: str,
    place: int = 0,
) -> Claim:  # fmt: skip
    gains = runs.gains(setting, selector, name, goal, place)
    than = "the best" if place == 0 else "all but the best"
    what = f"{SELECTORS[selector]}, {PLANS[setting.plan]}: {goal}, gain over {than}"
    return Claim(figure, what, words, percent(gains), "%", low=0, why=why)


def _one_goal(study: Study, runs: Runs) -> Iterator[Claim]:
    """Figure 6.3, which §7.1 contradicts."""
    setting = study.at(OTHER, study.short)
    for selector in IN_FULL:
        for goal, words in (("memory", "outperforms at many times"), ("delay", "outperforms all")):
            yield _gain("Figure 6.3", runs, setting, selector, ALONE[goal], goal, words, CONTRADICTED)


def _two_goals(study: Study, runs: Runs) -> Iterator[Claim]:
    """Figures 6.4 to 6.6."""
    setting = study.at(ONE, study.long)
    delay, rate = mix("delay", "rate", 70), mix("delay", "rate", 30)
    for selector in IN_FULL:
        name = f"{SELECTORS[selector]}, plan 1"
        reason = of_selector(selector) or CONTRADICTED
        yield _gain("Figure 6.4", runs, setting, selector, delay, "delay", "outperformed all", reason)
        singles = [fmean(single["rate"] for single in row) for row in runs.singles(setting)]
        before = [values["rate"] for values in runs.values(setting, selector, delay)]
        off = 100 * (fmean(before) / fmean(singles) - 1)
        yield Claim("Figure 6.4", f"{name}: rate off the mean of single ones", "about average", off, "%", -5, 5)
        after = [values["rate"] for values in runs.values(setting, selector, rate)]
        better = 100 * (fmean(after) / fmean(before) - 1)
        words = "improves significantly"
        yield Claim("Figure 6.5", f"{name}: rate above 70-30", words, better, "%", low=0, why=TIES)
        yield _gain("Figure 6.5", runs, setting, selector, rate, "delay", "exceptionally well", reason)
    for selector in IN_FULL:
        scores, _ = runs.margins(study.at(OTHER, study.long), selector, mix("delay", "rate", 50))
        what = f"{SELECTORS[selector]}, plan 2: score above every single one, of runs"
        reason = f"{of_selector(selector)} {TIES}".lstrip()
        ahead = 100 * fmean(one > 0 for one in scores)
        yield Claim("Figure 6.6", what, "outperforms all, mostly", ahead, "%", low=50, why=reason)


def _three_goals(study: Study, runs: Runs) -> Iterator[Claim]:
    """Figure 6.7."""
    setting = study.at(OTHER, study.long)
    words = "improves on all but the best"
    for selector in IN_FULL:
        reason = of_selector(selector) or COMPROMISE
        for goal in ("delay", "memory"):
            yield _gain("Figure 6.7", runs, setting, selector, EQUAL, goal, words, reason, place=1)


def behind_median(runs: Runs, setting: RunSetting, selector: str, name: str) -> dict[str, float]:
    """Return by how many per cent the goals of a mix are behind the median single policy, beyond noise."""
    found = {goal: runs.gains_over_median(setting, selector, name, goal) for goal in weights_of(name)}
    return {goal: -percent([fmean(gains) + noise(gains)]) for goal, gains in found.items()}


def _median(study: Study, runs: Runs) -> Iterator[Claim]:
    """No worse than the median single policy, on any goal of a mix: ours, after §6.4's second aim."""
    words = "performs well in both"
    for selector in IN_FULL:
        for name in MIXED:
            found = {
                f"{PLANS[plan]}, {goal}": behind
                for plan in PLANS
                for goal, behind in behind_median(runs, study.at(plan, study.long), selector, name).items()
            }
            where = max(found, key=found.__getitem__)
            what = f"{SELECTORS[selector]}, {name}: behind the median beyond noise, most ({where})"
            yield Claim("§6.4", what, words, found[where], "%", high=0, why=COMPROMISE)
    for burst in study.seeds:
        for selector, label in SELECTORS.items():
            every = [
                beyond <= 0
                for plan in PLANS
                for name in MIXED
                for beyond in behind_median(runs, study.at(plan, study.long, burst), selector, name).values()
            ]
            what = f"{label}{_bursts(burst)}: goals of mixes not behind the median"
            yield Claim("§6.4", what, words, 100 * fmean(every), "%", low=100, why=COMPROMISE)


def _beats(study: Study, runs: Runs) -> Iterator[Claim]:
    """How often a selector beats every single policy on all goals of a mix together."""
    words = "for some, but not all"
    settings = [study.at(plan, study.long) for plan in PLANS]
    for place, kind in enumerate(("score (5.2)", "our loss")):
        for selector, label in SELECTORS.items():
            found = [runs.margins(setting, selector, name)[place] for setting in settings for name in MIXED]
            ahead = sum(fmean(each) > noise(each) for each in found)
            share = 100 * fmean(one > 0 for each in found for one in each)
            what = f"{label}, {kind}: mixes ahead of every single policy, of {len(found)}"
            yield Claim("§7.1, mixes", what, words, ahead, "", 1, len(found) - 1, of_selector(selector))
            what = f"{label}, {kind}: runs ahead of every single policy"
            yield Claim("§7.1, mixes", what, words, share, "%", 1, 99, of_selector(selector))


def steps(runs: Runs, setting: RunSetting, selector: str, goal: str, other: str) -> list[float]:
    """Return how many per cent a goal gains at each step of its weight, 0 to 30, 50, 70, 100; and from 0 to 100.

    With a weight of 0 it is the run for the other goal alone.
    """
    every = [
        [values[goal] for values in runs.values(setting, selector, mix(goal, other, weight))] for weight in WEIGHTS
    ]
    moves = [*pairwise(every), (every[0], every[-1])]
    return [percent(compared(goal, after, before)) for before, after in moves]


def _weights(study: Study, runs: Runs) -> Iterator[Claim]:
    """Raising the weight of a goal improves it."""
    words = "preferences have an effect"
    ways = [way for pair in PAIRS for way in (pair, pair[::-1])]
    for selector in IN_FULL:
        for goal, other in ways:
            least = min(steps(runs, study.at(plan, study.long), selector, goal, other)[-1] for plan in PLANS)
            what = f"{SELECTORS[selector]}: {goal} at 100 % instead of 0 % ({other}), least gain"
            why = TIES if "rate" in (goal, other) else of_selector(selector)
            yield Claim("§6.4, weights", what, words, least, "%", low=0, why=why)
    for selector, label in SELECTORS.items():
        every = [steps(runs, study.at(plan, study.long), selector, *way) for plan in PLANS for way in ways]
        ends = [each[-1] >= 0 for each in every]
        what = f"{label}: goals, pairs and plans better at 100 % than at 0 %"
        yield Claim("§6.4, weights", what, words, 100 * fmean(ends), "%", low=100, why=TIES)
        single = [step >= 0 for each in every for step in each[:-1]]
        what = f"{label}: steps 0, 30, 50, 70, 100 that do not worsen"
        yield Claim("§6.4, weights", what, words, 100 * fmean(single), "%", low=50, why=of_selector(selector))


def _overhead(study: Study, runs: Runs) -> Iterator[Claim]:
    """§7.1: overhead."""
    for selector, label in SELECTORS.items():
        shares = []
        for plan in PLANS:
            setting = study.at(plan, study.long)
            alone = median(each["elapsed"] for some in runs.single[setting].values() for each in some)
            chosen = median(each["elapsed"] for some in runs.selected[setting, selector].values() for each in some)
            shares.append(100 * (chosen - alone) / study.long)
        what = f"{label}: real time of choosing ÷ time of the run, most"
        yield Claim("§7.1, overhead", what, "comparable to single ones", max(shares), "%", high=5)
