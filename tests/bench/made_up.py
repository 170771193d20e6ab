"""Results that nobody measured."""

from penstock.bench.stock.case import CaseResult, MeasuredRun


def measured(case, rate, response=1.0, status="ok", behind=1.0):
    """A case that went at this many row-queries a second."""
    run = MeasuredRun(
        rows=1000,
        row_queries=1000 * case.queries,
        outputs=10,
        seconds=1000 * case.queries / rate,
        avg_response=response,
        median_response=response,
        p95_response=1.5 * response,
        p99_response=2 * response,
        max_response=3 * response,
        behind_s=behind,
    )
    return CaseResult(case, status, "" if status == "ok" else "made up", (run,), 5.0, 1.0, 2.0, 10**9)
