"""`bench selectors`: what a regret is, and that every workload runs."""

import math

import pytest

from penstock.bench.selectors.run import SELECTORS, compared, comparisons, loss_of
from penstock.bench.selectors.workloads import workloads
from penstock.qos import ChoiceSample, Chosen, Goals, IntervalStatistics, ResultSums

KINDS = {"steady", "bursty", "drifting", "changing goals"}


def look(time, memory, response, pending=0.0):
    results = ResultSums(10.0, 10.0 * response, response)
    waiting = ResultSums(pending, pending * 50.0, 50.0)
    interval = IntervalStatistics(time, 1.0, results, memory, memory, memory, pending=waiting)
    return ChoiceSample(time, 1.0, "fifo", {}, interval, {}, exploring=False)


def test_a_loss_by_hand():
    memory, latency = Goals.parse("memory"), Goals.parse("latency")
    looks = (look(1.0, 2.0, 9.0), look(2.0, 4.0, 9.0), look(3.0, 7.0, 3.0, pending=5.0))
    chosen = Chosen("roulette", ("fifo",), latency, looks, 0)
    assert loss_of(chosen, [(-math.inf, memory)]) == pytest.approx((2 + 4 + 7) / 3)
    # two seconds of memory 3, then one second of response, with five that wait for 50 s: (10 · 3 + 5 · 50) ÷ 15
    mixed = loss_of(chosen, [(-math.inf, memory), (2.0, latency)])
    assert mixed == pytest.approx((3**2 * (280 / 15)) ** (1 / 3))


def test_what_is_required():
    def row(own, papers):
        return {"regret": {"foresight": own, "roulette": papers}}

    held = [each.holds for each in comparisons([row(4.0, 3.0)] * 20)]
    assert held == [True, True, True]
    # better than every policy on one workload does not make up for another; 3 worse than roulette is too much
    held = [each.holds for each in comparisons([row(-90.0, 3.0), row(11.0, 8.0)])]
    assert held == [False, False, False]


def test_there_are_workloads_of_every_kind(tmp_path):
    assert {work.kind for work in workloads(None)} == KINDS
    assert len(workloads(None)) >= 20
    assert len({work.name for work in workloads(tmp_path)}) == len(workloads(tmp_path)) > len(workloads(None))


@pytest.mark.parametrize("name", ["P04 plan 1, selectivity", "memory, response"])
def test_a_workload(name):
    work = next(work for work in workloads(None) if work.name == name)
    found = compared(work, seed=1, seconds=20.0)
    assert min(found["singles"].values()) == found["singles"][found["best"]] == 0
    assert set(found["selectors"]) == set(SELECTORS)
    assert found["selectors"] != compared(work, seed=2, seconds=20.0)["selectors"]
