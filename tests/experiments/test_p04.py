"""P04 §6: its runs against a record of every event, (5.2) by hand, and the claims on made-up outcomes."""

import json
from math import log

import numpy as np
import pytest

from penstock.experiments.p04.claims import claims, most_used, picks, steps
from penstock.experiments.p04.experiment import experiment
from penstock.experiments.p04.mixes import ALONE, EQUAL, GOALS, MIXED, goals_of, weights_of
from penstock.experiments.p04.runs import Runs, RunSetting, loss, noise, percent, score
from penstock.experiments.p04.studies import CANDIDATES, COUNTED_FROM_S, SERVICE
from penstock.experiments.p04.study import NAMES, PLANS, SELECTORS, Study
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell, measured
from penstock.qos import Selection
from penstock.simulator.simulate import simulate
from penstock.workloads import Redrawn, population

TINY = Study(14.0, 16.0, {2.0: (1, 1)})
RUN = {"plan": "p04_join", "burst": 2.0, "seconds": 40.0, "seed": 3, "drawn": True}


def test_cells_claims_and_figures_go_together():
    made = experiment(ReproductionSettings(quick=True))
    made.study = TINY
    cells = made.cells()
    assert len(cells) == len({cell.key for cell in cells}) == len(PLANS) * 2 * (1 + len(SELECTORS))
    found = CellResults(cells, {cell.key: json.loads(json.dumps(measured(cell))) for cell in cells})
    judged = made.claims(found)
    assert all(claim.measured is not None for claim in judged)
    assert {f"Figure 6.{number}" for number in range(2, 8)} <= {claim.figure for claim in judged}
    for label in SELECTORS.values():
        assert {claim.figure for claim in judged if claim.what.startswith(label)} >= {"§7.1, mixes", "§6.4"}
    figures = made.figures(found)
    assert [figure.number for figure in figures if figure.number.startswith("Figure")] == [
        *["Figure 6.2"] * 2, *["Figure 6.3"] * 2, *["Figure 6.4"] * 2, *["Figure 6.5"] * 2, *["Figure 6.6"] * 2,
        *["Figure 6.7"] * 3,
    ]  # fmt: skip
    assert {len(figure.lines) for figure in figures} == {4, 5, 6}


def test_seeds_follow_from_the_settings_and_only_the_first_is_drawn():
    cells = experiment(ReproductionSettings(seed=5)).cells()
    assert {cell.settings["seed"] for cell in cells if cell.settings["drawn"]} == {5}
    assert {cell.settings["seed"] for cell in cells if cell.settings["seconds"] == 300} == set(range(5, 11))
    assert {cell.settings["burst"] for cell in cells} == {2.0, 10.0}
    assert [cell.key for cell in cells] == [cell.key for cell in experiment(ReproductionSettings(seed=5)).cells()]


def test_means_are_those_of_every_event_after_the_first_ten_seconds():
    found = measured(SweepCell("P04", "single", RUN))["fifo"]
    made = population("p04_join", arrivals=Redrawn(100.0))
    result = simulate(made.network, made.times(3, seconds=40.0), "fifo", 3, service=SERVICE, detail=True)
    time, seconds, _, _, waiting = np.array(found["series"]).T
    begin, end = time[0] - seconds[0], time[-1]
    assert begin == pytest.approx(COUNTED_FROM_S, abs=1.0)
    inside = result.detail.departures[(result.detail.departures[:, 0] > begin + 1e-6)]
    inside = inside[inside[:, 0] <= end + 1e-6]
    assert found["values"]["delay"] == pytest.approx(inside[:, 3].mean(), rel=1e-6)
    assert found["values"]["rate"] == pytest.approx(len(inside) / (end - begin), rel=1e-4)
    places = np.searchsorted(result.detail.memory[:, 0], time + 1e-6, side="right") - 1
    assert waiting.tolist() == result.detail.memory[places, 1].tolist()
    assert found["values"]["memory"] == pytest.approx(np.average(waiting, weights=seconds), rel=1e-4)


