"""`penstock run --watch`: a file that changes, and a run that is only pretended."""

import os
import time

import pytest

from penstock.cli.run.watch import Watcher, stamp_of
from penstock.errors import RunEndedError, RunError
from penstock.language.script import Script
from penstock.language.statements import Drop, QueryDef

STREAM = "CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 10);\n"
FIRST = STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE b > 1;\nCREATE QUERY r AS SELECT b FROM s;\n"


class Pretended:
    """A run that remembers what it was told, and refuses what it was told to refuse."""

    def __init__(self):
        self.alive = True
        self.told = []
        self.refuse = ""

    def execute(self, sql, timeout):
        if not self.alive:
            raise RunEndedError("the run has ended")
        if self.refuse and self.refuse in sql:
            raise RunError("it cannot be")
        self.told.append(sql)
        return []


@pytest.fixture
def watched(tmp_path):
    path = tmp_path / "a.sql"
    path.write_text(FIRST)
    run, said = Pretended(), []
    watcher = Watcher(path, stamp_of(path), Script.read(path), run, said.append)

    def change(text):
        path.write_text(text)
        later = time.time_ns() + 10**9 * (1 + len(run.told))
        os.utime(path, ns=(later, later))
        watcher.check()
        watcher.check()
        return run.told, said

    change.run, change.watcher = run, watcher
    return change


def test_new_queries_are_created_and_missing_ones_dropped(watched):
    told, said = watched(
        STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE b > 1;\nCREATE QUERY t AS SELECT a FROM s;"
    )
    assert told == ["DROP QUERY `r`", "CREATE QUERY `t` AS SELECT a FROM s"]
    assert said == []


def test_a_changed_query_is_dropped_and_created_at_once(watched):
    """In one request: nothing is read between the two."""
    told, _ = watched(FIRST.replace("b > 1", "b > 2"))
    assert told == ["DROP QUERY `q`; CREATE QUERY `q` AS SELECT a FROM s WHERE b > 2"]
    kinds = [type(each) for each in Script.parse(FIRST).read_statements(told[0])]
    assert kinds == [Drop, QueryDef]


def test_a_changed_query_that_is_refused_is_created_when_it_is_mended(watched):
    watched.run.refuse = "a / 0"
    told, said = watched(FIRST.replace("SELECT a", "SELECT a / 0 AS a"))
    assert (told, said) == ([], ["change not applied: it cannot be"])
    told, _ = watched(FIRST.replace("SELECT a", "SELECT a / 1 AS a"))
    assert told == ["CREATE QUERY `q` AS SELECT a / 1 AS a FROM s WHERE b > 1"]


def test_another_way_to_write_the_same_changes_nothing(watched):
    assert watched(FIRST.replace("b > 1", "  b>1 -- as before\n")) == ([], [])


def test_a_file_that_is_still_being_written_is_left_alone(watched, tmp_path):
    (tmp_path / "a.sql").write_text(STREAM)
    watched.watcher.check()
    assert watched.run.told == []


def test_the_policy_follows_unless_the_call_fixed_it(watched):
    told, said = watched(FIRST + "SET policy = \"bsd.level('operator')\";")
    assert told == ["SET policy = 'bsd.level(\\'operator\\')'"]
    statement = next(iter(Script().read_statements(told[0])))
    assert statement.value == "bsd.level('operator')"
    watched.watcher._fixed_policy = True
    assert watched(FIRST + "SET policy = 'hnr';") == (told, said)
    assert "--policy overrides" in said[0]


def test_limits_follow(watched):
    told, said = watched(FIRST + "SET memory = '64MB'; SET shed = false;")
    assert told == ["SET memory = 64000000", "SET shed = false"]
    assert said == []
    values = [statement.value for sql in told for statement in Script().read_statements(sql)]
    assert values == [64_000_000, False]


def test_goals_follow_and_the_policy_comes_back_without_them(watched):
    told, said = watched(FIRST + "SET qos = 'latency';")
    candidates = "SET candidates = 'fifo, hr, hnr, bsd, lsf, chain, mtiq'"
    assert told == [candidates, "SET selector = 'foresight'", "SET qos = 'minimize avg_response 1'"]
    told, _ = watched(
        FIRST + "SET qos = 'latency'; SET selector = 'ucb'; SET policy = 'hnr'; SET candidates = 'hr';"
    )
    assert told[3:] == [
        "SET candidates = 'hnr, hr'",
        "SET selector = 'ucb'",
        "SET qos = 'minimize avg_response 1'",
    ]
    told, _ = watched(FIRST)
    assert told[6:] == ["SET policy = 'bsd'"]
    watched.watcher._fixed_policy = True
    assert watched(FIRST + "SET qos = 'memory';")[0] == told
    assert "policy and goals not applied: --policy overrides" in said[0]


def test_goals_that_weigh_a_new_query_wait_for_it(watched):
    told, _ = watched(
        FIRST.replace("b > 1", "b > 2") + "SET qos = 'latency, weigh q 3'; SET candidates = 'hr, hnr';"
    )
    assert told[0].startswith("DROP QUERY `q`; CREATE QUERY `q`")
    assert [text.split(" = ")[0] for text in told[1:]] == ["SET candidates", "SET selector", "SET qos"]


def test_weights_alone_follow_and_go(watched):
    told, _ = watched(FIRST + "SET policy = 'hnr'; SET qos = 'weigh q 5';")
    assert told == ["SET policy = 'hnr'", "SET qos = 'weigh q 5'"]
    told, _ = watched(FIRST + "SET policy = 'hnr';")
    assert told[2:] == ["SET policy = 'hnr'", "SET qos = 'weigh q 1'"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FIRST + "SET qos = 'minimize avg_response 0.5';", "setting 'qos': the weights of goals must sum to 1"),
        (FIRST + "SET qos = 'latency, weigh t 2';", "there is no query 't' to weigh"),
        (FIRST + "CREATE QUERY t AS SELECT c FROM s;", "there is no column 'c'"),
        (FIRST.replace("rate = 10", "rate = 20"), "streams and tables cannot change"),
        (FIRST + "SET policy = 'hrn';", "there is no policy 'hrn'"),
        (FIRST + "SET batch_rows = 7;", "setting batch_rows not applied"),
    ],
)
def test_what_cannot_be_taken_over_is_told(watched, text, words):
    told, said = watched(text)
    assert told == []
    assert words in said[0]


def test_a_query_that_is_refused_is_told_and_can_be_mended(watched):
    watched.run.refuse = "a / 0"
    told, said = watched(FIRST + "CREATE QUERY t AS SELECT a / 0 AS x FROM s;")
    assert (told, said) == ([], ["change not applied: it cannot be"])
    told, _ = watched(FIRST + "CREATE QUERY t AS SELECT a / 1 AS x FROM s;")
    assert told == ["CREATE QUERY `t` AS SELECT a / 1 AS x FROM s"]


def test_a_change_that_comes_too_late_is_not_told_as_refused(watched):
    """With a state, the next run applies it."""
    watched.run.alive = False
    assert watched(FIRST.replace("b > 1", "b > 2")) == ([], [])
