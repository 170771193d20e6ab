"""Bandits find the better policy, and restart when another one becomes better."""

import random

import pytest

from penstock.qos import Goals, IntervalStatistics, ResultSums, Situation, Statistics, selector_named


@pytest.mark.parametrize("name", ["ucb", "thompson", "exp3"])
def test_the_better_policy_is_found_and_found_again_after_a_drift(name):
    bandit, goals, statistics = selector_named(name, seed=3), Goals.parse("memory"), Statistics()
    noise = random.Random(5)
    held = {"a": 10.0, "b": 90.0}
    ran, policy, period = [], None, {}
    for turn in range(900):
        if turn == 400:
            held = {"a": 90.0, "b": 10.0}
        choice = bandit.choose(Situation(float(turn), goals, ("a", "b"), statistics, policy, period))
        assert (choice.seconds is not None) == (turn < 2)  # first each once
        policy = choice.policy
        ran.append(policy)
        memory = held[policy] + noise.uniform(-10.0, 10.0)
        period = statistics.add(
            policy, IntervalStatistics(float(turn), 1.0, ResultSums(1.0, 1.0, 1.0), memory, memory, memory)
        )
    assert ran[:2] == ["a", "b"]
    assert ran[200:400].count("a") > 120
    assert ran[700:].count("b") > 120
    assert bandit.drifts >= 1
