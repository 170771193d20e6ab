"""Goals, policies and queries that change all the time under load: every query's results are the oracle's."""

import re
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest

import penstock as ps
from penstock.errors import PenstockError, QosError, ScriptError
from penstock.qos import STATISTICS
from penstock.runtime.admission import Arrived
from tests.oracle.datafiles import arrow_table
from tests.oracle.model import Case, FromItem, QuerySpec, StreamData
from tests.oracle.oracle import difference, expected
from tests.oracle.shape_parts import BASE
from tests.spark.test_running import rows_of, until

COLUMNS = [("k", "INT"), ("v", "INT"), ("ts", "TIMESTAMP")]
RATES = {"a": 800, "b": 400}
GOALS = ["latency", "memory", "fairness", "throughput", "minimize max_response 0.4, maximize output_rate 0.6"]
POLICIES = ["fifo", "chain", "hnr.level('operator')", "bsd.every(3)", "segment", "lsf"]
SELECTORS = ["foresight", "roulette", "ucb", "exp3"]
CANDIDATES = ["fifo, hnr, chain", "bsd.every(20), mtiq, hr.clustered(3, 'log')", "round_robin, segment, lsf"]
WRONG = ["SET qos = 'minimize x 1'", "SET selector = 'x'", "SET policy = 'x'", "SET candidates = 'fifo, x'"]


class Fed:
    """A source whose rows come by the clock, from memory: what a system does with them is the matter here."""

    def __init__(self, stream, context) -> None:
        self.name, self.rate = stream.name, RATES[stream.name]
        self.rows: list[tuple] = []
        self.ended = self.enough = False
        self.began = time.monotonic()

    def poll(self, now_us: int, most_rows: int):
        count = int((time.monotonic() - self.began) * self.rate) - len(self.rows)
        if not self.enough and count >= 0.1 * self.rate:
            first, step = len(self.rows), timedelta(seconds=1) / self.rate
            fresh = [(i * 31 % 97, i * 7919 % 1000, BASE + i * step) for i in range(first, first + count)]
            self.rows += fresh
            yield Arrived(arrow_table(COLUMNS, fresh, "UTC"), now_us)

    held_bytes = buffer_bytes = 0

    def watermark(self, now_us: int) -> None:
        return None

    def offered(self, now_us: int) -> None:
        return None

    def stop(self, now_us: int) -> None:
        self.enough = True

    def close(self) -> None:
        pass


@pytest.fixture
def feeds(monkeypatch):
    """The sources of the streams of a run, by name."""
    opened: dict[str, Fed] = {}
    monkeypatch.setattr(
        "penstock.spark.backend.opened_source",
        lambda stream, context, position: opened.setdefault(stream.name, Fed(stream, context)),
    )
    return opened


STREAMS = "".join(
    f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP) FROM socket WITH (port = 9, timestamp = 'ts');\n"
    for name in RATES
)


def query(number: int, random: Random) -> QuerySpec:
    """Selections that form a group, some that do not, and window joins."""
    high = random.randrange(100, 900)
    kind = random.choice(["group", "group", "alone", "join"])
    if kind == "group":
        return QuerySpec(f"q{number}", [("k", None), ("v", None)], [FromItem("a")], f"v < {high}")
    if kind == "alone":
        return QuerySpec(f"q{number}", [("v + k", f"x{number}")], [FromItem("b")], f"v % {1 + high % 7} = 0")
    sources = [FromItem("a", "x", ("range", 300_000)), FromItem("b", "y", ("rows", 20))]
    return QuerySpec(f"q{number}", [("x.v", "left_v"), ("y.v", "right_v")], sources, f"x.k = y.k AND x.v < {high}")


def created(spec: QuerySpec) -> str:
    return f"CREATE QUERY {spec.name} AS {spec.text()};"


def places(text: str) -> dict[str, int]:
    """The sequence numbers of "query q begins at a 60, b 60" or "query q ends before a 200"."""
    return {name: int(number) for name, number in re.findall(r"\b([ab]) (\d+)", text)}


