"""Drop boxes on executors: numpy's hash is Spark's, and both keep the same rows."""

import numpy as np
import pyarrow as pa
import pytest

from penstock.shedding.drop_box import DropBox, chances, keeps_sql

LARGEST = 2**63 - 1
EDGES = [0, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, LARGEST - 1, LARGEST, -1, -LARGEST - 1]
SHARES = (0.0, 1e-17, 1e-9, 0.1, 1 / 3, 0.5, 0.999999999, 1 - 2**-53, 1.0)


@pytest.fixture(scope="module")
def numbers():
    drawn = np.random.default_rng(7).integers(0, LARGEST, 60_000)
    return np.concatenate([np.array(EDGES), np.arange(40_000), drawn])


def test_numpys_hash_is_sparks(spark, numbers):
    frame = spark.createDataFrame(pa.table({"seq": numbers}))
    for stream in ("packets", "größe", "s"):
        sql = keeps_sql(stream, 1.0, "seq").removeprefix("(").partition(" < ")[0]
        found = frame.selectExpr(f"{sql} AS top").toArrow().column("top").to_numpy()
        assert np.array_equal(found, chances(stream, numbers) * 2.0**53)


def test_spark_keeps_the_rows_that_numpy_keeps(spark, numbers):
    frame = spark.createDataFrame(pa.table({"the seq": numbers}))
    conditions = [f"{keeps_sql('packets', share, '`the seq`')} AS k{place}" for place, share in enumerate(SHARES)]
    found = frame.selectExpr(*conditions).toArrow()
    for place, share in enumerate(SHARES):
        box = DropBox("packets")
        box.set(share, 0)
        kept = box.keeps(numbers)
        assert np.array_equal(found.column(f"k{place}").to_numpy(), kept)
        assert kept.mean() == pytest.approx(share, abs=0.005)
        assert (share not in (0.0, 1.0)) or kept.all() == kept.any() == bool(share)


def test_a_number_of_another_type_is_hashed_as_a_bigint(spark):
    frame = spark.sql("SELECT CAST(id AS INT) AS seq FROM range(1000)")
    found = frame.where(keeps_sql("s", 0.4, "seq")).count()
    box = DropBox("s")
    box.set(0.4, 0)
    assert found == box.keeps(np.arange(1000)).sum()
