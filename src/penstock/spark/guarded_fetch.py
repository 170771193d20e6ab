"""Fetch the rows of a job; the job fails before its results use up the memory."""

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.runtime.result_limits import Limit, TooManyResults
from penstock.runtime.rows.driver_traffic import TRAFFIC

_MESSAGE = "penstock: a task made too many results"
_SIGNS = (_MESSAGE, "spark.driver.maxResultSize", "java.lang.OutOfMemoryError")
"""Texts in errors of jobs with too many results."""
_IN_TASK = (1 << 33) - 1
"""The bits of a row's id that count the rows of one task."""


def fetched(frame: DataFrame, limit: Limit | None) -> pa.Table:
    """Return all rows of a frame; raise `TooManyResults` if they exceed the limit.

    Each task counts its own rows and fails beyond its share, which costs nothing. With an exact limit, Spark
    fetches one row more than the limit, to see whether there is one.
    """
    if limit is not None and limit.exact:
        frame = frame.limit(limit.results + 1)
    elif limit is not None:
        counted = f"(monotonically_increasing_id() & {_IN_TASK}L) < {limit.of_a_task}L"
        frame = frame.filter(f"CASE WHEN {counted} THEN true ELSE raise_error('{_MESSAGE}') END")
    try:
        table = frame.toArrow()
        TRAFFIC.add(fetched=table.nbytes)
    except Exception as error:
        if any(sign in str(error) for sign in _SIGNS):
            raise TooManyResults(str(error)[:200]) from error
        raise
    if limit is not None and limit.exact and table.num_rows > limit.results:
        raise TooManyResults(f"more than {limit.results:,} rows")
    return table
