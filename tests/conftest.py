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

# Every Java that a test starts: its second compiler and its parallel garbage collector are for programs that run
# long, and took half of the CPU of tests that start a Spark of their own. With the first compiler alone, Java has
# room for 48 MB of code and compiles nothing more once they are full: late tests were slow
QUICK_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
os.environ.setdefault("JDK_JAVA_OPTIONS", f"{QUICK_COMPILER} -XX:+UseSerialGC")


# Long files, and the one that compiles the simulator: workers begin with them
FIRST = [
    "tests/bench/test_selectors.py",
    "tests/spark/test_cluster.py",
    "tests/bench/test_scale.py",
    "tests/spark/test_class_archive.py",
    "tests/spark/test_steady.py",
    "tests/storage/test_stopping.py",
    "tests/storage/test_sources_go_on.py",
    "tests/storage/test_killed.py",
    "tests/spark/test_elsewhere.py",
    "tests/cli/test_run.py",
]


def pytest_collection_modifyitems(config, items):
    """Order the files for the workers of `make test` and `make test-slow`; `pytest` alone keeps its order.

    A worker that is free takes the next file: the long ones, those on Spark, then those that take seconds, so
    that all workers end together. One worker compiles the simulator while the others are on Spark.
    """

    def turn(item):
        path = item.nodeid.partition("::")[0]
        place = FIRST.index(path) if path in FIRST else len(FIRST)
        return place, "spark" not in getattr(item, "fixturenames", ())

    if hasattr(config, "workerinput"):
        items.sort(key=turn)


@pytest.fixture(scope="session")
def spark():
    """One Spark session for the whole suite; tests without one do not load pyspark."""
    from penstock.spark.session import spark_session

    with spark_session("local[2]", settings={"spark.sql.shuffle.partitions": "2"}) as session:
        yield session
