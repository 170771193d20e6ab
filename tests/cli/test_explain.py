"""`penstock explain`, as a person or a script meets it; no Spark is started."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.policy_option import DEFAULT

runner = CliRunner()
TRAFFIC = Path(__file__).parents[2] / "examples" / "traffic.sql"

SCRIPT = """
CREATE STREAM s (a INT, b INT, c STRING) FROM poisson WITH (rate = 10);
CREATE STREAM r (k STRING) FROM poisson WITH (rate = 10);
CREATE TABLE t (k STRING, owner STRING) FROM csv WITH (path = 't.csv');
CREATE QUERY one AS SELECT a FROM s WHERE b > 3;
CREATE QUERY two AS SELECT b, t.owner FROM s JOIN t ON s.c = t.k WHERE b > 3;
CREATE QUERY pair AS SELECT x.a FROM s [RANGE 90 SECONDS] AS x, r [ROWS 7] AS y WHERE x.c = y.k;
SET policy = 'chain';
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "a.sql"
    path.write_text(SCRIPT)
    return path


def explained(*arguments):
    result = runner.invoke(app, ["explain", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_json_says_what_is_shared_and_what_is_read(script):
    found = explained(script)
    selection = found["queries"]["one"]["operators"][0]
    assert found["operators"][selection]["kind"] == "select"
    assert found["queries"]["one"]["shared"] == {selection: ["two"]}
    assert found["queries"]["two"]["shared"] == {selection: ["one"]}
    assert found["queries"]["pair"]["shared"] == {}
    assert found["queries"]["pair"]["reads"] == {"s": ["a", "c"], "r": ["k"]}
    assert found["streams"]["s"]["reads"] == ["a", "b", "c"]
    assert found["tables"]["t"]["options"] == {"path": "t.csv"}
    assert found["settings"] == {"policy": "chain"}


def test_json_has_windows_and_units_of_the_policy(script):
    found = explained(script)
    join = next(each for each in found["operators"].values() if each["kind"] == "join")
    assert join["windows"] == [
        {"stream": "s", "window": "[RANGE 90 SECONDS]"},
        {"stream": "r", "window": "[ROWS 7]"},
    ]
    assert found["policy"]["name"] == "chain"
    assert join["orders"] == {"s": ["r"], "r": ["s"]} == join["written"]
    assert join["utilization"] == join["as_written"] > 0
    priorities = [unit["priority"] for unit in found["units"]]
    assert priorities == sorted(priorities, reverse=True)
    assert {query for unit in found["units"] for query in unit["queries"]} == {"one", "two", "pair"}


def test_the_option_goes_before_the_script_and_the_default_is_that_of_the_runtime(script, tmp_path):
    assert explained(script, "--policy", "bsd.every(20)")["policy"]["name"] == "bsd.every(20)"
    plain = tmp_path / "plain.sql"
    plain.write_text(SCRIPT.replace("SET policy = 'chain';", ""))
    from penstock.runtime.options import POLICY

    assert explained(plain)["policy"]["name"] == DEFAULT == POLICY


def test_the_screen_fits_a_terminal_and_shows_trees():
    result = runner.invoke(app, ["explain", str(TRAFFIC)])
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "shared with big_kb, owned, echo" in result.stdout
    assert "packets [RANGE 2 SECONDS] AS p0" in result.stdout
    assert "replies [ROWS 100] AS p1" in result.stdout
    assert "project.2  src, dst, bytes" in result.stdout
    assert "__" not in result.stdout
    assert " logins        12  packets, replies  replies, packets" in result.stdout
    assert "predicted utilisation:" in result.stdout


def test_wrong_calls_and_wrong_scripts_are_told_apart(tmp_path, script):
    assert runner.invoke(app, ["explain", str(tmp_path / "none.sql")]).exit_code == 2
    assert runner.invoke(app, ["explain", str(tmp_path)]).exit_code == 2
    wrong = runner.invoke(app, ["explain", str(script), "--policy", "hrn"])
    assert wrong.exit_code == 2
    assert "there is no policy 'hrn'" in wrong.output
    assert runner.invoke(app, ["explain", str(script), "--policy", "hr_oracle"]).exit_code == 2
    script.write_text("CREATE STREAM s (a INT) FROM poisson WITH (rate = 1); CREATE QUERY q AS SELECT b FROM s;")
    result = runner.invoke(app, ["explain", str(script)])
    assert result.exit_code == 1
    assert "there is no column 'b'" in str(result.exception)
    script.write_text(SCRIPT.replace("chain", "chian"))
    result = runner.invoke(app, ["explain", str(script)])
    assert result.exit_code == 1
    assert "SET policy" in str(result.exception)


def test_an_empty_script_is_explained_too(tmp_path):
    empty = tmp_path / "empty.sql"
    empty.write_text("-- nothing yet\n")
    result = runner.invoke(app, ["explain", str(empty)])
    assert result.exit_code == 0
    assert "0 streams, 0 tables, 0 queries" in result.stdout


FOUR = """
CREATE STREAM a (k INT, m INT, n INT) FROM poisson
  WITH (rate = 100, k_high = 4, m_high = 99, n_high = 9999, seed = 1);
CREATE STREAM b (k INT) FROM poisson WITH (rate = 100, k_high = 4, seed = 2);
CREATE STREAM c (m INT) FROM poisson WITH (rate = 100, m_high = 99, seed = 3);
CREATE STREAM d (n INT) FROM poisson WITH (rate = 100, n_high = 9999, seed = 4);
CREATE QUERY q AS SELECT a.k FROM a [RANGE 5 SECONDS] AS a, b [RANGE 5 SECONDS] AS b, c [RANGE 5 SECONDS] AS c,
  d [RANGE 5 SECONDS] AS d WHERE a.k = b.k AND a.m = c.m AND a.n = d.n;
"""


def test_chosen_and_written_orders_stand_beside_each_other(tmp_path):
    file = tmp_path / "four.sql"
    file.write_text(FOUR)
    join = explained(file)["operators"]["join.1"]
    assert join["written"] == {
        "a": ["b", "c", "d"],
        "b": ["a", "c", "d"],
        "c": ["a", "b", "d"],
        "d": ["a", "b", "c"],
    }
    assert join["orders"] == {
        "a": ["d", "c", "b"],
        "b": ["a", "d", "c"],
        "c": ["a", "d", "b"],
        "d": ["a", "c", "b"],
    }
    assert join["selectivities"] == pytest.approx({"a,b": 1 / 5, "a,c": 1 / 100, "a,d": 1 / 10_000}, rel=0.05)
    assert join["utilization"] < join["as_written"]
    file.write_text(FOUR + "SET optimize = false;")
    left = explained(file)
    assert left["operators"]["join.1"]["orders"] == join["written"]
    assert any("order written" in note for note in left["notes"])


def test_what_a_run_measured_takes_the_place_of_what_is_assumed(tmp_path):
    file, run = tmp_path / "four.sql", tmp_path / "run.json"
    file.write_text(FOUR)
    join = explained(file)["operators"]["join.1"]
    told = {key: join[key] for key in ("orders", "best", "written", "rates", "selectivities")}
    run.write_text(
        json.dumps({"joins": {"join.1": told | {"utilization": 0.3, "at_best": 0.25, "as_written": 2.5}}})
    )
    assert explained(file, "--measured", str(run))["operators"]["join.1"]["as_written"] == 2.5
    shown = runner.invoke(app, ["explain", str(file), "--measured", str(run)]).stdout
    assert "25 % of a processor, 250 % as written" in shown
    for text in (
        '{"joins": {"join.1": 3}}',
        '{"joins": []}',
        "[" * 100_000,
        json.dumps({"joins": {"join.1": told}}),
    ):
        run.write_text(text)
        wrong = runner.invoke(app, ["explain", str(file), "--measured", str(run)])
        assert "is not a summary printed by `penstock run --json`" in str(wrong.exception)
    run.write_text('{"joins": {}}')
    wrong = runner.invoke(app, ["explain", str(file), "--measured", str(run)])
    assert "is the summary of another script" in str(wrong.exception)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("qos = 'minimize latency'", "setting 'qos'"),
        ("selector = 'rulette'", "there is no selector 'rulette'. Did you mean 'roulette'?"),
        ("candidates = 'hr, bst'", "there is no policy 'bst'"),
        ("memory = 10", "a memory limit of 10 bytes is below one chunk"),
    ],
)
def test_settings_that_a_run_refuses_are_refused(script, setting, message):
    script.write_text(SCRIPT + f"SET {setting};\n")
    result = runner.invoke(app, ["explain", str(script)])
    assert result.exit_code == 1
    assert message in str(result.exception)


