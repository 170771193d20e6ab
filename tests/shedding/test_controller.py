"""When drop boxes are set and removed: scripted loads, and noise that must not make them flap."""

import math
from itertools import pairwise
from random import Random

import pytest

from penstock.shedding.controller import Change, LoadSample, Shedder, SheddingRules

RULES = SheddingRules()


class Course:
    """A system in steps of half a second: drop boxes bring the load to the budget at once."""

    def __init__(self, shedder=None):
        self.shedder = shedder or Shedder()
        self.now = 0.0
        self.changes = []
        self.utilization = 0.0

    def go(self, seconds, demand, memory=0.0, must_shed=False, behind=False):
        for _ in range(round(seconds / 0.5)):
            asked = demand() if callable(demand) else demand
            if not self.shedder.is_shedding:
                self.utilization = asked
            seen = LoadSample(self.now, memory, 100.0, asked, self.utilization, must_shed, behind)
            change = self.shedder.sample(seen)
            if change is not None:
                self.changes.append((self.now, change))
                self.utilization = asked if change.budget is None else min(asked, change.budget)
            self.now += 0.5
        return [change for _, change in self.changes]


def test_nothing_is_dropped_below_the_headroom():
    assert Course().go(1000, 0.89) == []


def test_boxes_of_an_earlier_process_stay_until_the_load_is_low():
    course = Course()
    course.shedder.go_on()
    course.utilization = 0.8
    assert course.shedder.is_shedding
    assert course.go(60, 0.8) == []
    course.utilization = 0.3
    assert course.go(60, 0.3) == [Change(None, "relief")]
    assert not course.shedder.is_shedding


def test_a_load_above_the_headroom_is_waited_for():
    course = Course()
    course.go(2.5, 3.0)
    course.go(0.5, 0.5)
    assert course.go(3.0, 3.0) == []  # a dip restarts the wait
    assert course.go(1.0, 3.0) == [Change(0.9, "overload")]


def test_memory_does_not_wait():
    assert Course().go(0.5, 0.2, memory=100, must_shed=True) == [Change(0.9, "memory")]


def test_boxes_tighten_by_steps_while_memory_is_short_and_open_by_steps():
    course = Course()
    course.go(4, 3.0)
    course.go(11, 3.0, memory=100)
    budgets = [change.budget for _, change in course.changes]
    assert budgets == pytest.approx([0.9, 0.9 * 0.85, 0.9 * 0.85**2])
    assert [change.why for _, change in course.changes] == ["overload", "memory", "memory"]
    course.go(60, 3.0)
    assert course.shedder.budget == pytest.approx(0.9)
    assert [change.why for _, change in course.changes[3:]] == ["relief", "relief"]
    course.go(9.5, 0.5)
    assert course.shedder.budget == pytest.approx(0.9)
    course.go(5, 0.5)
    assert course.changes[-1][1] == Change(None, "relief")
    assert not course.shedder.is_shedding


def test_the_budget_has_a_least():
    course = Course()
    course.go(1000, 3.0, behind=True)
    assert course.shedder.budget == RULES.least


def test_between_the_marks_boxes_stay_as_they_are():
    course = Course()
    course.go(4, 3.0)
    course.go(500, 0.8)
    changes = [change for _, change in course.changes]
    assert changes[0] == Change(0.9, "overload")
    assert course.shedder.is_shedding
    assert all(change.why == "drift" for change in changes[1:])
    assert len(changes) <= 2


def test_boxes_follow_a_load_that_drifts():
    course = Course()
    course.go(4, 3.0)
    course.utilization = 1.1  # the boxes let through more than intended
    course.go(10, 3.5)
    assert [change for _, change in course.changes] == [Change(0.9, "overload"), Change(0.9, "drift")]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [0.02, 0.1, 0.19])
def test_noise_around_the_headroom_does_not_flap(seed, width):
    """An hour of noise around the headroom, above the lower mark: boxes may be set once, and are never removed."""
    random = Random(seed)
    course = Course()
    course.go(3600, lambda: 0.9 + random.uniform(-width, width))
    assert sum(change.why == "overload" for _, change in course.changes) <= 1
    assert not any(change.budget is None for _, change in course.changes)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_changes_are_apart(seed):
    random = Random(seed)
    course = Course()
    for _ in range(400):
        memory = random.choice([0, 50, 100, 150])
        course.go(
            random.choice([0.5, 2, 20]), random.choice([0.1, 0.69, 0.9, 0.95, 5]), memory, random.random() < 0.3
        )
    times = [now for now, _ in course.changes]
    assert all(later - now >= RULES.interval_s for now, later in pairwise(times))
    assert len(times) <= math.ceil(course.now / RULES.interval_s)
    budgets = {change.budget for _, change in course.changes if change.budget is not None}
    assert all(RULES.least <= budget <= RULES.high for budget in budgets)
