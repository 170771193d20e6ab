"""Peak memory of a long run, in a process of its own: ``python -m`` this."""

import json
import os
import sys
from time import perf_counter
from typing import Any

from penstock.bench.machine import peak_bytes
from penstock.bench.processes import Reporter, in_a_process
from penstock.bench.simulator.timing import SEED, queries

PACKETS, QUERIES, POLICY = 1_000_000, 500, "hnr"
LIMIT_S = 600.0
WARM_PACKETS = 2


def measured() -> dict[str, Any]:
    """Run a million packets and return decisions, seconds and bytes."""
    spec = {"packets": PACKETS, "queries": QUERIES, "policy": POLICY}
    found = in_a_process(__name__, spec, limit_s=LIMIT_S, on_stage=lambda stage: None)
    return {**spec, **found}


def main() -> None:
    """Run the simulation that standard input specifies, and report it."""
    from penstock.simulator.simulate import simulate

    spec = json.load(sys.stdin)
    reporter = Reporter()
    given = queries(spec["queries"])
    simulate(given.network, given.times(SEED, count=WARM_PACKETS), spec["policy"], SEED)
    begun = perf_counter()
    result = simulate(given.network, given.times(SEED, count=spec["packets"]), spec["policy"], SEED)
    seconds = perf_counter() - begun
    reporter.result({"decisions": result.decisions, "seconds": seconds, "peak_bytes": peak_bytes(os.getpid())})


if __name__ == "__main__":
    main()
