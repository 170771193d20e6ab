"""Long loads on Spark, as commands that print figures.

python -m tests.spark.steady --seconds 300              constant, with a pause after each third: the memory of the
                                                        last third against the one before, and what the pauses
                                                        leave in Spark
python -m tests.spark.steady --overload --seconds 60    four times what it can do, then the backlog drains
"""

import argparse
import gc
import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import penstock.spark as ps
from penstock.spark.session import spark_session

COLLECTED_S = 5
"""How often Java collects its garbage: Spark lets go of a broadcast only then."""

PAUSE_S = 2 * COLLECTED_S + 2
"""Long enough that a collection comes after the last job, whenever that ends."""

RATES = {"packets": 2000, "replies": 300}

SCRIPT = """
CREATE STREAM packets (src STRING, dst STRING, bytes INT) FROM trace
  WITH (path = '{folder}/packets.parquet', seed = 1);
CREATE STREAM replies (host STRING, code INT) FROM trace
  WITH (path = '{folder}/replies.parquet', seed = 2, host_distinct = 100, code_low = 200, code_high = 599);
CREATE QUERY big AS SELECT src, bytes FROM packets WHERE bytes > 1400;
CREATE QUERY small AS SELECT src, dst, bytes * 2 AS twice FROM packets WHERE bytes < 50;
CREATE QUERY errors AS SELECT host, code FROM replies WHERE code >= 500;
CREATE QUERY echo AS SELECT p.src, r.code FROM packets [RANGE 2 SECONDS] AS p, replies [ROWS 100] AS r
  WHERE concat('host', substring(p.src, 4, 10)) = r.host AND r.code >= 500 AND p.bytes > 1400;
"""


def resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def java_below(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    found = []
    for child in map(int, children):
        if Path(f"/proc/{child}/comm").read_text().strip() == "java":
            found.append(child)
        found += java_below(child)
    return found


def held_by_spark(url: str) -> dict[str, int]:
    """What Spark's block manager holds in memory, and what of Java's heap is used, as of the last heartbeat.

    The `memoryUsed` of its REST status will not do for the first: it adds up events, and grows by 12 KB a job for
    `spark.range(1000).toArrow()` in a plain loop, 1.8 MB in 150 jobs, while this gauge is at 0.2 MB.
    """
    with urllib.request.urlopen(f"{url}/metrics/json") as answer:
        gauges = json.load(answer)["gauges"].items()
    values = {name.rpartition("ExecutorMetrics.")[2]: gauge["value"] for name, gauge in gauges}
    return {"cached": values["OnHeapStorageMemory"], "heap": values["JVMHeapMemory"]}


def collect_java_garbage(spark: SparkSession) -> None:
    """Collect now: the heap of a pause is otherwise read up to a heartbeat after a collection, 20 MB too high."""
    spark.sql("SELECT java_method('java.lang.System', 'gc')").collect()


def write_arrivals(folder: Path, third: float) -> None:
    """Write the arrivals of every stream: three times a constant load and a pause, and one more to pause for."""
    random = np.random.default_rng(1)
    starts = [turn * (third + PAUSE_S) for turn in range(4)]
    for stream, rate in RATES.items():
        loads = [start + np.sort(random.uniform(0, third, round(rate * third))) for start in starts[:3]]
        times = np.concatenate([*loads, starts[3:]])
        pq.write_table(pa.table({"time": times}), folder / f"{stream}.parquet")


def measured(seconds: float) -> dict[str, object]:
    """Run, sample every second, and return the figures of the second and of the last third.

    Under load Spark holds the broadcasts of running jobs, and of those that no collection has found yet: a
    sawtooth between 0 and 40 MB. What stays in a pause, after collections in Python and in Java, is what
    somebody keeps.
    """
    turns = [{"load": [], "pause": []} for _ in ("first", "middle", "last")]
    third = seconds / 3
    settings = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.driver.memory": "768m",
        "spark.executor.heartbeatInterval": "1s",
        "spark.cleaner.periodicGC.interval": f"{COLLECTED_S}s",
    }
    with TemporaryDirectory() as folder, spark_session("local[2]", settings=settings) as spark:
        write_arrivals(Path(folder), third)
        url = spark.sparkContext.uiWebUrl
        whole = 3 * (third + PAUSE_S)
        counted: list[int] = []
        options = {"seconds": whole + 2, "on_rows": lambda query, rows: counted.append(rows.num_rows)}
        with ps.started(SCRIPT.format(folder=folder), spark=spark, **options) as running:
            start = time.monotonic()
            while (now := time.monotonic() - start) < whole - 1:
                time.sleep(1)
                turn, since = divmod(now, third + PAUSE_S)
                summary = running.summary()
                paused = since > third and not summary.waiting_rows
                if paused:
                    gc.collect()
                    collect_java_garbage(spark)
                turns[int(turn)]["pause" if paused else "load"].append(
                    {
                        **held_by_spark(url),
                        "log": summary.waiting_bytes + sum(s.kept_bytes for s in summary.streams.values()),
                        "python": resident(os.getpid()),
                        "java": sum(map(resident, java_below(os.getpid()))),
                    }
                )
            summary = running.wait(60)
    figures = {
        name: {
            f"{when}_{phase}_{what}_mb": round(of(sample[name] for sample in samples) / 1e6, 2)
            for when, turn in (("middle", turns[1]), ("last", turns[2]))
            for phase, samples in turn.items()
            for what, of in (("least", min), ("mean", mean), ("most", max))
        }
        for name in ("cached", "heap", "log", "python", "java")
    }
    return {
        **figures,
        "rows_in": summary.rows_in,
        "rows_out": summary.rows_out,
        "jobs": summary.jobs,
        "utilization": summary.utilization,
        "abandoned": summary.abandoned_rows,
        "avg_response": {name: query.avg_response for name, query in summary.queries.items()},
        "max_response": {name: query.max_response for name, query in summary.queries.items()},
    }