@dataclass
class Episode:
    """A query from when it is created until it is dropped, which may be to edit it."""

    spec: QuerySpec
    starts: dict[str, int]
    ends: dict[str, int] | None = None


def edited(running, episode: Episode, random: Random) -> Episode:
    """Drop a query and create it again with another constant, in one request."""
    spec = replace(
        episode.spec, where=re.sub(r"(?<=[%<] )\d+", str(random.randrange(100, 900)), episode.spec.where)
    )
    ended, begun = running.execute(f"DROP QUERY {spec.name}; {created(spec)}")
    episode.ends = places(ended)
    return Episode(spec, places(begun))


def changed(seconds: float, every_s: float, seed: int, feeds: dict[str, Fed], spark) -> "ps.Summary":
    random = Random(seed)
    episodes = [Episode(query(number, random), {"a": 0, "b": 0}) for number in range(4)]
    script = STREAMS + "".join(created(each.spec) for each in episodes) + "SET qos = 'latency, weigh q0 3';\n"
    with ps.started(script, spark=spark) as running:
        until(lambda: running.summary().rows_out)
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            time.sleep(every_s)
            spec = query(len(episodes), random)
            [said] = running.execute(created(spec))
            episodes.append(Episode(spec, places(said)))
            old, dropped = random.sample([each for each in episodes if each.ends is None], 2)
            dropped.ends = places(running.execute(f"DROP QUERY {dropped.spec.name}")[0])
            episodes.append(edited(running, old, random))
            weighed = random.choice([each.spec.name for each in episodes if each.ends is None])
            goals = f"{random.choice(GOALS)}, weigh {weighed} 2"
            running.execute(
                random.choice(
                    [
                        f"SET qos = '{goals}'",
                        f"SET qos = '{goals}'",
                        f'SET policy = "{random.choice(POLICIES)}"',
                        f"SET selector = '{random.choice(SELECTORS)}'",
                        f'SET candidates = "{random.choice(CANDIDATES)}"',
                    ]
                )
            )
            with pytest.raises(PenstockError):
                running.execute(random.choice(WRONG))
        for feed in feeds.values():
            feed.enough = True
        running.settle()
        for episode in episodes:
            if episode.ends is None:
                episode.ends = places(running.execute(f"DROP QUERY {episode.spec.name}")[0])
        until(lambda: {q.status for q in running.summary().queries.values()} == {"ended"}, 60)
        summary = running.stop()
        results = running.results
    streams = [StreamData(name, COLUMNS, feed.rows, "ts") for name, feed in feeds.items()]
    for name in {each.spec.name for each in episodes}:
        want = [
            row
            for each in episodes
            if each.spec.name == name
            for row in expected(
                Case(streams, [], [each.spec]),
                name,
                {stream: (each.starts[stream], end) for stream, end in each.ends.items()},
            )
        ]
        assert difference(want, rows_of(results[name])) == "", [
            each for each in episodes if each.spec.name == name
        ]
    assert sum(results[name].num_rows for name in results) > 1000
    assert summary.abandoned_rows == 0
    assert summary.utilization > 0.5, "there was no load"
    assert_no_gaps(episodes)
    return summary


def assert_no_gaps(episodes: list[Episode]) -> None:
    """An edited query begins where the old one ended."""
    names = {each.spec.name for each in episodes}
    edits = [edit for name in names for edit in pairwise(each for each in episodes if each.spec.name == name)]
    assert edits
    assert [old.ends for old, _ in edits] == [new.starts for _, new in edits]


@pytest.mark.slow
def test_results_are_the_oracles_whatever_changes(feeds, spark):
    summary = changed(6, 1.0, seed=11, feeds=feeds, spark=spark)
    assert summary.qos.switches > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_results_are_the_oracles_through_a_minute_of_changes(seed, feeds, spark):
    summary = changed(60, 2.0, seed=seed, feeds=feeds, spark=spark)
    assert summary.qos.switches > 5
    assert summary.qos.overhead < 0.01


ENDLESS = """
CREATE STREAM s (v INT) FROM poisson WITH (rate = 500);
CREATE QUERY q AS SELECT v FROM s WHERE v < 500;
SET qos = 'minimize avg_response 0.5, minimize odd 0.5';
SET candidates = 'hr, fifo';
"""


