"""Figures 6.2 to 6.7, measured again; then what selectors come to over all seeds.

The first are of the first seed, and of the paper's bursts. A line is the mean of everything counted so far, as the
thesis has it: its last point is that of the whole run.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import exp, log
from statistics import fmean
from typing import Any

from penstock.experiments.figure import Figure
from penstock.experiments.p04.mixes import ALONE, EQUAL, GOALS, MIXED, PAIRS, WEIGHTS, mix, weights_of
from penstock.experiments.p04.runs import Outcome, Runs, RunSetting, percent
from penstock.experiments.p04.study import IN_FULL, NAMES, PLANS, SELECTORS, Study

WORDS = {
    "delay": ("mean delay", "seconds"),
    "memory": ("mean queue size", "tuples"),
    "rate": ("mean output rate", "results per second"),
}
DRAWN = 120
"""Points of a line."""
ONE, OTHER = PLANS


def figures(study: Study, runs: Runs) -> list[Figure]:
    """Return all figures."""
    short, long = study.short, study.long
    drawn: Sequence[tuple[str, str, float, Mapping[str, str]]] = (
        ("6.2", OTHER, short, dict.fromkeys(("memory", "delay"), "")),
        ("6.3", OTHER, short, {"memory": ALONE["memory"], "delay": ALONE["delay"]}),
        ("6.4", ONE, long, dict.fromkeys(("delay", "rate"), mix("delay", "rate", 70))),
        ("6.5", ONE, long, dict.fromkeys(("delay", "rate"), mix("delay", "rate", 30))),
        ("6.6", OTHER, long, dict.fromkeys(("delay", "rate"), mix("delay", "rate", 50))),
        ("6.7", OTHER, long, dict.fromkeys(("delay", "rate", "memory"), EQUAL)),
    )
    over_time = [
        _over_time(runs, number, study.at(plan, seconds), goal, name)
        for number, plan, seconds, shown in drawn
        for goal, name in shown.items()
    ]
    return [*over_time, *_shares(study, runs), *_by_weight(study, runs), *_by_mix(study, runs)]


def _over_time(runs: Runs, number: str, setting: RunSetting, goal: str, name: str) -> Figure:
    lines = {label: running(runs.single[setting][policy][0], goal) for policy, label in NAMES.items()}
    if name:
        for selector in IN_FULL:
            lines[SELECTORS[selector]] = running(runs.selected[setting, selector][name][0], goal)
    words, unit = WORDS[goal]
    asked = f" for {name.removesuffix(' 100')}" if name else ""
    title = f"{words}{asked}, {PLANS[setting.plan]}"
    dashed = [SELECTORS[selector] for selector in IN_FULL]
    return Figure(f"Figure {number}", title, "time [s]", unit, lines, dashed=dashed)


def running(outcome: Outcome, goal: str) -> list[tuple[Any, float]]:
    """Return the mean of a goal's statistic over everything that was counted up to each second.

    >>> outcome = {"series": [[11.0, 1.0, 4, 2.0, 10], [12.0, 1.0, 0, 0.0, 20]]}
    >>> running(outcome, "delay"), running(outcome, "rate"), running(outcome, "memory")
    ([(11.0, 0.5), (12.0, 0.5)], [(11.0, 4.0), (12.0, 2.0)], [(11.0, 10.0), (12.0, 15.0)])
    """
    time, seconds, results, delays, waiting = zip(*outcome["series"], strict=True)
    passed, made, delayed = (list(accumulate(each)) for each in (seconds, results, delays))
    waited = accumulate(wait * each for wait, each in zip(waiting, seconds, strict=True))
    above, below = {"delay": (delayed, made), "rate": (made, passed), "memory": (list(waited), passed)}[goal]
    line = [
        (round(at, 2), round(upper / lower, 4))
        for at, upper, lower in zip(time, above, below, strict=True)
        if lower
    ]
    return line[:: -(-len(line) // DRAWN)]


def _shares(study: Study, runs: Runs) -> Iterator[Figure]:
    """How much of the time each policy had, for one goal."""
    for selector in IN_FULL:
        for plan in PLANS:
            found = runs.selected[study.at(plan, study.short), selector]
            lines = {
                label: [
                    (goal, round(100 * fmean(each["shares"][policy] for each in found[name]), 2))
                    for goal, name in ALONE.items()
                ]
                for policy, label in NAMES.items()
            }
            title = f"share of the time for one goal, {SELECTORS[selector]}, {PLANS[plan]}, all seeds"
            yield Figure("§7.1", title, "goal", "share of the time [%]", lines, bars=True)


def _by_weight(study: Study, runs: Runs) -> Iterator[Figure]:
    """What a goal gains by its weight, on average over the two pairs it is in."""
    for plan in PLANS:
        setting = study.at(plan, study.long)
        for goal in GOALS:
            lines = {
                label: [(weight, _relative(runs, setting, selector, goal, weight)) for weight in WEIGHTS]
                for selector, label in SELECTORS.items()
            }
            title = f"{WORDS[goal][0]} by its weight beside another goal, {PLANS[plan]}, all seeds"
            yield Figure("§6.4", title, "weight [%]", f"{goal} ÷ that at 0 %", lines)


def _relative(runs: Runs, setting: RunSetting, selector: str, goal: str, weight: int) -> float:
    ratios = []
    for pair in PAIRS:
        if goal in pair:
            other = pair[1 - pair.index(goal)]
            with_it, without = (
                fmean(values[goal] for values in runs.values(setting, selector, mix(goal, other, each)))
                for each in (weight, 0)
            )
            ratios.append(log(with_it / without))
    return round(exp(fmean(ratios)), 4)


def _by_mix(study: Study, runs: Runs) -> Iterator[Figure]:
    """What selectors come to for each mix: goal by goal, and on the score."""
    for plan in PLANS:
        setting = study.at(plan, study.long)
        for goal in GOALS:
            mixes = [name for name in MIXED if goal in weights_of(name)]
            lines = {
                label: [
                    (name, round(-percent(runs.gains_over_median(setting, selector, name, goal)), 2))
                    for name in mixes
                ]
                for selector, label in SELECTORS.items()
            }
            title = f"{goal} behind the median single policy, {PLANS[plan]}, by weights in %"
            yield Figure("§6.4", title, "", "behind [%]; below 0: ahead", lines, bars=True)
    for plan in PLANS:
        setting = study.at(plan, study.long)
        lines = {
            label: [(name, round(fmean(runs.margins(setting, selector, name)[0]), 4)) for name in MIXED]
            for selector, label in SELECTORS.items()
        }
        title = f"score (5.2) − the best single policy's, {PLANS[plan]}, by weights in %"
        yield Figure("§7.1", title, "", "score; below 0: behind", lines, bars=True)
