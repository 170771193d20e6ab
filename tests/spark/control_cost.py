"""The cost of statistics and of choosing policies, with many queries: a command that prints figures.

python -m tests.spark.control_cost --queries 1000 --seconds 40              a thousand queries as one group
python -m tests.spark.control_cost --queries 500 --separate --seconds 60    five hundred queries, each by itself
"""

import argparse
import json
import sys

import penstock as ps
from penstock.spark.session import spark_session

STREAM = "CREATE STREAM s (k INT, v INT, w INT) FROM poisson WITH (rate = 2000, seed = 1);\n"


def script(queries: int, *, separate: bool, goals: str) -> str:
    lows = [i * 37 % 980 for i in range(queries)]
    lines = [
        f"CREATE QUERY q{i} AS SELECT k, v FROM s WHERE v >= {low} AND v < {low + 20};\n"
        for i, low in enumerate(lows)
    ]
    groups = "SET groups = false;\n" if separate else ""
    return STREAM + "".join(lines) + groups + f"SET qos = '{goals}, weigh q1 5';\n"


def figures(queries: int, seconds: float, selector: str, *, separate: bool) -> dict:
    text = script(queries, separate=separate, goals="minimize avg_slowdown 0.7, minimize queue_memory 0.3")
    with spark_session("local[2]") as spark:
        summary = ps.run(
            text, spark=spark, seconds=seconds, selector=selector, on_rows=lambda query, rows: None
        ).summary
    qos = summary.qos
    return {
        "queries": queries,
        "separate": separate,
        "selector": selector,
        "seconds": summary.seconds,
        "jobs": summary.jobs,
        "results": summary.rows_out,
        "looks": qos.looks,
        "rehearsed": qos.rehearsed,
        "switches": qos.switches,
        "overhead": qos.overhead,
        "deciding": summary.deciding,
        "policies": qos.policies,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--selector", default="foresight")
    parser.add_argument("--separate", action="store_true")
    given = parser.parse_args()
    found = figures(given.queries, given.seconds, given.selector, separate=given.separate)
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
