"""Load shedding on a join of three streams at three times the machine's capacity, with a memory limit."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations, product
from math import prod
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from penstock.bench.comparisons import Comparison
from penstock.bench.discarding_sink import Nowhere
from penstock.bench.machine import described
from penstock.language.script import Script
from penstock.network import Window
from penstock.optimizer import Filter, JoinProblem, optimize
from penstock.plan.probe_orders import COSTS
from penstock.runtime.listeners import Listeners
from penstock.runtime.options import RunOptions
from penstock.runtime.summary import StreamSummary, Summary
from penstock.spark.backend import spark_runtime
from penstock.spark.session import spark_session

HEAP = "4g"
OVERLOAD = 3.0
LEAST_OVERLOAD, WITHIN = 2.5, 0.1
CALIBRATED_S = 60.0
CALM = f"seconds = {CALIBRATED_S:g}, speed = 100000"
WARM_S, SETTLED = 60.0, 0.1
"""Minimum warm-up time of Java, and by how much the last two warm-up runs may differ."""
QUERY, JOIN = "met", "join.2"
MEMORY = 32_000_000
SHED = "b"
"""The stream that is expected to be shed: its rows are expensive, and the others are few."""

RATES = {"a": 200.0, "b": 8000.0, "c": 400.0}
KEYS = {("a", "b"): 100_000, ("a", "c"): 10_000}
RANGE_S = 10.0
CHECK_S = 1e-4
"""Approximate cost of the check of a row of b; the expected orders do not depend on it."""
MEETING = """
-- Alarms meet log lines of the same host and readings of the same room. There are many lines, and a regular
-- expression that backtracks in each of them is expensive: it passes all, and takes most of the time.
CREATE STREAM a (k INT, m INT) FROM poisson WITH (rate = {a}, seed = 1, k_high = {k}, m_high = {m}, {pace});
CREATE STREAM b (k INT, word STRING) FROM poisson WITH (rate = {b}, seed = 2, k_high = {k}, {pace});
CREATE STREAM c (m INT, v INT) FROM poisson WITH (rate = {c}, seed = 3, m_high = {m}, {pace});
CREATE QUERY met AS
  SELECT a.k, b.word, c.v
  FROM a [RANGE {range_s} SECONDS] AS a, b [RANGE {range_s} SECONDS] AS b, c [RANGE {range_s} SECONDS] AS c
  WHERE a.k = b.k AND a.m = c.m AND NOT concat(b.word, 'aaaaaaaaaaaaaa') RLIKE '(a+)+!';
