"""P04 §6 in short, on Spark: the same candidates, each goal alone, over streams in real time.

What runs first meets a Java that has not compiled yet, and what runs later another load of the machine. So the
queries run for a while first, everything runs in one order and then in its mirror image, and what the two do
not agree on is noise: what lies within it is not judged.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as parquet

from penstock.errors import RunError
from penstock.experiments.claim import Claim
from penstock.experiments.figure import Figure
from penstock.experiments.p04.mixes import ALONE, GOALS, goals_of
from penstock.experiments.p04.plots import WORDS
from penstock.experiments.p04.runs import Outcome, Runs, RunSetting, noise, percent
from penstock.experiments.p04.studies import CANDIDATES
from penstock.experiments.p04.study import BURST, IN_FULL, NAMES, SELECTORS
from penstock.experiments.reproduction import ReproductionSettings
from penstock.experiments.sweep import Told
from penstock.runtime.summary import Summary
from penstock.spark.api import run
from penstock.spark.session import spark_session
from penstock.workloads import Redrawn, until

LOAD = 0.9
WARM_RATE = 5_000
"""Rows per second of each stream while Spark warms up: the capacity is not known yet."""
BACKLOG = 20_000
"""Rows of each stream in the backlog whose processing time is measured."""
BANDS = 2_000
"""Rows of the stored table; a row of the stream is compared with each of them, which makes it expensive."""
SCRIPT = f"""
CREATE STREAM a (k INT, v INT, w INT, name STRING)
  FROM {{a}}, k_high = 999, v_high = 9999, w_high = 9999, seed = 1);
CREATE STREAM b (k INT, u INT) FROM {{b}}, k_high = 999, u_high = 9999, seed = 2);
CREATE TABLE bands (low INT, high INT, number INT) FROM parquet WITH (path = '{{folder}}/bands.parquet');
CREATE QUERY rare AS SELECT k, v FROM a WHERE v < 100;
CREATE QUERY some AS SELECT k, w FROM a WHERE w < 2500 AND v % 2 = 0;
CREATE QUERY most AS SELECT k, u FROM b WHERE u < 9000;
CREATE QUERY digest AS SELECT k, v FROM a WHERE v + length(md5(md5(md5(md5(md5(md5(name))))))) < 2032;
CREATE QUERY banded AS
  SELECT a.k, n.number FROM a JOIN bands n ON a.v >= n.low AND a.v < n.high WHERE a.w + n.number % 2 < 5000;
CREATE QUERY pairs AS
  SELECT a.v, b.u FROM a [ROWS 100] AS a, b [ROWS 100] AS b WHERE a.k = b.k AND a.v < 8000 AND b.u < 8000;