def test_explain_loads_no_pyspark(script):
    text = "import sys; from penstock.cli.explain.explanation import explanation; from pathlib import Path; "
    text += f"explanation(Path({str(script)!r}), None); print('pyspark' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout == "False\n"


ALIKE = """
CREATE STREAM s (a INT, b INT, c STRING, ts TIMESTAMP)
  FROM files WITH (path = 's', format = 'json', timestamp = 'ts', lateness = '13.5 min', idle = '5 s');
CREATE STREAM g (a INT) FROM poisson WITH (rate = 100, rows = 810000000);
CREATE QUERY one AS SELECT a FROM s WHERE b > 3;
CREATE QUERY two AS SELECT a FROM s WHERE b > -4;
CREATE QUERY decimal AS SELECT a FROM s WHERE b > 2.5;
CREATE QUERY renamed AS SELECT a AS d FROM s WHERE b > 3;
CREATE QUERY other AS SELECT b FROM s WHERE b > 3;
CREATE QUERY short AS SELECT a FROM s WHERE b IN (1, 2) AND c = 'x';
CREATE QUERY long AS SELECT a FROM s WHERE c = 'y' AND b IN (1, -2, 3);
CREATE QUERY starts AS SELECT a FROM s WHERE c LIKE 'a%' AND b > 1;
CREATE QUERY ends AS SELECT a FROM s WHERE c LIKE '%a' AND b > 2;
CREATE QUERY near AS SELECT x.a FROM s [ROWS 3] x, g [RANGE 1 SECOND] y WHERE x.a = y.a AND x.b > 3;
CREATE QUERY wide AS SELECT x.a FROM s [ROWS 4] x, g [RANGE 1 SECOND] y WHERE x.a = y.a AND x.b > 4;
CREATE QUERY whole AS SELECT c FROM s;
CREATE QUERY all_of_it AS SELECT c AS e FROM s;
SET memory = '512MB'; SET quantum = '2 min';
"""


