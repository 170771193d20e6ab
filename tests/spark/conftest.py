"""One Spark session for the whole suite."""

import pytest

from penstock.spark.session import spark_session


@pytest.fixture(scope="session")
def spark():
    with spark_session("local[2]", settings={"spark.sql.shuffle.partitions": "2"}) as session:
        yield session
