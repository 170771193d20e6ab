"""A few shapes on another kind of Spark, in a process of their own: prints what differs from the oracle, as JSON.

python -m tests.spark.elsewhere --remote 'local[2]'
python -m tests.spark.elsewhere --master 'local-cluster[2,1,1024]'
python -m tests.spark.elsewhere --master spark://127.0.0.1:7077 --conf spark.driver.host=127.0.0.1 --rows stored
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import penstock.spark as ps
from penstock.spark.session import spark_session
from tests.oracle.oracle import difference, expected, read_rows
from tests.oracle.shapes import SHAPES

TRIED = ("stored_table_join", "mixed_windows", "four_way", "self_join", "null_keys")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--master")
    parser.add_argument("--remote")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--rows", help="the setting `rows`; none if absent")
    wanted = parser.parse_args()
    settings = dict(each.split("=", 1) for each in wanted.conf)
    found = {}
    with (
        spark_session(wanted.master, wanted.remote, settings=settings) as spark,
        tempfile.TemporaryDirectory() as folder,
    ):
        for shape in TRIED:
            case = SHAPES[shape](4)
            place = Path(folder) / shape
            script = case.write(place)
            if wanted.rows:
                script.write_text(f"{script.read_text()}\nSET rows = '{wanted.rows}';\n")
            summary = ps.run(script, out=place / "out", drain=True, spark=spark, policy="hnr").summary
            for query in case.queries:
                told = difference(expected(case, query.name), read_rows(place / "out", query.name))
                found[f"{shape}.{query.name}"] = told or summary.queries[query.name].reason
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