SET policy = 'threshold.every(2)';
SET batch_rows = 60000;
SET chunk_time = '500 ms';
{settings}
"""


def script(pace: str, settings: str = "") -> Script:
    """Return the script; `pace` has options of its streams."""
    figures = {name: f"{rate:g}" for name, rate in RATES.items()}
    keys = {"k": KEYS["a", "b"] - 1, "m": KEYS["a", "c"] - 1}
    return Script.parse(MEETING.format(**figures, **keys, range_s=f"{RANGE_S:g}", pace=pace, settings=settings))


@dataclass
class RunLog:
    """Summaries and events of a run, in the order reported."""

    ticks: list[Summary] = field(default_factory=list)
    events: list[str] = field(default_factory=list)

    def tick(self, summary: Summary) -> None:
        """Record the current state of the run."""
        self.ticks.append(summary)

    def event(self, text: str) -> None:
        """Record an event."""
        when = f"{self.ticks[-1].seconds:.1f} s: " if self.ticks else ""
        self.events.append(when + text)


def measured(seconds: float, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Measure the join's demand, run it at three times the capacity, and return the results as a JSON document."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
        spark_session(settings={"spark.driver.memory": HEAP}) as spark,
    ):
        calm = script(CALM)
        demand = calm_demand(
            lambda: spark_runtime(calm, spark, [Nowhere()], Path(folder), RunOptions.of(calm, drain=True)).run(),
            on_stage,
        )
        speed = OVERLOAD / demand
        on_stage(f"{seconds:g} s at {speed:.2g} times the streams' rates: {OVERLOAD:g} times the capacity")
        log = RunLog()
        overloaded = script(f"speed = {speed:.4g}", f"SET memory = {MEMORY}; SET shed = true;")
        options = RunOptions.of(overloaded, drain=True, seconds=seconds)
        listeners = Listeners(on_event=log.event, on_tick=log.tick)
        summary = spark_runtime(overloaded, spark, [Nowhere()], Path(folder), options, listeners).run()
    return _found(seconds, demand, speed, summary, log)


def calm_demand(run: Callable[[], Summary], on_stage: Callable[[str], object]) -> float:
    """Return the share of the machine that the join takes at the rates of its streams, once Java has warmed up.

    Java recompiles the expensive check for most of a minute, and it gets faster each time.
    """
    taken: list[float] = []
    spent = 0.0
    while spent < WARM_S or (abs(taken[-1] - taken[-2]) > SETTLED * taken[-1] and spent < 2 * WARM_S):
        on_stage(f"measuring the join's demand, {CALIBRATED_S:g} s of stream time: run {len(taken) + 1}")
        summary = run()
        taken.append(summary.demand)
        spent += summary.seconds
    return min(taken[-2:])


def _found(seconds: float, demand: float, speed: float, summary: Summary, log: RunLog) -> dict[str, Any]:
    ticks = [each for each in log.ticks if each.seconds < seconds]  # after that, the rest is drained
    shed = [each for each in ticks if each.shedding is not None and each.shedding.budget is not None]
    keep = {name: stream.keep for name, stream in (shed[-1] if shed else summary).streams.items()}
    demands = [each.shedding.demand for each in shed if each.shedding]
    predicted = predicted_results(summary, ticks, speed)
    calm = [each for each in ticks if JOIN in each.joins and each not in shed and not each.rows_dropped]
    orders = {
        when: list(some[-1].joins[JOIN].orders["a"]) if some else []
        for when, some in (("before", calm), ("after", shed))
    }
    expected = expected_orders(keep)
    counts = {name: _audited(name, stream) for name, stream in summary.streams.items()}
    found: dict[str, Any] = {
        "benchmark": "overload",
        "machine": described(HEAP),
        "seconds": seconds,
        "speed": speed,
        "demand_at_speed_1": demand,
        "predicted_demand": float(np.median(demands)) if demands else None,
        "memory_limit": MEMORY,
        "peak_bytes": summary.peak_bytes,
        "keep": keep,
        "results": summary.queries[QUERY].outputs,
        "predicted_results": predicted,
        "orders": orders,
        "expected_orders": expected,
        "streams": counts,
        "dropped_for_query": dict(summary.queries[QUERY].dropped),
        "changes": summary.shedding.changes if summary.shedding else 0,
        "events": log.events,
    }
    found["comparisons"] = [each.as_dict() for each in _comparisons(found)]
    return found


def predicted_results(summary: Summary, ticks: Sequence[Summary], speed: float) -> float | None:
    """Return how many results the optimizer predicts for the drop boxes, each over the time it was in force.

    A box is in force over a range of sequence numbers, and so for as long as the stream takes to deliver these
    rows. All windows are of time, so the prediction is the product of the shares kept times the prediction for
    whole streams; of the latter, the median of all summaries is taken. None if there was no prediction.
    """
    whole = [
        tick.shedding.results[QUERY] / speed / prod(stream.keep for stream in tick.streams.values())
        for tick in ticks
        if tick.shedding is not None
    ]
    stream = summary.streams[SHED]
    ends = [start for start, _ in stream.boxes[1:]] + [stream.rows]
    kept = sum((end - start) * share for (start, share), end in zip(stream.boxes, ends, strict=True))
    return float(np.median(whole)) * kept / RATES[SHED] if whole else None


def _comparisons(found: Mapping[str, Any]) -> list[Comparison]:
    error = None
    if found["predicted_results"]:
        error = abs(found["results"] / found["predicted_results"] - 1)
    wrong = sum(not each["exact"] for each in found["streams"].values())
    for_query = found["dropped_for_query"]
    wrong += any(for_query.get(name) != each["dropped"] for name, each in found["streams"].items())
    other = sum(found["orders"][when] != found["expected_orders"][when] for when in ("before", "after"))
    agrees = all(each[0] == found["expected_orders"]["an04"][when][1] for when, each in _firsts(found))
    return [
        Comparison(
            "load offered, by what the machine can do", "at least", LEAST_OVERLOAD, found["predicted_demand"],
            failed=True,
        ),
        Comparison("queue memory at its peak, by the limit", "at most", 1.0, found["peak_bytes"] / MEMORY),
        Comparison("output: error of what was predicted for the boxes", "at most", WITHIN, error, failed=True),
        Comparison(
            "changes of the join's order when rows are dropped", "at least", 1,
            int(found["orders"]["before"] != found["orders"]["after"]),
        ),
        Comparison("its orders, before and after, other than the best of all", "at most", 0, other),
        Comparison("plans of ps.optimize that begin otherwise", "at most", 0, int(not agrees)),
        Comparison("streams or queries whose dropped rows are miscounted", "at most", 0, wrong),
    ]  # fmt: skip


def _firsts(found: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    return [(when, found["expected_orders"][when]) for when in ("before", "after")]


# Expected values, from what the script declares and nothing that was measured ------------------------------------


def expected_orders(keep: Mapping[str, float]) -> dict[str, Any]:
    """Return the order in which a row of `a` should probe the others, before shedding and for what is kept.

    Once by trying all orders of all streams, once by AN04's plans of joins (`ps.optimize`), whose first two
    streams say which is joined with `a` first: for all there is, and for a third of what the best plan takes.
    """
    problem = JoinProblem(
        rates=RATES,
        windows=dict.fromkeys(RATES, Window("range", RANGE_S)),
        selectivities={pair: 1 / count for pair, count in KEYS.items()},
        join_cost=1e-6,
        filters={"b": [Filter(CHECK_S, 1.0, "check")]},
    )
    demand = optimize(problem, capacity=1e9).utilization
    plans = {"before": optimize(problem, capacity=1e9), "after": optimize(problem, capacity=demand / OVERLOAD)}
    return {
        "before": list(cheapest_orders(dict.fromkeys(RATES, 1.0))["a"]),
        "after": list(cheapest_orders(keep)["a"]),
        "an04": {when: ["a", *(each for each in plan.order[:2] if each != "a")] for when, plan in plans.items()},
    }


def cheapest_orders(keep: Mapping[str, float]) -> dict[str, tuple[str, ...]]:
    """Return the cheapest of all orders for the shares kept; every combination is tried."""
    others = {name: [each for each in RATES if each != name] for name in RATES}
    every = product(*(permutations(some) for some in others.values()))
    found = min(every, key=lambda orders: sum(_seconds(*each, keep) for each in zip(RATES, orders, strict=True)))
    return dict(zip(RATES, found, strict=True))


def _seconds(first: str, order: tuple[str, ...], keep: Mapping[str, float]) -> float:
    """Return the processor time per second that the rows of a stream take, probing in this order."""
    held = {name: rate * keep[name] * RANGE_S for name, rate in RATES.items()}
    rows, seconds, taken = RATES[first] * keep[first], 0.0, {first}
    for each in order:
        share = float(np.prod([1 / KEYS[pair] for pair in KEYS if each in pair and taken & set(pair)]))
        seconds += rows * (COSTS.row + COSTS.pair * held[each] * share)
        rows *= held[each] * share
        taken.add(each)
    return seconds + rows * COSTS.result


def _audited(name: str, stream: StreamSummary) -> dict[str, Any]:
    """Return the counts of a stream, and those that follow from its drop boxes by an independent hash."""
    ends = [start for start, _ in stream.boxes[1:]] + [stream.rows]
    dropped = sum(
        _chance(name, number) >= share
        for (start, share), end in zip(stream.boxes, ends, strict=True)
        if share < 1
        for number in range(start, end)
    )
    lost = stream.dropped + stream.late + stream.malformed
    exact = dropped == stream.dropped and stream.rows == stream.kept + lost
    return {
        "rows": stream.rows,
        "kept": stream.kept,
        "dropped": stream.dropped,
        "said_by_boxes": dropped,
        "exact": exact,
        "boxes": [list(each) for each in stream.boxes],
    }


def _chance(stream: str, number: int) -> float:
    """Return Spark's xxhash64 of a stream's name and a row's number, in whole numbers, as a share of all."""
    word, seed = (1 << 64) - 1, 42
    for value in (crc32(stream.encode()), number):
        z = value * 0xC2B2AE3D27D4EB4F & word
        z = (seed + 0x27D4EB2F165667CD) ^ ((z << 31 | z >> 33) * 0x9E3779B185EBCA87)
        z &= word
        z = ((z << 27 | z >> 37) & word) * 0x9E3779B185EBCA87 + 0x85EBCA77C2B2AE63 & word
        z = (z ^ (z >> 33)) * 0xC2B2AE3D27D4EB4F & word
        z = (z ^ (z >> 29)) * 0x165667B19E3779F9 & word
        seed = z ^ (z >> 32)
    return (seed >> 11) / (1 << 53)