def test_a_selector_of_the_study_is_that_of_the_simulator():
    settings = {"policy": "roulette", "mixes": [EQUAL], **RUN}
    found = measured(SweepCell("P04", "selected", settings))[EQUAL]
    goals = "minimize avg_response 0.33, minimize queue_size 0.33, maximize output_rate 0.34"
    selection = Selection(goals, "roulette", CANDIDATES, warmup=5.0, seed=3)
    made = population("p04_join", arrivals=Redrawn(100.0))
    chosen = simulate(made.network, made.times(3, seconds=40.0), selection, 3, service=SERVICE).chosen
    assert found["shares"] == pytest.approx(chosen.shares)
    assert [found["values"][goal] for goal in GOALS] == pytest.approx(
        [chosen.values()[GOALS[goal]] for goal in GOALS]
    )


@pytest.mark.parametrize("plan", PLANS)
def test_single_policies_are_as_in_figure_6_2(plan):
    runs = [
        measured(SweepCell("P04", "single", RUN | {"plan": plan, "seconds": 150.0, "seed": seed}))
        for seed in (1, 2)
    ]
    mean = {(policy, goal): sum(run[policy]["values"][goal] for run in runs) for policy in NAMES for goal in GOALS}
    for batch in ("chain", "mtiq"):
        for fair in ("fifo", "round_robin"):
            assert mean[batch, "memory"] < mean[fair, "memory"]
            assert mean[batch, "delay"] > mean[fair, "delay"]
    assert mean["fifo", "delay"] < mean["round_robin", "delay"]


def test_weights_of_all_mixes_sum_to_one():
    assert len({*ALONE.values(), *MIXED}) == 3 + 9 + 1
    for name in (*ALONE.values(), *MIXED):
        assert sum(weights_of(name).values()) == pytest.approx(1)
        assert sum(goal.weight for goal in goals_of(name)) == pytest.approx(1)


def test_the_score_by_hand():
    """P04 (5.1): delays 1, 2, 6 have the mean 3 and the spread 5; rates 10, 20, 30 the mean and the spread 20."""
    singles = [{"delay": 1.0, "rate": 10.0}, {"delay": 2.0, "rate": 30.0}, {"delay": 6.0, "rate": 20.0}]
    delay, rate = [0.9, 0.7, -0.1], [0.0, 1.0, 0.5]
    for values, z, y in zip(singles, delay, rate, strict=True):
        assert score(values, singles, "delay 70, rate 30") == pytest.approx(0.7 * z + 0.3 * y)
    assert score({"delay": 0.5, "rate": 35.0}, singles, "delay 50, rate 50") == pytest.approx((1.0 + 1.25) / 2)
    alike = [{"delay": 4.0, "rate": 1.0}] * 2
    assert score(alike[0], alike, "delay 50, rate 50") == 0.5
    assert loss({"delay": 4.0, "rate": 9.0}, "delay 50, rate 50") == pytest.approx(2 / 3)


def test_noise_and_percent_by_hand():
    assert percent([log(2), log(0.5)]) == pytest.approx(0)
    assert noise([1.0, 2.0, 3.0, 4.0]) == pytest.approx(2 * np.std([1, 2, 3, 4], ddof=1) / 2)


ALONE_AT = {
    "round_robin": {"delay": 2.2, "memory": 280.0, "rate": 15.9},
    "chain": {"delay": 4.0, "memory": 150.0, "rate": 15.0},
    "fifo": {"delay": 2.0, "memory": 300.0, "rate": 16.0},
    "mtiq": {"delay": 3.0, "memory": 200.0, "rate": 15.5},
}


def outcome(values, most="fifo", elapsed=1.0, wobble=1.0):
    others = [policy for policy in NAMES if policy != most]
    shares = {most: 0.7, **dict.fromkeys(others, 0.1)}
    made = {goal: value * wobble for goal, value in values.items()}
    return {"values": made, "shares": shares, "switches": 3, "elapsed": elapsed}


def made_up(at, most):
    """Return runs of four seeds: policies alone as above; `at` gives a selector's values, `most` its favourite."""
    study = Study(30.0, 300.0, {2.0: (4, 4)})
    wobbles = (0.99, 1.0, 1.01, 1.02)
    settings = [study.at(plan, seconds) for plan in PLANS for seconds in (30.0, 300.0)]
    single = {
        setting: {name: [outcome(v, name, wobble=w) for w in wobbles] for name, v in ALONE_AT.items()}
        for setting in settings
    }
    selected = {
        (setting, selector): {
            name: [outcome(at(name), most(name), 1.2, w) for w in wobbles] for name in (*ALONE.values(), *MIXED)
        }
        for setting in settings
        for selector in SELECTORS
    }
    return study, Runs(single, selected)