def test_queries_that_look_alike_and_run_apart_are_told_why(tmp_path):
    file = tmp_path / "alike.sql"
    file.write_text(ALIKE)
    found = explained(file)
    assert [group["queries"] for group in found["groups"].values()] == [["one", "two"]]
    told = [
        (each["queries"], each["like"], each["differs_in"], each["here"], each["there"]) for each in found["alike"]
    ]
    assert told == [
        (["decimal"], ["one", "two"], "type of a constant", "2.5 is DECIMAL(2,1)", "3 is INT"),
        (["renamed"], ["one", "two"], "name of a result", "d", "a"),
        (["long"], ["short"], "length of an IN list", "3 values", "2 values"),
        (["ends"], ["starts"], "constant that is part of a function, a pattern or an interval", "'%a'", "'a%'"),
        (["wide"], ["near"], "window of s", "[ROWS 4]", "[ROWS 3]"),
    ]
    screen = runner.invoke(app, ["explain", str(file)]).stdout
    assert "similar, but not in one group" in screen
    assert max(map(len, screen.splitlines())) <= 80
    file.write_text(ALIKE + "SET groups = false;")
    assert explained(file)["alike"] == []


def test_numbers_have_units_and_few_digits(tmp_path):
    file = tmp_path / "alike.sql"
    file.write_text(ALIKE)
    screen = " ".join(runner.invoke(app, ["explain", str(file)]).stdout.split())
    assert "lateness=13.5 min, idle=5 s" in screen
    assert "rows=810 M" in screen
    assert "memory = 512 MB, quantum = 2 min" in screen
    assert "e+" not in screen
    assert explained(file)["streams"]["s"]["options"]["lateness"] == 810_000_000


def test_names_are_shown_as_they_must_be_written(tmp_path):
    file = tmp_path / "names.sql"
    file.write_text(
        "CREATE STREAM s (`id.h` STRING, a INT) FROM poisson WITH (rate = 1);"
        "CREATE TABLE t (k STRING, `full name` STRING) FROM csv WITH (path = 't.csv');"
        "CREATE QUERY q AS SELECT x.`id.h`, y.a, t.`full name` FROM s [ROWS 1] x, s [ROWS 1] y, t "
        "WHERE x.`id.h` = y.`id.h` AND t.k = y.`id.h`;"
    )
    screen = " ".join(runner.invoke(app, ["explain", str(file)]).stdout.split())
    assert "p0.`id.h` AS `id.h`, p1.a AS a, p1.t.`full name` AS `full name`" in screen
    assert "ON (p0.`id.h` = p1.`id.h`)" in screen
