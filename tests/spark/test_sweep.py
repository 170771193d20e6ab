"""A cell of a sweep comes out of a Spark task as it does out of a call."""

import json

import pytest

from penstock.errors import RunError
from penstock.experiments import sweep
from penstock.experiments.sweep import SweepCell, measured

TINY = {"policy": "hr", "load": 0.9, "count": 50, "queries": 5, "seed": 1, "trace": None}


@pytest.mark.slow
def test_a_task_gives_what_a_call_gives(spark):
    cell = SweepCell("SCLP08", "load", TINY)
    result, seconds = sweep._job(spark, cell)
    assert json.loads(result) == measured(cell)
    assert seconds > 0
    with pytest.raises(RunError, match=r"the cell SCLP08 load, policy nope.*there is no policy 'nope'"):
        sweep._job(spark, SweepCell("SCLP08", "load", TINY | {"policy": "nope"}))