@pytest.fixture
def odd():
    @ps.statistic("odd")
    def raises(reading):
        raise RuntimeError("the third look" if reading.waiting >= 0 else "")

    yield
    del STATISTICS["odd"]


@pytest.mark.usefixtures("odd")
def test_whatever_is_wrong_the_run_goes_on_with_what_it_had(spark):
    events = []
    with ps.started(ENDLESS, spark=spark, on_event=events.append) as running:
        until(lambda: running.summary().qos.failed)
        for wrong, message in [
            (
                "SET qos = 'minimize avg_response 0.5, minimize queue_size 0.6'",
                "must sum to 1, but 0.5 + 0.6 is 1.1",
            ),
            (
                "SET qos = 'minimize avg_reponse 1'",
                "no statistic 'avg_reponse' to minimize. Did you mean 'avg_response'",
            ),
            ("SET qos = 'latency, weigh p 2'", "there is no query 'p' to weigh"),
            ("SET selector = 'fortune'", "setting 'selector': there is no selector 'fortune'"),
            ("SET candidates = 'hr, first'", "setting 'candidates': there is no policy 'first'"),
            ("SET policy = 'hrr'", "there is no policy 'hrr'. Did you mean 'hr'?"),
        ]:
            with pytest.raises(PenstockError) as refused:
                running.execute(wrong)
            assert message in str(refused.value)
        before = running.summary().rows_out
        until(lambda: running.summary().rows_out > before)
        qos = running.summary().qos
        assert running.execute("SET policy = 'lsf'") == ["policy lsf, until qos or selector is set"]
        assert running.execute("SET qos = 'memory'") == [
            "goals minimize queue_memory 1: foresight chooses among hr, fifo"
        ]
        summary = running.stop()
    assert qos.goals == "minimize avg_response 0.5, minimize odd 0.5"
    assert (qos.candidates, qos.pinned, qos.failed) == (
        ("hr", "fifo"),
        False,
        {"odd": "RuntimeError: the third look"},
    )
    assert [event for event in events if "odd" in event] == [
        "statistic 'odd' raised RuntimeError: the third look. It is no longer computed; goals use its "
        "values so far"
    ]
    assert summary.as_dict()["qos"]["goals"] == "minimize queue_memory 1"


STREAM = "CREATE STREAM s (v INT) FROM poisson WITH (rate = 500, rows = 50);\nCREATE QUERY q AS SELECT v FROM s;\n"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("SET qos = 'minimize avg_response 0.5'", "script: setting 'qos': the weights of goals must sum to 1"),
        ("SET qos = 'maximise output 1'", "script: setting 'qos': there is no statistic 'output' to maximize"),
        ("SET qos = 'latency, weigh p 2'", "script: setting 'qos': there is no query 'p' to weigh"),
        ("SET selector = 'fate'", "script: setting 'selector': there is no selector 'fate'"),
        ("SET candidates = 'bst'", "script: setting 'candidates': there is no policy 'bst'"),
    ],
)
def test_what_is_wrong_in_a_script_is_refused_before_anything_runs(setting, message, spark):
    with pytest.raises(ScriptError) as refused:
        ps.run(STREAM + setting + ";", spark=spark, drain=True)
    assert str(refused.value).startswith(message)


def test_goals_and_a_selector_of_the_call_override_those_of_the_script(spark):
    script = STREAM + "SET qos = 'memory'; SET selector = 'none';"
    found = ps.run(script, spark=spark, drain=True, qos={"output_rate": 1.0}, selector="roulette").summary.qos
    assert (found.goals, found.selector) == ("maximize output_rate 1", "roulette")
    with pytest.raises(QosError, match="setting 'qos': there is no statistic 'avg'"):
        ps.run(STREAM, spark=spark, drain=True, qos={"avg": 1.0})
    found = ps.run(script, spark=spark, drain=True, policy="lsf", selector="ucb").summary
    assert (found.policy, found.qos.pinned, found.qos.policies) == ("lsf", True, {"lsf": 1.0})
