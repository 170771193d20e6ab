"""Goals, statistics and the choice of the policy: DuckDB does the jobs, time is moved by hand."""

import math
from itertools import count, pairwise

import numpy as np
import pyarrow as pa
import pytest

from penstock.errors import PolicyError, QosError
from penstock.language import Script
from penstock.policies import Exhaustive, Limited
from penstock.qos import STATISTICS, statistic, what_if
from penstock.qos.settings import PolicySettings
from penstock.runtime import policy_control
from penstock.runtime.admission import Arrived
from penstock.runtime.engine import Engine
from penstock.runtime.policy_control import PolicyControl
from penstock.runtime.recorder import Recorder
from penstock.runtime.what_if_view import what_if_beside
from tests.runtime.duck import Duck, next_job

SCRIPT = """
CREATE STREAM s (v INT) FROM poisson WITH (rate = 100);
CREATE QUERY low AS SELECT v FROM s WHERE v < 30;
CREATE QUERY high AS SELECT v FROM s WHERE v < 60;
CREATE QUERY alone AS SELECT v * 2 AS w FROM s WHERE v % 2 = 0;
"""
ROWS_A_STEP, STEP_S = 40, 0.25


def job_s(run):
    return 0.2 + 0.001 * run.rows


class World:
    """A system that gets rows every quarter of a second, and whose jobs take a fifth of one and 1 ms a row."""

    def __init__(self, settings="", *, pinned=False, service=Exhaustive(), quantum_s=0.5):  # noqa: B008
        script = Script.parse(SCRIPT + settings)
        policy = script.settings.get("policy", "bsd")
        self.engine = Engine(script.streams, policy, service, quantum_s=quantum_s)
        self.engine.begin(script)
        self.events = []
        self.control = PolicyControl(
            self.engine,
            PolicySettings.of(script.settings, script.queries),
            what_if_beside(self.engine, service, quantum_s, 1),
            self.events.append,
            pinned=pinned,
        )
        self.now_us = 1_700_000_000_000_000
        self.began_us = self.now_us
        self.free_us = self.now_us
        self.run = None
        self.random = np.random.default_rng(4)
        self.responses = []
        """(query, when, response) of every result."""
        self.control.begin(self.now_us)

    def step(self):
        self.now_us += int(STEP_S * 1e6)
        if self.run is not None and self.free_us <= self.now_us:
            self._finish()
        rows = pa.table({"v": pa.array(self.random.integers(0, 100, ROWS_A_STEP), pa.int32())})
        self.engine.admit("s", Arrived(rows, self.now_us), 1000)
        self.engine.observe_memory(self.now_us / 1e6, self.engine.state.waiting_bytes())
        self.engine.finish_endings()
        if self.engine.costs.is_measured and self.now_us % 1_000_000 == 0:
            self.engine.learn({"s": ROWS_A_STEP / STEP_S})
        self.control.sample(self.now_us)
        if self.run is None:
            self.run = next_job(self.engine, self.now_us)
            self.free_us = self.now_us + int(1e6 * job_s(self.run)) if self.run else self.now_us

    def _finish(self):
        states = self.engine.recorder.queries
        before = {name: state.response.total for name, state in states.items()}
        counts = {name: state.response.count for name, state in states.items()}
        self.engine.commit(self.run, Duck({})(self.run.work), self.now_us, job_s(self.run))
        for name, state in states.items():
            if state.response.count > counts[name]:
                self.responses.append(
                    (
                        name,
                        self.now_us / 1e6,
                        state.response.count - counts[name],
                        state.response.total - before[name],
                    )
                )
        self.run = None

    def go(self, seconds):
        for _ in range(int(seconds / STEP_S)):
            self.step()
        return self.summary

    @property
    def summary(self):
        return self.control.summary(self.now_us)

    @property
    def director(self):
        return self.control._choice


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    """Rehearsals and looks that take no time: how fast this machine is does not matter."""
    monkeypatch.setattr(what_if, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(policy_control, "SHARE", math.inf)


def test_a_reading_is_what_the_results_of_its_interval_sum_up_to():
    """Against each query's results as they came: a group of two, of which one counts five times, and one alone."""
    world = World("SET qos = 'latency, weigh low 5'; SET selector = 'roulette'; SET candidates = 'fifo, hnr';")
    assert world.engine.plan.groups
    world.go(12)
    looks = world.director.looks
    assert len(looks) > 8
    weights = {"low": 5, "high": 1, "alone": 1}
    counted = 0
    for look in looks:
        first, last = look.time - look.seconds, look.time
        mine = [each for each in world.responses if first + 1e-6 < each[1] <= last + 1e-6]
        assert look.interval.results.count == sum(weights[name] * count for name, _, count, _ in mine)
        assert look.interval.results.response == pytest.approx(sum(weights[name] * r for name, _, _, r in mine))
        counted += look.interval.results.count
    assert counted > 1000


def test_the_longest_of_an_interval_is_its_own():
    world = World("SET qos = 'latency'; SET candidates = 'fifo';")
    world.go(6)
    world.engine.recorder.results("alone", np.array([99.0]), 0.5)
    world.go(4)
    longest = [look.interval.results.max_response for look in world.director.looks]
    assert max(longest) == 99.0
    assert longest[-1] < 10
    assert max(look.interval.results.max_slowdown for look in world.director.looks) == 99 / 0.5


def test_memory_is_averaged_over_time_and_the_most_is_what_was_held_at_any_time():
    """10 bytes for a second, 30 for half a second, then 4; at the look after that, the 4 are what was held last.

    0 ── 10 ── 1 ─ 30 ─ 1.5 ── 4 ── 2 (look) ── 4 ── 2.5 ── 1 ── 3 (look)
    """
    recorder = Recorder()
    for now, held in ((0.0, 10), (1.0, 30), (1.5, 4)):
        recorder.memory(now, held)
    first = recorder.end_interval(2.0, 4, 0, 0.0, {})
    assert (first.seconds, first.memory, first.peak) == (2, (10 + 15 + 2) / 2, 30)
    recorder.memory(2.5, 1)
    second = recorder.end_interval(3.0, 1, 0, 0.0, {})
    assert (second.seconds, second.memory, second.peak) == (1, (2 + 0.5) / 1, 4)


def test_memory_waiting_rows_and_ages_are_read():
    world = World("SET qos = 'memory';")
    world.go(6)
    reading = world.director.statistics.interval
    assert 0 < reading.memory <= reading.peak
    assert reading.waiting >= ROWS_A_STEP
    assert 0 <= reading.oldest < 3
    queue = next(name for name in reading.queues if name.startswith("s→"))
    assert reading.queues[queue].tuples > 0
    assert set(reading.queries) == {"low", "high", "alone"}
    assert reading.queries["alone"].count == world.engine.recorder.queries["alone"].response.count
    done = list(reading.operators.values())
    assert all(work.taken >= work.made > 0 and work.seconds > 0 for work in done if work.taken)
    assert sum(work.seconds for work in done) == pytest.approx(world.engine.costs.busy_s)
    assert (
        world.director.statistics.of_query("alone")["results"]
        == world.engine.recorder.queries["alone"].response.count
    )


def test_without_goals_nothing_is_looked_at():
    world = World()
    summary = world.go(4)
    assert (summary.goals, summary.looks, summary.policies) == (None, 0, {"bsd": 1.0})
    assert world.director is None


def test_the_policy_named_runs_first_and_then_one_is_chosen():
    world = World("SET qos = 'latency'; SET policy = 'mtiq'; SET candidates = 'hr, fifo';")
    world.go(1.75)
    assert world.engine.policy.name == "mtiq"
    world.go(1)
    assert world.engine.policy.name == "hr"
    assert world.summary.candidates == ("mtiq", "hr", "fifo")


def test_shares_and_switches_add_up():
    world = World("SET qos = 'latency'; SET selector = 'roulette'; SET candidates = 'hr, fifo, bsd';")
    summary = world.go(30)
    assert set(summary.policies) == {"hr", "fifo", "bsd"}
    assert sum(summary.policies.values()) == pytest.approx(1)
    names = [look.policy for look in world.director.looks] + [world.engine.policy.name]
    assert summary.switches == sum(one != other for one, other in pairwise(names)) > 3
    assert set(summary.scores) == {"hr", "fifo", "bsd"}


def test_candidates_are_rehearsed_beside_the_run():
    world = World("SET qos = 'latency';")
    summary = world.go(25)
    assert summary.rehearsed > 5
    assert set(summary.scores) == set(summary.candidates)
    intervals = world.director._what_ifs
    assert {len(readings) for readings in intervals.values()} == {summary.rehearsed}
    looked = sum(look.interval.results.count for look in world.director.looks[-summary.rehearsed :])
    for name, readings in intervals.items():
        made = sum(reading.results.count for reading in readings)
        assert 0.7 * looked < made < 1.3 * looked, name


def test_a_model_that_fails_ends_what_if_runs_and_nothing_else(monkeypatch):
    world = World("SET qos = 'latency'; SET candidates = 'fifo, hr';")

    def broken(*arguments):
        raise KeyError("no such queue")

    monkeypatch.setattr(world.control._what_if, "advance", broken)
    summary = world.go(6)
    assert [event for event in world.events if "what-if runs end" in event] == [
        "what-if runs end, policies are chosen without them: KeyError: 'no such queue'"
    ]
    assert (summary.rehearsed, world.engine.policy.name) == (0, "hr")
    assert summary.looks > 3


@pytest.mark.parametrize(
    "change", ["query", *(pytest.param(each, marks=pytest.mark.slow) for each in ("weight", "candidates"))]
)
def test_what_if_runs_begin_anew_when_things_change(change):
    world = World("SET qos = 'latency';")
    world.go(15)
    before = world.summary.rehearsed
    began = world.control._what_if._began
    if change == "query":
        more = SCRIPT + "CREATE QUERY more AS SELECT v + 1 AS x FROM s;"
        world.engine.create(Script.parse(more).queries["more"])
    elif change == "weight":
        world.control.set("qos", "latency, weigh low 3")
    else:
        world.control.set("candidates", "hr, lsf")
    world.go(8)
    assert world.control._what_if._began > began
    assert world.summary.rehearsed > before


def test_queries_may_all_go_and_others_come():
    world = World("SET qos = 'latency';")
    world.go(12)
    for name in ("low", "high", "alone"):
        world.engine.drop(name)
    world.go(8)
    assert not any(state.live for state in world.engine.queries.values())
    before = world.summary.rehearsed
    world.engine.create(Script.parse(SCRIPT + "CREATE QUERY more AS SELECT v + 1 AS x FROM s;").queries["more"])
    assert world.go(8).rehearsed > before


def test_a_network_that_is_too_large_has_no_what_if_runs(monkeypatch):
    monkeypatch.setattr(what_if, "MOST_QUEUES", 1)
    world = World("SET qos = 'latency';")
    summary = world.go(15)
    assert summary.looks > 10
    assert summary.rehearsed == 0
    assert world.engine.policy.name == "hr", "by prior score"


def test_what_if_runs_keep_to_their_share(monkeypatch):
    """By a clock that goes on by 2 ms whenever it is asked, they pause."""
    ticks = count()
    monkeypatch.setattr(what_if, "perf_counter", lambda: next(ticks) * 0.002)
    world = World("SET qos = 'latency';")
    summary = world.go(40)
    spent = world.control._what_if.spent_s
    assert 0 < summary.rehearsed < 15
    assert spent <= what_if.LENT_S + what_if.SHARE * 40 + 0.05


# While it runs ----------------------------------------------------------------------------------------------


def test_other_goals_go_on_with_what_was_read():
    world = World("SET qos = 'latency'; SET candidates = 'hr, chain, fifo';")
    world.go(5)
    before = world.director.statistics
    said = world.control.set("qos", "memory, weigh alone 2")
    assert said == "goals minimize queue_memory 1, weigh alone 2: foresight chooses among hr, chain, fifo"
    assert world.engine.recorder.weights == {"alone": 2.0}
    world.go(3)
    assert world.director.statistics is before
    assert world.summary.goals == "minimize queue_memory 1, weigh alone 2"


def test_a_policy_that_is_set_stays_until_goals_are():
    world = World("SET qos = 'latency'; SET candidates = 'hr, fifo';")
    before = world.go(5).switches
    assert world.control.set("policy", "lsf") == "policy lsf, until qos or selector is set"
    summary = world.go(10)
    assert (world.engine.policy.name, summary.pinned, summary.switches) == ("lsf", True, before + 1)
    assert "lsf" in world.director.statistics.policies, "statistics are still read"
    world.control.set("candidates", "fifo, hr")
    world.go(3)
    assert world.engine.policy.name == "lsf"
    world.control.set("qos", "fairness")
    world.go(3)
    assert world.engine.policy.name in ("hr", "fifo")
    assert not world.summary.pinned


def test_a_run_that_was_pinned_by_the_call_takes_up_choosing():
    world = World("SET qos = 'latency'; SET policy = 'mtiq';", pinned=True)
    world.go(5)
    assert (world.engine.policy.name, world.summary.pinned) == ("mtiq", True)
    world.control.set("selector", "roulette")
    world.go(20)
    assert len(world.summary.policies) > 2


def test_goals_can_come_to_a_run_without_any():
    world = World()
    world.go(4)
    assert world.control.set("candidates", "hr, fifo") == "candidates hr, fifo; policy bsd stays"
    assert world.control.set("policy", "lsf") == "policy lsf"
    assert world.control.set("selector", "ucb").endswith(": ucb chooses among hr, fifo")
    world.go(5)
    assert world.engine.policy.name in ("hr", "fifo")
    assert world.control.set("selector", "none") == f"no selector: policy {world.engine.policy.name} stays"
    present = world.engine.policy.name
    assert world.control.set("qos", "latency").endswith(f"policy {present} stays: selector is 'none'")
    world.go(8)
    assert world.engine.policy.name == present
    assert world.summary.selector == "none"


def statics(world):
    return {unit.path_features[0].query: unit.static for unit in world.engine.dispatcher._scheduler.units}


@pytest.mark.parametrize("policy", ["fifo", "hr", "bsd", "chain"])
def test_weights_alone_change_the_priorities_of_the_policy_that_is_named(policy):
    """`low` and `high` are a group: its gain is the sum of theirs, or the greatest where one speaks for all."""
    world, other = (World(f"SET policy = '{policy}'; {goals}") for goals in ("SET qos = 'weigh low 5';", ""))
    group = next(iter(world.engine.plan.groups))
    factor = 3 if policy in ("hr", "bsd") else 5
    assert statics(world) == {group: factor * statics(other)[group], "alone": statics(other)["alone"]}
    summary = world.go(4)
    assert (world.engine.policy.name, summary.goals, summary.selector) == (policy, "weigh low 5", "none")


def test_weights_may_change_while_a_policy_stays():
    world = World("SET policy = 'fifo';")
    world.go(2)
    assert world.control.set("qos", "weigh alone 5") == "weigh alone 5; policy fifo stays"
    assert statics(world)["alone"] == 5
    world.control.set("policy", "lsf")
    world.control.set("policy", "fifo")
    assert (
        world.control.set("qos", "weigh Alone 3, weigh low 2") == "weigh alone 3, weigh low 2; policy fifo stays"
    )
    assert sorted(statics(world).values()) == [2, 3]
    world.go(4)
    assert (world.engine.policy.name, sorted(statics(world).values())) == ("fifo", [2, 3])
    with pytest.raises(QosError, match="no query 'nobody' to weigh"):
        world.control.set("qos", "weigh nobody 3")
    assert sorted(statics(world).values()) == [2, 3]
    world.control.set("qos", "latency")
    assert (world.summary.pinned, world.engine.weights) == (False, {})


def test_a_group_counts_as_those_that_are_in_it():
    world = World("SET policy = 'fifo'; SET qos = 'weigh low 5';")
    world.go(2)
    world.engine.drop("low")
    world.go(3)
    assert sorted(statics(world).values()) == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fifo", "hr", "hnr", "bsd", "lsf", "chain", "mtiq", "round_robin"])
def test_more_weight_never_makes_a_query_slower(policy):
    """One unit a job and few rows: a job of all that had waited for the heavy query would make it wait in turn."""
    found = []
    for weight in (1, 5, 25):
        settings = f"SET policy = '{policy}'; SET qos = 'weigh alone {weight}';"
        world = World(settings, service=Limited(240), quantum_s=0.0)
        world.go(40)
        spread = world.engine.recorder.queries["alone"].response
        found.append(spread.mean if spread.count else math.inf)
    assert found[2] <= found[1] * 1.02
    assert found[1] <= found[0] * 1.02
    assert found[2] < found[0]


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("qos", "minimize avg_response 0.5, minimize queue_size 0.6", QosError),
        ("qos", "minimize nothing 1", QosError),
        ("qos", "latency, weigh nobody 2", QosError),
        ("selector", "rulette", QosError),
        ("candidates", "hr, bst", QosError),
        ("policy", "bst", PolicyError),
    ],
)
@pytest.mark.parametrize("settings", ["", "SET qos = 'latency'; SET candidates = 'hr, fifo';"])
def test_what_is_wrong_changes_nothing(settings, name, value, error):
    world = World(settings)
    world.go(4)
    before = (world.control._settings, world.summary.goals, world.summary.candidates, world.summary.pinned)
    with pytest.raises(error):
        world.control.set(name, value)
    assert before == (
        world.control._settings,
        world.summary.goals,
        world.summary.candidates,
        world.summary.pinned,
    )
    assert world.go(4).policies


def test_a_query_that_is_dropped_no_longer_counts():
    world = World("SET qos = 'latency, weigh alone 9'; SET candidates = 'hr, fifo';")
    world.go(4)
    world.engine.drop("alone")
    world.go(4)
    with pytest.raises(QosError, match="no query 'alone' to weigh"):
        world.control.set("qos", "latency, weigh alone 3")
    assert world.go(4).goals == "minimize avg_response 1, weigh alone 9"


def test_a_statistic_that_raises_is_told_once():
    @statistic("broken")
    def broken(reading):
        return 1 / 0

    try:
        world = World("SET qos = 'minimize broken 0.5, minimize avg_response 0.5'; SET candidates = 'hr, fifo';")
        summary = world.go(10)
    finally:
        del STATISTICS["broken"]
    assert summary.failed == {"broken": "ZeroDivisionError: division by zero"}
    assert len(world.events) == 1
    assert "statistic 'broken' raised ZeroDivisionError" in world.events[0]
    assert summary.statistics["avg_response"] > 0
