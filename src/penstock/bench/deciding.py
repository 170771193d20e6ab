"""The cost of scheduling: the share of a busy run's time that decisions take."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.bench.comparisons import Comparison
from penstock.bench.discarding_sink import Nowhere
from penstock.bench.machine import described
from penstock.language.script import Script
from penstock.runtime.options import RunOptions
from penstock.runtime.summary import Summary
from penstock.spark.backend import spark_runtime
from penstock.spark.session import spark_session

HEAP = "4g"
RATE = 2000
LEAST_JOBS = 10
"""With fewer jobs there are too few decisions to measure."""


@dataclass(frozen=True)
class DecidingCase:
    """Queries of `forms` templates with `members` each; `most` is the share of the time that deciding may take."""

    forms: int
    members: int
    most: float
    grouped: bool = True

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.forms * self.members

    @property
    def name(self) -> str:
        """The case in words.

        >>> DecidingCase(100, 50, 0.05).name, DecidingCase(500, 1, 0.02, grouped=False).name
        ('5,000 queries in 100 groups', '500 queries, each by itself')
        """
        how = f" in {self.forms:,} groups" if self.grouped else ", each by itself"
        return f"{self.queries:,} queries{how}"


CASES = (
    DecidingCase(500, 1, 0.02, grouped=False),
    DecidingCase(10, 50, 0.02),
    DecidingCase(100, 50, 0.05),
    DecidingCase(5000, 1, 0.05, grouped=False),
)


def measured(seconds: float, *, quick: bool, on_stage: Callable[[str], object]) -> dict[str, Any]:
    """Run the cases one after the other and return the results as a JSON document."""
    cases = [case for case in CASES if not quick or case.queries < 5000 or case.grouped]
    found, comparisons = [], []
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder,
        spark_session(settings={"spark.driver.memory": HEAP}) as spark,
    ):
        for case in cases:
            on_stage(f"{case.name}: starting")
            program = Script.parse(script(case))
            options = RunOptions.of(program, seconds=seconds)
            runtime = spark_runtime(program, spark, [Nowhere()], Path(folder), options)
            on_stage(case.name)
            summary = runtime.run()
            keys = ("deciding", "utilization", "jobs", "seconds", "rows_in", "rows_out", "waiting_rows")
            figures = {key: getattr(summary, key) for key in keys}
            found.append({**asdict(case), "queries": case.queries, "name": case.name, **figures})
            comparisons.append(_compared(case, summary).as_dict())
    return {"benchmark": "deciding", "machine": described(HEAP), "cases": found, "comparisons": comparisons}


def _compared(case: DecidingCase, summary: Summary) -> Comparison:
    claim = f"{case.name}: share of the time"
    if summary.jobs < LEAST_JOBS:
        reason = f"only {summary.jobs} jobs finished, which is too few: let it run longer"
        return Comparison(claim, "at most", case.most, reason=reason, failed=True)
    return Comparison(claim, "at most", case.most, summary.deciding)


def script(case: DecidingCase) -> str:
    """Return the script: selective filters, no two alike, on a bursty stream that keeps all of them busy."""
    lines = [
        f"CREATE STREAM s (k INT, v INT, w INT) FROM bursty WITH (rate = {RATE}, seed = 3, "
        "v_high = 9999, w_high = 9999);"
    ]
    for form in range(case.forms):
        lines += [
            f"CREATE QUERY q{form}_{n} AS SELECT k, v AS v{form} FROM s WHERE v < {10 + n} AND w <> {form};"
            for n in range(case.members)
        ]
    return "\n".join([*lines, f"SET groups = {'true' if case.grouped else 'false'};"])
