"""P04 (3.1), (5.1), (5.2) and the wheel, against figures computed by hand."""

import math
from collections import Counter

import pytest

from penstock.errors import QosError
from penstock.qos import (
    STATISTICS,
    Goals,
    IntervalStatistics,
    OperatorWork,
    QueueSize,
    ResultSums,
    Situation,
    Statistics,
    merged,
    selector_named,
    statistic,
)
from penstock.qos.scores import score_of, z_of
from penstock.qos.selectors.roulette import DECAY


def interval(now, waiting, count=10.0, response=1.0, seconds=1.0, **more):
    results = ResultSums(count, count * response, response, count * response**2)
    return IntervalStatistics(now, seconds, results, memory=waiting, peak=waiting, waiting=waiting, **more)


def test_averages_and_scores():
    statistics = Statistics()
    for now, (policy, waiting) in enumerate([("a", 10.0), ("b", 30.0), ("b", 20.0)], start=1):
        statistics.add(policy, interval(now, waiting))
    # (3.1): 30 · 0.875 + 20 · 0.125 = 28.75;  overall: (10 · 0.875 + 30 · 0.125) · 0.875 + 20 · 0.125 = 13.4375
    assert statistics.policies["b"].mean["queue_size"] == 28.75
    assert statistics.overall.mean["queue_size"] == 13.4375
    assert (statistics.overall.low["queue_size"], statistics.overall.high["queue_size"]) == (10, 30)
    # (5.1): z_a = (10 − 13.4375) ÷ 20 + 0.5 = 0.328125; to be small: 0.671875. z_b = 1.265625, clamped: 0
    goals = Goals.parse("minimize queue_size 1")
    assert score_of(statistics.policies["a"].mean, statistics.overall, goals) == 0.671875
    assert score_of(statistics.policies["b"].mean, statistics.overall, goals) == 0.0
    # faded to a half: (10 − 13.4375) ÷ 20 · 0.5 + 0.5
    assert z_of(10.0, statistics.overall, "queue_size", fade=0.5) == pytest.approx(0.4140625)
    # every response was 1 s: nothing differs, so z is a half, and (5.2) weighs
    mixed = Goals.parse("minimize queue_size 0.4, minimize avg_response 0.6")
    assert score_of(statistics.policies["a"].mean, statistics.overall, mixed) == pytest.approx(
        0.4 * 0.671875 + 0.6 * 0.5
    )


def spin(selector, statistics, now, policy, goals):
    return selector.choose(Situation(now, goals, ("a", "b", "c"), statistics, policy))


def test_the_wheel():
    goals, statistics, wheel = Goals.parse("memory"), Statistics(), selector_named("roulette", seed=4)
    held = {"a": 10.0, "b": 40.0, "c": 70.0}
    choice, order, now = spin(wheel, statistics, 0.0, None, goals), [], 0.0
    for _ in range(4):  # the first round: every policy for a second, the first once more
        assert choice.seconds == 1.0
        order.append(choice.policy)
        now += 1.0
        statistics.add(choice.policy, interval(now, held[choice.policy]))
        choice = spin(wheel, statistics, now, choice.policy, goals)
    assert order == ["a", "b", "c", "a"]
    counts = Counter()
    for _ in range(2000):
        counts[choice.policy] += 1
        before = dict(wheel.scores)
        now += 2.0
        statistics.add(choice.policy, interval(now, held[choice.policy]))
        ran, choice = choice.policy, spin(wheel, statistics, now, choice.policy, goals)
        assert choice.seconds is None
        assert wheel.scores[ran] == pytest.approx(before[ran] * DECAY)  # what ran keeps its score, decayed
    assert counts["a"] > counts["b"] > counts["c"] > 0


def test_the_wheel_is_proportional():
    statistics, wheel = Statistics(), selector_named("roulette", seed=7)
    situation = Situation(0.0, Goals.parse("memory"), ("a", "b"), statistics, None)
    for _ in range(3):
        wheel.choose(situation)
    wheel._scores = {"a": 0.6, "b": 0.2}
    spun = Counter(wheel.choose(situation).policy for _ in range(4000))
    assert spun["a"] / 4000 == pytest.approx(0.75, abs=4 * math.sqrt(0.75 * 0.25 / 4000))


def test_statistics_of_users():
    told = []
    try:

        @statistic("half", about="half of what waits")
        def half(interval):
            return interval.waiting / 2

        @statistic("bad")
        def bad(interval):
            return 1 / (interval.waiting - 20)

        statistics = Statistics(on_error=told.append)
        assert statistics.add("a", interval(1, 10.0))["half"] == 5
        assert statistics.current["bad"] == -0.1
        assert "bad" not in statistics.add("a", interval(2, 20.0))
        statistics.add("a", interval(3, 20.0))
        assert len(told) == 1
        assert "'bad' raised ZeroDivisionError" in told[0]
        assert statistics.overall.mean["bad"] == -0.1  # goals use its values so far
        assert statistics.current["half"] == 10
        # over several intervals a statistic sees what was counted since the run began, as of the last
        with_queues = [interval(now, 10.0, queues={"a": QueueSize(now, 1.0)}) for now in (1.0, 2.0)]
        assert merged(with_queues).queues["a"].tuples == 2.0

        @statistic("half")
        def endless(interval):
            return math.inf

        assert "half" not in statistics.add("a", interval(4, 20.0))
    finally:
        STATISTICS.pop("half", None)
        STATISTICS.pop("bad", None)
    with pytest.raises(QosError, match="exists already"):
        statistic("queue_size")
    with pytest.raises(QosError, match="letters, digits and underscores"):
        statistic("queue size")
    with pytest.raises(QosError, match="not of 'tuple'"):
        statistic("other", "tuple")


def test_statistics_of_operators_and_queries():
    statistics = Statistics()
    work = {"o": OperatorWork(taken=200, made=50, seconds=4.0)}
    statistics.add("a", interval(1, 10.0, operators=work, queries={"q": ResultSums(2, 6.0, 5.0)}))
    assert statistics.of_operator("o") == {"selectivity": 0.25, "cost": 0.02, "operator_rate": 12.5}
    assert statistics.of_query("q")["response"] == 3.0
    with pytest.raises(QosError, match="no statistics of queue 'x'"):
        statistics.of_queue("x")