SET groups = false;
SET quantum = '0 s';
SET candidates = '{", ".join(CANDIDATES)}';
"""
NOTES = (
    "Six queries over two streams (filters, a lookup, a join of windows of 100 rows), each unit a job of its own, "
    "at 90 % of their capacity on this machine in one large batch; mean rates are redrawn every 5 s, in bursts "
    "twice as high. All runs have the same rows.",
    "The queries run for a while before anything counts. Then everything runs in one order, and in the opposite "
    "one: values are the mean of both, ± half of their difference. The noise of a gain is the difference of both "
    "gains, and what is within it is not judged. By chance alone three in ten would be beyond it.",
)


class LivePlan(NamedTuple):
    """How long the warm-up is and a run, from when on it counts, which selectors run, the goals they are given."""

    warm_up: float
    seconds: float
    counted_from: float
    selectors: Sequence[str]
    goals: Sequence[str]


FULL = LivePlan(35.0, 13.0, 5.0, IN_FULL, tuple(GOALS))
"""Roulette tries every policy for a second, and the first once more: that is not counted."""
QUICK = LivePlan(15.0, 5.5, 2.5, ("foresight",), ("delay",))
"""Too short for roulette, which would hardly do anything but explore."""


class Wanted(NamedTuple):
    """A policy alone, or a selector with the goal it is given."""

    name: str
    goal: str = ""


class Tick(NamedTuple):
    """State of a run: results so far, the sum of their delays, rows that wait, and the policy."""

    time: float
    results: int
    delays: float
    waiting: int
    policy: str


def tick_of(summary: Summary) -> Tick:
    """Return the current state of a run."""
    queries = summary.queries.values()
    delays = sum(each.outputs * each.avg_response for each in queries if each.outputs)
    return Tick(summary.seconds, summary.rows_out, delays, summary.waiting_rows, summary.policy)


def outcome(ticks: Sequence[Tick], counted_from: float, overhead: float) -> dict[str, Any]:
    """Return means and shares of the ticks that count; without a result the delay is all the time that counts.

    >>> ticks = [Tick(4.0, 9, 1.0, 0, "mtiq"), Tick(5.0, 10, 2.0, 50, "fifo"), Tick(6.0, 14, 4.0, 30, "fifo")]
    >>> found = outcome([*ticks, Tick(9.0, 30, 12.0, 60, "chain")], 5.0, 0.0)
    >>> found["values"], found["shares"]
    ({'delay': 0.5, 'memory': 52.5, 'rate': 5.0}, {'round_robin': 0.0, 'chain': 0.75, 'fifo': 0.25, 'mtiq': 0.0})
    """
    counted = [tick for tick in ticks if tick.time >= counted_from]
    if len(counted) < 2:
        raise RunError(f"the run was over before {counted_from:g} s: nothing of it counts")
    first, last = counted[0], counted[-1]
    seconds, made = last.time - first.time, last.results - first.results
    waited, ran = 0.0, dict.fromkeys(CANDIDATES, 0.0)
    for before, here in pairwise(counted):
        waited += (here.time - before.time) * here.waiting
        ran[here.policy] += here.time - before.time
    delay = (last.delays - first.delays) / made if made else seconds
    return {
        "values": {"delay": delay, "memory": waited / seconds, "rate": made / seconds},
        "shares": {policy: each / seconds for policy, each in ran.items()},
        "overhead": overhead,
    }


def mirrored(plan: LivePlan) -> list[Wanted]:
    """Return everything that runs, in an order in which policies and selectors take turns, then in the opposite.

    >>> [each.name for each in mirrored(QUICK)][:6]
    ['foresight', 'round_robin', 'chain', 'fifo', 'mtiq', 'mtiq']
    """
    chosen = [Wanted(selector, goal) for goal in plan.goals for selector in plan.selectors]
    both = zip_longest(chosen, map(Wanted, CANDIDATES))
    order = [each for each in chain.from_iterable(both) if each is not None]
    return [*order, *order[::-1]]


def reproduced(
    settings: ReproductionSettings, told: Told, *, master: str | None = None, remote: str | None = None
) -> dict[str, Any]:
    """Run single policies and selectors on Spark, and return claims, values and figures as a JSON document."""
    begun = perf_counter()
    plan = QUICK if settings.quick else FULL
    wanted = mirrored(plan)
    runs: dict[Wanted, list[Outcome]] = {each: [] for each in wanted}
    with tempfile.TemporaryDirectory(prefix="penstock-p04-") as name, spark_session(master, remote) as spark:
        folder = Path(name)
        work = partial(run, on_rows=lambda query, rows: None, spark=spark)
        told(0, len(wanted), "warming up")
        _write_bands(folder)
        rate = LOAD * _capacity(work, folder, plan.warm_up)
        _write_arrivals(folder, rate, plan.seconds, settings.seed)
        for done, each in enumerate(wanted):
            told(done, len(wanted), f"{each.name} {each.goal}".strip())
            runs[each].append(_lived(work, folder, each, plan))
    judged = list(claims(runs, plan))
    length = f"{plan.warm_up:g} s to warm up; {plan.seconds:g} s per run, counted from {plan.counted_from:g} s on"
    return {
        "paper": "P04",
        "title": "Policies chosen by the goals, on Spark (P04 §6)",
        "notes": [*NOTES, f"{rate:,.0f} rows per second on each stream; {length}."],
        "on": "spark",
        "cells": len(wanted),
        "quick": settings.quick,
        "seconds": perf_counter() - begun,
        "values": [_row(each, outcomes) for each, outcomes in runs.items()],
        "claims": [claim.as_dict() for claim in judged if isinstance(claim, Claim)],
        "undecided": [text for text in judged if isinstance(text, str)],
        "figures": [figure.as_dict() for figure in _figures(runs)],
    }


def _write_bands(folder: Path) -> None:
    lows = [10_000 * place // BANDS for place in range(BANDS)]
    bands = {"low": lows, "high": [*lows[1:], 10_000], "number": list(range(BANDS))}
    whole = {name: pa.array(values, pa.int32()) for name, values in bands.items()}
    parquet.write_table(pa.table(whole), folder / "bands.parquet")


def _write_arrivals(folder: Path, rate: float, seconds: float, seed: int) -> None:
    for place, stream in enumerate("ab"):
        times = until(Redrawn(rate), 2 * seed + place, seconds + 1)
        parquet.write_table(pa.table({"time": times}), folder / f"{stream}.parquet")


def _capacity(work: Callable[..., Any], folder: Path, warm_up: float) -> float:
    """Warm up; return the capacity of the queries in rows per second of each stream, in one large batch."""
    source = f"poisson WITH (rate = {WARM_RATE}"
    script = SCRIPT.format(a=source, b=source, folder=folder)
    _checked(work(script, qos="balanced", selector="roulette", seconds=warm_up).summary)
    source = f"poisson WITH (rate = 1e7, rows = {BACKLOG}"
    script = SCRIPT.format(a=source, b=source, folder=folder)
    return BACKLOG / min(_checked(work(script, policy="fifo", drain=True).summary).seconds for _ in range(2))


def _lived(work: Callable[..., Any], folder: Path, wanted: Wanted, plan: LivePlan) -> Outcome:
    a, b = (f"trace WITH (path = '{folder}/{stream}.parquet'" for stream in "ab")
    script = SCRIPT.format(a=a, b=b, folder=folder)
    ticks: list[Tick] = []
    begin = partial(work, script, seconds=plan.seconds, on_tick=lambda summary: ticks.append(tick_of(summary)))
    if wanted.goal:
        found = begin(qos=goals_of(ALONE[wanted.goal]), selector=wanted.name)
    else:
        found = begin(policy=wanted.name)
    return outcome(ticks, plan.counted_from, _checked(found.summary).qos.overhead)


def _checked(summary: Summary) -> Summary:
    for name in summary.failed:
        raise RunError(f"query {name} failed: {summary.queries[name].reason}")
    return summary


def _row(wanted: Wanted, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the mean of both runs, and half of their difference."""
    values = {}
    for goal in GOALS:
        every = [each["values"][goal] for each in outcomes]
        values[goal] = {"mean": fmean(every), "noise": (max(every) - min(every)) / 2}
    shares = {policy: fmean(each["shares"][policy] for each in outcomes) for policy in CANDIDATES}
    return {"name": wanted.name, "goal": wanted.goal, "values": values, "shares": shares}


