"""Goals: texts that are read, texts that are rejected with a message, and the loss."""

import copy
import math
import pickle

import pytest

from penstock.errors import QosError
from penstock.qos import DEFAULT, TEMPLATES, Goal, Goals

REJECTED = {
    "minimize avg_response 0.5, minimize queue_size 0.6": "sum to 1, but 0.5 + 0.6 is 1.1",
    "minimize avg_respons 1": "no statistic 'avg_respons' to minimize. Did you mean 'avg_response'",
    "minimize selectivity 1": "no statistic 'selectivity'",  # of operators, not of the plan
    "lower avg_response 1": "must begin with 'minimize' or 'maximize'",
    "minimize avg_response much": "the weight in 'minimize avg_response much' must be a number, not 'much'",
    "minimize avg_response -1": "of at least 0, not -1",
    "minimize avg_response nan": "of at least 0, not nan",
    "minimize avg_response 0.5, minimize avg_response 0.5": "two goals for 'avg_response'",
    "latencies": "Did you mean 'latency'",
    "": "a goal is missing",
    "latency,": "a goal is missing",
    "latency, memory": "cannot be combined with other goals",
    "weigh alarms": "write 'weigh QUERY WEIGHT'",
    "latency, weigh alarms -2": "of at least 0",
    "weigh alarms 1e7": "the weight of query 'alarms' must be from 0 to 1,000,000, not 1e+07",
    "latency, weigh alarms 2, weigh alarms 3": "has two weights",
    "minimize avg_response 0.5 of all": "is not a goal",
    "x" * 5000: "at most 2000 characters",
}


@pytest.mark.parametrize("text", REJECTED)
def test_rejected(text):
    with pytest.raises(QosError) as error:
        Goals.parse(text)
    assert REJECTED[text] in str(error.value)


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_and_texts_are_read_back(name):
    goals = Goals.parse(name)
    assert math.isclose(sum(goal.weight for goal in goals), 1)
    assert Goals.parse(str(goals)) == goals
    weighed = goals.weighing({"a": 3})
    assert Goals.parse(str(weighed)) == weighed


def test_the_default_is_that_of_p04():
    assert {(goal.statistic, goal.sense) for goal in DEFAULT} == {
        ("queue_size", "minimize"),
        ("avg_response", "minimize"),
        ("output_rate", "maximize"),
    }


def test_python_forms():
    assert Goals.of({"queue_memory": 0.75, "output_rate": 0.25}).goals == (
        Goal("queue_memory", "minimize", 0.75),
        Goal("output_rate", "maximize", 0.25),
    )
    with pytest.raises(QosError, match="no statistic 'memory_use'"):
        Goals.of({"memory_use": 1.0})
    with pytest.raises(QosError, match="a text, a mapping"):
        Goals.of(3)
    assert Goals.parse("minimise avg_response 1") == Goals.parse("latency")


def test_goals_can_be_sent_to_another_process_and_written_down():
    thirds = Goals.of({"avg_response": 1 / 3, "queue_memory": 1 / 3, "output_rate": 1 / 3}).weighing({"q": 0.1})
    assert pickle.loads(pickle.dumps(thirds)) == thirds
    assert hash(thirds) == hash(copy.deepcopy(thirds))
    assert [goal.statistic for goal in Goals.parse(str(thirds))] == [goal.statistic for goal in thirds]
    with pytest.raises(QosError, match=r"Goals\.parse"):
        Goals("latency")


def test_a_loss_does_not_depend_on_units():
    goals = Goals.parse("minimize avg_response 0.25, maximize output_rate 0.75")
    here = {"avg_response": 2.0, "output_rate": 5.0}
    there = {"avg_response": 3.0, "output_rate": 4.0}
    milli = {name: 1000 * value for name, value in here.items()}, {n: 1000 * v for n, v in there.items()}
    ratio = goals.loss(there) / goals.loss(here)
    assert math.isclose(ratio, (3 / 2) ** 0.25 * (5 / 4) ** 0.75)
    assert math.isclose(goals.loss(milli[1]) / goals.loss(milli[0]), ratio)
    assert goals.loss({"avg_response": 1.0}) is None
