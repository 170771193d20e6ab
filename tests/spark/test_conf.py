"""Settings of a session before it starts: the heap by the machine, what a user gives, what cannot be."""

import pytest

from penstock.errors import RunError
from penstock.spark import driver_memory, session
from penstock.spark.conf import HEAP, MAX_RESULT, session_conf
from penstock.spark.driver_memory import default_heap, machine_memory

GIB = 1024**3


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch):
    monkeypatch.delenv("SPARK_DRIVER_MEMORY", raising=False)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)


@pytest.mark.parametrize(
    ("machine", "heap"), [(2 * GIB, 1 * GIB), (16 * GIB, 4 * GIB), (256 * GIB, 16 * GIB), (None, 1 * GIB)]
)
def test_the_heap_is_a_quarter_of_the_machine(monkeypatch, machine, heap):
    monkeypatch.setattr(driver_memory, "machine_memory", lambda: machine)
    assert default_heap() == heap
    conf = session_conf({}, "local[2]", None)
    assert (conf[HEAP], conf[MAX_RESULT]) == (f"{heap // 1024**2}m", f"{heap // 2 // 1024**2}m")


@pytest.mark.parametrize(
    ("name", "value"), [("SPARK_DRIVER_MEMORY", "2g"), ("PYSPARK_SUBMIT_ARGS", "--driver-memory 2g")]
)
def test_what_the_environment_says_stays(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert HEAP not in session_conf({}, "local[2]", None)


def test_only_a_local_spark_is_given_a_heap():
    assert HEAP not in session_conf({}, "spark://there:7077", None)
    assert HEAP not in session_conf({}, "local[*]", "sc://there")


def test_a_container_is_believed(tmp_path, monkeypatch):
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("1073741824\n")
    monkeypatch.setattr(driver_memory, "_LIMITS", (tmp_path / "none", tmp_path / "max"))
    whole = machine_memory()
    assert whole is None or whole > GIB
    monkeypatch.setattr(driver_memory, "_LIMITS", (tmp_path / "max", tmp_path / "limit"))
    assert machine_memory() in (None, GIB)


def test_what_is_given_overrides_defaults_and_not_what_penstock_needs():
    conf = session_conf({HEAP: "3g", "spark.ui.enabled": "true"}, "local[*]", None)
    assert (conf[HEAP], conf[MAX_RESULT], conf["spark.ui.enabled"]) == ("3g", "1536m", "true")
    assert session_conf({HEAP: "3g", MAX_RESULT: "0"}, "local[*]", None)[MAX_RESULT] == "0"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sql.shuffle": "1"}, "'sql.shuffle' is not a Spark setting"),
        ({"spark.sql.session.timeZone": "CET"}, "is always 'UTC' in Penstock"),
        ({HEAP: "4x"}, "spark.driver.memory: '4x' is not an amount of memory; expected e.g. 4g or 512m"),
        ({HEAP: "0"}, "is not an amount of memory"),
        ({HEAP: "200m"}, "Spark does not start with 200m"),
        ({MAX_RESULT: "some"}, "spark.driver.maxResultSize: 'some' is not an amount"),
        ({"spark.jars.packages": "a:b:1,c"}, "'c' is not a package; expected GROUP:ARTIFACT:VERSION"),
    ],
)
def test_what_cannot_be_is_said(given, message):
    with pytest.raises(RunError) as refused:
        session_conf(given, "local[*]", None)
    assert message in str(refused.value)


def test_a_server_has_its_own_memory():
    with pytest.raises(RunError, match="belongs to the Spark Connect server"):
        session_conf({HEAP: "4g"}, "local[*]", "sc://there")


def test_java_keeps_its_heap(monkeypatch):
    monkeypatch.setattr(session, "_started", {HEAP: "1g"})
    conf = {HEAP: "9g"}
    session._keep_heap(conf, {})
    assert conf == {HEAP: "1g"}
    with pytest.raises(RunError, match="is already running in this process, with 1g; 2g needs a new process"):
        session._keep_heap({}, {HEAP: "2g"})


def test_a_session_that_runs_takes_no_settings(spark):
    import penstock.spark as ps

    script = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 5, rows = 3);\n"
    with pytest.raises(RunError, match="conf is for a session that the run starts"):
        ps.run(script, spark=spark, conf={"spark.ui.enabled": True}, drain=True)