def claims(lived: Mapping[Wanted, Sequence[Outcome]], plan: LivePlan) -> Iterator[Claim | str]:
    """Yield what the paper says beside what was measured; as a text, what cannot be told from noise.

    Runs are compared as those of the simulator are, with the two orders instead of its seeds.
    """
    setting = RunSetting("spark", BURST, plan.seconds)
    selected = {
        (setting, selector): {ALONE[goal]: lived[Wanted(selector, goal)] for goal in plan.goals}
        for selector in plan.selectors
    }
    runs = Runs({setting: {policy: lived[Wanted(policy)] for policy in CANDIDATES}}, selected)
    for goal in plan.goals:
        for selector in plan.selectors:
            yield _picked(runs, setting, selector, goal)
    for goal in plan.goals:
        best = NAMES[runs.ranked(setting, goal)[0]]
        for selector in plan.selectors:
            gains = runs.gains(setting, selector, ALONE[goal], goal)
            what = f"{SELECTORS[selector]}, {goal}: gain over {best}, the best alone"
            made = Claim("§7.1, one goal", what, "never able to outperform", percent(gains), "%", high=0)
            yield _beyond_noise(made, gains)
    for goal in plan.goals:
        for selector in plan.selectors:
            gains = runs.gains_over_median(setting, selector, ALONE[goal], goal)
            what = f"{SELECTORS[selector]}, {goal}: gain over the median policy"
            made = Claim("§6.4, no worse than the median", what, "performs well", percent(gains), "%", low=0)
            yield _beyond_noise(made, gains)
    for selector in plan.selectors:
        shares = [each["overhead"] for wanted, both in lived.items() if wanted.name == selector for each in both]
        what = f"{SELECTORS[selector]}: share of the time that choosing took, most"
        yield Claim("§7.1, overhead", what, "comparable to single ones", 100 * max(shares), "%", high=5)


def _picked(runs: Runs, setting: RunSetting, selector: str, goal: str) -> Claim | str:
    """Whether the best policy alone, or one that noise cannot tell from it, is used more than the others."""
    best = runs.best(setting, goal)
    label = f"{SELECTORS[selector]}, {goal}"
    if len(best) == len(CANDIDATES):
        return f"{label}: no policy alone is the best"
    others = [policy for policy in CANDIDATES if policy not in best]
    ahead = [
        100 * (max(each["shares"][one] for one in best) - max(each["shares"][one] for one in others))
        for each in runs.selected[setting, selector][ALONE[goal]]
    ]
    what = f"{label}: share of the time of {' or '.join(NAMES[one] for one in best)}, the best, − others'"
    made = Claim("§7.1, used most", what, "chosen more than others", fmean(ahead), "points", low=0)
    return _beyond_noise(made, ahead)


def _beyond_noise(claim: Claim, values: Sequence[float]) -> Claim | str:
    if abs(fmean(values)) > noise(values):
        return claim
    one, other = (percent([each]) for each in values) if claim.unit == "%" else values
    return f"{claim.what}: {one:.3g} and {other:.3g} {claim.unit}"


def _figures(runs: Mapping[Wanted, Sequence[Outcome]]) -> Iterator[Figure]:
    """Yield what everything came to, goal by goal."""
    for goal in GOALS:
        words, unit = WORDS[goal]
        lines: dict[str, list[tuple[Any, float]]] = {}
        for each, outcomes in runs.items():
            label = {**NAMES, **SELECTORS}[each.name]
            mean = round(fmean(one["values"][goal] for one in outcomes), 4)
            lines.setdefault(label, []).append((f"for {each.goal}" if each.goal else "alone", mean))
        yield Figure("Spark", f"{words}, alone and by the goal given", "", unit, lines, bars=True)