BEST = {"delay": "fifo", "memory": "chain", "rate": "fifo"}


def as_published(name):
    """Return values as the thesis has them: for one goal its best policy's, for several better than each alone."""
    weights = weights_of(name)
    if len(weights) == 1:
        return ALONE_AT[BEST[next(iter(weights))]]
    rate = 15.95 + 0.1 * weights.get("rate", 0)
    return {"delay": 1.9, "memory": 190.0 - 20 * weights.get("memory", 0), "rate": rate}


def favourite(name):
    return BEST[next(iter(weights_of(name)))]


def verdicts(study, runs):
    return {(claim.figure, claim.what): claim for claim in claims(study, runs)}


def test_outcomes_as_published_hold_what_does_not_contradict_itself():
    study, runs = made_up(as_published, favourite)
    failing = {key: claim.measured for key, claim in verdicts(study, runs).items() if not claim.holds}
    assert {figure for figure, _ in failing} <= {"§7.1, mixes"}
    assert all("of 20" in what or "runs ahead" in what for _, what in failing), "ahead for all mixes, not for some"


def test_a_selector_that_does_as_the_worst_policy_fails():
    study, runs = made_up(lambda name: ALONE_AT["chain"], lambda name: "mtiq")
    found = verdicts(study, runs)

    def measured_of(figure, what):
        return found[figure, what].measured, found[figure, what].holds

    assert measured_of("§7.1, 30 s", "roulette, plan 1, delay: best used most, of runs") == (0, False)
    gain, holds = measured_of("Figure 6.4", "foresight, plan 1: delay, gain over the best")
    assert (gain, holds) == (pytest.approx(-50), False)
    behind, holds = measured_of(
        "§6.4", "roulette, delay 70, rate 30: behind the median beyond noise, most (plan 1, delay)"
    )
    assert (behind, holds) == (pytest.approx(100 * (1 - 2.6 / 4.0)), False)  # the median delay is (2.2 + 3) ÷ 2
    assert measured_of("§7.1, mixes", "UCB, score (5.2): runs ahead of every single policy") == (0, False)
    share, holds = measured_of("§6.4", "EXP3: goals of mixes not behind the median")
    assert (share, holds) == (pytest.approx(100 * 7 / 21), False), "good at memory, which seven of the mixes have"


def test_most_used_is_right_if_noise_cannot_tell_it_from_the_best():
    study, runs = made_up(as_published, lambda name: "round_robin")
    setting = study.at("p04_join", 30.0)
    assert runs.best(setting, "delay") == ["fifo"]
    assert picks(runs, setting, "roulette", "delay") == [False] * 4
    for place, each in enumerate(runs.single[setting]["round_robin"]):
        each["values"]["delay"] = 2.0 + (0.3, -0.2, 0.3, -0.2)[place]
    assert runs.best(setting, "delay") == ["fifo", "round_robin"]
    assert picks(runs, setting, "roulette", "delay") == [True] * 4
    assert most_used({"chain": 0.2, "fifo": 0.5, "mtiq": 0.3}) == "fifo"


def test_steps_of_a_weight_by_hand():
    delays = {"rate 100": 4.0, "delay 30, rate 70": 2.0, "delay 50, rate 50": 2.0, "delay 70, rate 30": 2.5,
              "delay 100": 2.0}  # fmt: skip
    study, runs = made_up(lambda name: {"memory": 1.0, "rate": 1.0, "delay": delays.get(name, 1.0)}, favourite)
    found = steps(runs, RunSetting("p04_join", 2.0, 300.0), "ucb", "delay", "rate")
    assert found == pytest.approx([100, 0, -20, 25, 100])
    claim = verdicts(study, runs)["§6.4, weights", "UCB: steps 0, 30, 50, 70, 100 that do not worsen"]
    assert claim.measured < 100
