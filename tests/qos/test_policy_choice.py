"""Times of samples and choices, starvation, and changes of goals, selectors and candidates during a run."""

from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

import pytest

from penstock.errors import QosError
from penstock.policies import POLICIES
from penstock.qos import (
    Choice,
    IntervalStatistics,
    PolicyChoice,
    ResultSums,
    Selection,
    Situation,
    merged,
    selector_named,
)


def interval(now, seconds=1.0, count=5.0, waiting=3.0, response=2.0, memory=4.0):
    return IntervalStatistics(now, seconds, ResultSums(count, count * response, response), memory, memory, waiting)


def drive(choice, until, count=5.0):
    """Give a sample whenever one is due, and return the times with the policies that ran."""
    ran, now = [], 0.0
    while choice.due < until:
        now, seconds = choice.due, choice.due - now
        ran.append((now, choice.policy))
        choice.see(interval(now, seconds, count))
    return ran


def test_timetable_of_p04():
    choice = PolicyChoice(Selection("memory", "roulette", ("fifo", "chain", "mtiq"), warmup=5.0))
    ran = drive(choice, 20.0)
    assert ran[:5] == [(5.0, "fifo"), (6.0, "fifo"), (7.0, "chain"), (8.0, "mtiq"), (9.0, "fifo")]
    assert [now for now, _ in ran[5:]] == [float(now) for now in range(10, 20)]  # a sample every second
    changes = [now for (now, one), (_, other) in pairwise(ran[5:]) if one != other]
    assert all((now - 9) % 2 == 0 for now in changes)  # a choice every two
    exploring = [look.exploring for look in choice.chosen.looks]
    assert exploring == [True] * 5 + [False] * (len(ran) - 5)


class Fixed:
    """Always the first candidate."""

    scores: ClassVar = {}

    def choose(self, situation: Situation) -> Choice:
        return Choice(situation.candidates[0])


def test_starvation_forces_a_switch():
    told = []
    choice = PolicyChoice(Selection("memory", candidates=("mtiq", "fifo"), starvation=3), on_event=told.append)
    choice.selector = Fixed()
    ran = drive(choice, 8.5, count=0.0)
    assert ran[:4] == [(1.0, "mtiq"), (2.0, "mtiq"), (3.0, "mtiq"), (4.0, "fifo")]
    assert choice.starved == len(told) >= 1
    assert "mtiq made no result" in told[0]
    choice = PolicyChoice(Selection("memory", candidates=("mtiq", "fifo"), starvation=3))
    choice.selector = Fixed()
    assert {policy for _, policy in drive(choice, 9.5)} == {"mtiq"}


def test_changes_during_a_run():
    choice = PolicyChoice(Selection("memory", "roulette", ("fifo", "chain")))
    drive(choice, 6.5)
    choice.set_goals("latency")
    choice.set_selector("foresight")
    choice.set_candidates(("hr", "chain"))
    choice.see(interval(7.0))
    choice.see(interval(9.0))
    assert choice.policy == "hr"  # known for response, before there was a what-if run
    with pytest.raises(QosError, match="sum to 1"):
        choice.set_goals("minimize avg_response 0.5")
    assert str(choice.goals) == "minimize avg_response 1"
    with pytest.raises(QosError, match="no selector"):
        choice.set_selector("chance")
    assert choice.see(interval(11.0)) == "hr"


def test_what_if_runs_decide_and_margins_hold():
    choice = PolicyChoice(Selection("memory", candidates=("fifo", "chain", "hr")))
    assert choice.policy == "chain"

    def sample(now, **held):
        what_ifs = {name: interval(now, memory=memory) for name, memory in held.items()}
        return choice.see(interval(now), what_ifs=what_ifs)

    sample(1.0, fifo=3.0, chain=10.0, hr=11.0)
    assert sample(2.0, fifo=3.0, chain=10.0, hr=11.0) == "fifo"
    for now in range(3, 40):  # chain is better now, but what counts is the whole horizon, within a margin
        policy = sample(float(now), fifo=10.0, chain=9.5, hr=11.0)
    assert policy == "fifo"


def test_a_policy_that_falls_short_of_its_what_if_run_is_left():
    selector = selector_named("foresight")
    choice = PolicyChoice(Selection("memory", candidates=("fifo", "chain")))
    what_ifs = {"fifo": interval(1.0, memory=10.0), "chain": interval(1.0, memory=9.0)}

    def choose(policy, memory):
        period = {"queue_memory": memory}
        return selector.choose(
            Situation(1.0, choice.goals, ("fifo", "chain"), choice.statistics, policy, period,
                      what_ifs=what_ifs, period_what_ifs=what_ifs)
        ).policy  # fmt: skip

    assert choose("fifo", 10.0) == "chain"  # as modelled
    ran = ["chain"]
    for _ in range(60):
        ran.append(choose(ran[-1], 30.0 if ran[-1] == "chain" else 10.0))
    assert ran[-1] == "fifo"


def test_merged():
    one, other = (
        interval(1.0, count=4.0, memory=2.0),
        interval(3.0, seconds=3.0, count=6.0, memory=6.0, response=4.0),
    )
    both = merged([one, other])
    assert (both.now, both.seconds, both.memory, both.peak) == (3.0, 4.0, 5.0, 6.0)
    assert both.results.avg_response == (4 * 2 + 6 * 4) / 10
    with pytest.raises(QosError, match="no interval"):
        merged([])


@pytest.mark.parametrize("selector", ["roulette", "ucb"])
def test_the_first_round_is_of_the_present_candidates(selector):
    choice = PolicyChoice(Selection("memory", selector, ("fifo", "chain", "hr")))
    choice.see(interval(1.0))
    choice.set_candidates(("lsf", "mtiq"))
    ran = {choice.see(interval(float(now))) for now in range(2, 12)}
    assert ran <= {"lsf", "mtiq"}


def test_changes_of_goals_stand_in_the_order_of_time():
    selection = Selection("memory", changes=[(8.0, "throughput"), (4.0, "latency")])
    assert [at for at, _ in selection.changes] == [4.0, 8.0]
    for wrong in ([5], [("x", "memory")], [(-1.0, "memory")], [(float("nan"), "memory")]):
        with pytest.raises(QosError):
            Selection("memory", changes=wrong)
    for wrong in ({"every": 1e-300}, {"sample": "1"}, {"warmup": -1}, {"starvation": 1.5}):
        with pytest.raises(QosError):
            Selection("memory", **wrong)


def test_a_policy_made_by_hand_is_not_mistaken_for_another():
    mine = replace(POLICIES["bsd"], gain=POLICIES["fifo"].gain)
    with pytest.raises(QosError, match="differs from the registered policy"):
        Selection("memory", candidates=(mine,))
    assert Selection("memory", candidates=(POLICIES["bsd"].every(20),)).names == ("bsd.every(20)",)
