"""A join of four streams, written in a bad order: time and prediction in the optimizer's order and in that one."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from penstock.bench.comparisons import Comparison
from penstock.bench.machine import described
from penstock.language.script import Script
from penstock.runtime.options import RunOptions
from penstock.runtime.summary import Summary
from penstock.sinks.memory_sink import MemorySink
from penstock.spark.backend import spark_runtime
from penstock.spark.session import spark_session

HEAP = "4g"
FASTER, WITHIN = 2.0, 0.3
WARM = 2
QUERY, JOIN = "answered", "join.1"
SHOP = """
-- A shop with ten sites. Almost every visit is at the site of many orders, and hardly any order is called about.
CREATE STREAM orders (site INT, item INT, customer INT, price INT)
  FROM poisson WITH (rate = 400, seed = 1, site_high = 9, item_high = 49, customer_high = 3999999, {length});
CREATE STREAM visits (site INT, page INT)
  FROM poisson WITH (rate = 400, seed = 2, site_high = 9, {length});
CREATE STREAM stock (item INT, left_over INT)
  FROM poisson WITH (rate = 400, seed = 3, item_high = 49, {length});
CREATE STREAM calls (customer INT, topic INT)
  FROM poisson WITH (rate = 100, seed = 4, customer_high = 3999999, {length});
CREATE QUERY answered AS
  SELECT o.price, v.page, s.left_over, c.topic
  FROM orders [RANGE 5 SECONDS] AS o, visits [RANGE 5 SECONDS] AS v,
       stock [RANGE 5 SECONDS] AS s, calls [RANGE 5 SECONDS] AS c
  WHERE o.site = v.site AND o.item = s.item AND o.customer = c.customer;
SET batch_rows = 4000;
SET optimize = {optimize};
"""


@dataclass(frozen=True)
class OrderRun:
    """One run in one order: its summary and its results."""

    summary: Summary
    results: pa.Table


def measured(seconds: float, repeat: int, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Run the script in both orders in turn, and return the results as a JSON document.

    The first runs of each order are not counted: Spark compiles then. Each run in the optimizer's order predicts
    the utilisation of the next ones in both; the medians of predictions and measurements are compared.
    """
    runs: dict[bool, list[OrderRun]] = {True: [], False: []}
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
        spark_session(settings={"spark.driver.memory": HEAP}) as spark,
    ):
        for turn in range(1 - WARM, repeat + 1):
            for optimize in (True, False):
                order = "the optimizer's order" if optimize else "the order written"
                on_stage(f"{order}, run {turn} of {repeat}" if turn > 0 else f"{order}, to warm up")
                sink = MemorySink()
                program = script(seconds, optimize=optimize)
                options = RunOptions.of(program, drain=True)
                summary = spark_runtime(program, spark, [sink], Path(folder), options).run()
                runs[optimize].append(OrderRun(summary, _sorted(sink.results[QUERY])))
    said = [each.summary.joins[JOIN] for each in runs[True][WARM - 1 : -1]]
    found = {
        name: {
            "orders": {stream: list(order) for stream, order in orders.items()},
            "predicted": predicted,
            "demand": [each.summary.demand for each in runs[optimize][WARM:]],
            "seconds": [each.summary.seconds for each in runs[optimize][WARM:]],
            "jobs": [each.summary.jobs for each in runs[optimize][WARM:]],
            "results": runs[optimize][0].results.num_rows,
        }
        for name, optimize, orders, predicted in (
            ("optimizer", True, said[-1].orders, [each.utilization for each in said]),
            ("written", False, said[-1].written, [each.as_written for each in said]),
        )
    }
    first, *others = [each.results for some in runs.values() for each in some]
    differing = sum(not each.equals(first) for each in others)
    return {
        "benchmark": "orders",
        "machine": described(HEAP),
        "stream_seconds": seconds,
        "rows": runs[True][0].summary.rows_in,
        "selectivities": dict(said[-1].selectivities),
        "plans": found,
        "same_results": not differing,
        "comparisons": [each.as_dict() for each in _comparisons(found, differing)],
    }


def script(seconds: float, *, optimize: bool) -> Script:
    """Return the script; its streams deliver `seconds` of stream time, as fast as it is processed."""
    length = f"seconds = {seconds:g}, speed = 100000"
    return Script.parse(SHOP.format(length=length, optimize=str(optimize).lower()))


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()


def _comparisons(found: Mapping[str, Any], differing: int) -> list[Comparison]:
    """Return the required comparisons: the speed, the predictions, and that all runs have the same results."""
    times = {name: median(each["seconds"]) for name, each in found.items()}
    faster = times["written"] / times["optimizer"]
    claims = [
        Comparison("the order written takes so many times as long", "at least", FASTER, faster),
        Comparison("runs with other results than the first", "at most", 0, differing),
    ]
    for name, words in (("optimizer", "the optimizer's order"), ("written", "the order written")):
        error = abs(median(found[name]["predicted"]) / median(found[name]["demand"]) - 1)
        claims.append(Comparison(f"{words}: error of the predicted utilisation", "at most", WITHIN, error))
    return claims
