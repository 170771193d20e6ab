import os

import pytest
from hypothesis import HealthCheck, settings

# Derandomised: a red run is red again. `pytest --hypothesis-profile=explore` looks further.
SLOW_IS_FINE = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("steady", derandomize=True, **SLOW_IS_FINE)
settings.register_profile("explore", max_examples=2000, **SLOW_IS_FINE)
settings.load_profile("steady")

# Tests start Spark from an archive of classes if the user has one, and make none in the user's cache
os.environ.setdefault("PENSTOCK_CLASS_ARCHIVE", "use")


@pytest.fixture(scope="session")
def spark():
    """One Spark session for the whole suite; tests without one do not load pyspark."""
    from penstock.spark.session import spark_session

    # Java's second compiler is for code that runs long: each test has other code, and it takes a third of the CPU.
    # Without it Java keeps 48 MB of code and compiles nothing more when they are full: late tests were slow
    quick = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.extraJavaOptions": quick}
    with spark_session("local[2]", settings=settings) as session:
        yield session