OVERLOADED = """
CREATE STREAM packets (src STRING, bytes INT) FROM poisson WITH (rate = {rate}, seed = 1);
CREATE QUERY every AS SELECT src, bytes FROM packets;
CREATE QUERY big AS SELECT src, bytes FROM packets WHERE bytes > 749;
SET memory = '64MB';
"""


def overloaded(seconds: float, times: float = 4.0, batch_rows: int = 500) -> dict[str, object]:
    """Measure what the system can do with small batches, then give it several times that for a while."""
    with spark_session("local[2]") as spark:
        for rate in (50_000, 50_000):  # the first warms up
            spent = ps.run(OVERLOADED.format(rate=rate), spark=spark, seconds=6, batch_rows=batch_rows).summary
        capacity = spent.queries["every"].outputs / spent.seconds
        script = OVERLOADED.format(rate=round(times * capacity))
        peak = {"rows": 0}

        def sample(summary) -> None:
            peak["rows"] = max(peak["rows"], summary.waiting_rows)

        found = ps.run(script, spark=spark, seconds=seconds, drain=True, batch_rows=batch_rows, on_tick=sample)
    results = found.results
    return {
        "capacity_rows_per_s": capacity,
        "offered_rows_per_s": times * capacity,
        "offered_for_s": seconds,
        "took_s": found.summary.seconds,
        "rows_in": found.summary.rows_in,
        "peak_waiting_rows": peak["rows"],
        "peak_waiting_bytes": found.summary.peak_bytes,
        "every": results["every"].num_rows,
        "big": results["big"].num_rows,
        "big_by_hand": sum(value > 749 for value in results["every"].column("bytes").to_pylist()),
        "abandoned": found.summary.abandoned_rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--overload", action="store_true")
    wanted = parser.parse_args()
    json.dump((overloaded if wanted.overload else measured)(wanted.seconds), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
