"""Long loads on Spark, as commands that print figures.

python -m tests.spark.steady --seconds 300              constant: cached bytes and the driver's memory, the last
                                                        third of the time against the one before
python -m tests.spark.steady --overload --seconds 60    four times what it can do, then the backlog drains
"""

import argparse
import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from statistics import mean

import penstock.spark as ps
from penstock.spark.session import spark_session

SCRIPT = """
CREATE STREAM packets (src STRING, dst STRING, bytes INT) FROM poisson WITH (rate = 2000, seed = 1);
CREATE STREAM replies (host STRING, code INT) FROM poisson
  WITH (rate = 300, seed = 2, host_distinct = 100, code_low = 200, code_high = 599);
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


def cached_bytes(url: str) -> int:
    """What Spark's block manager holds in memory: its own gauge, taken anew at every heartbeat.

    The `memoryUsed` of its REST status will not do: it adds up events, and grows by 12 KB a job for
    `spark.range(1000).toArrow()` in a plain loop, 1.8 MB in 150 jobs, while this gauge is at 0.2 MB.
    """
    with urllib.request.urlopen(f"{url}/metrics/json") as answer:
        gauges = json.load(answer)["gauges"]
    [gauge] = [each for name, each in gauges.items() if name.endswith("ExecutorMetrics.OnHeapStorageMemory")]
    return gauge["value"]


def measured(seconds: float) -> dict[str, object]:
    """Run, look every second, and return the figures of the second and of the last third."""
    looks: list[dict[str, float]] = []
    settings = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.driver.memory": "768m",
        "spark.executor.heartbeatInterval": "1s",
        "spark.cleaner.periodicGC.interval": "5s",  # the least that is held between is then what nothing can free
    }
    with spark_session("local[2]", settings=settings) as spark:
        url = spark.sparkContext.uiWebUrl
        counted: list[int] = []
        options = {"seconds": seconds, "on_rows": lambda query, rows: counted.append(rows.num_rows)}
        with ps.started(SCRIPT, spark=spark, **options) as running:
            start = time.monotonic()
            while time.monotonic() - start < seconds - 2:
                time.sleep(1)
                summary = running.summary()
                looks.append(
                    {
                        "cached": cached_bytes(url),
                        "log": summary.waiting_bytes + sum(s.kept_bytes for s in summary.streams.values()),
                        "python": resident(os.getpid()),
                        "java": sum(map(resident, java_below(os.getpid()))),
                    }
                )
            summary = running.wait(60)
    third = len(looks) // 3
    middle, last = looks[third : 2 * third], looks[2 * third :]
    figures = {
        name: {
            f"{when}_{what}_mb": round(of(look[name] for look in part) / 1e6, 2)
            for when, part in (("middle", middle), ("last", last))
            for what, of in (("least", min), ("mean", mean), ("most", max))
        }
        for name in looks[0]
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

        def look(summary) -> None:
            peak["rows"] = max(peak["rows"], summary.waiting_rows)

        found = ps.run(script, spark=spark, seconds=seconds, drain=True, batch_rows=batch_rows, on_tick=look)
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
