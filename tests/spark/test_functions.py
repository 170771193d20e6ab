"""Functions mean in a query what the samples say: all of them in one job, as Spark is given them."""

import math

import pyarrow as pa

from penstock.language import Script
from penstock.plan.columns import arrow_type
from penstock.plan.plan import Plan, never
from penstock.spark.frames import arrow_frame
from tests.language.samples import ROW, SAMPLES
from tests.language.test_functions import DECLARED


def test_every_sample(spark):
    row = pa.table(
        {name: pa.array([list(value.items()) if kind.startswith("MAP") else value], arrow_type(kind))
         for name, (kind, value) in ROW.items()}
    )  # fmt: skip
    frame = arrow_frame(spark, row)
    given = []
    for number, (expression, _) in enumerate(SAMPLES):
        script = Script.parse(f"{DECLARED} CREATE QUERY q AS SELECT {expression} AS v{number} FROM s")
        [*_, project] = Plan.of(script, never).steps.values()
        given.append(project.sql)
    [got] = frame.selectExpr(*given).toArrow().to_pylist()
    wrong = {
        expression: (found, wanted)
        for (expression, wanted), found in zip(SAMPLES, got.values(), strict=True)
        if not same(found, wanted)
    }
    assert wrong == {}


def same(found, wanted):
    if isinstance(wanted, float):
        return math.isclose(float(found), wanted, rel_tol=1e-12)
    return found == wanted
