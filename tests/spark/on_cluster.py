"""A drain on a cluster, in a process of its own: prints the results so far as it runs, a number a line.

A test runs it, and kills workers meanwhile.
"""

import argparse
import sys
from pathlib import Path

import penstock.spark as ps
from penstock.runtime.summary import Summary


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("script", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--master", required=True)
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--chunk-rows", type=int)
    wanted = parser.parse_args()

    def tell(summary: Summary) -> None:
        sys.stdout.write(f"{summary.rows_out}\n")
        sys.stdout.flush()

    summary = ps.run(
        wanted.script,
        out=wanted.out,
        drain=True,
        master=wanted.master,
        conf=dict(each.split("=", 1) for each in wanted.conf),
        chunk_rows=wanted.chunk_rows,
        batch_rows=wanted.chunk_rows,
        on_tick=tell,
    ).summary
    if summary.failed:
        sys.exit("\n".join(summary.queries[name].reason for name in summary.failed))


if __name__ == "__main__":
    main()
