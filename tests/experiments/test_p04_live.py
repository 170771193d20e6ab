"""P04 on Spark, without Spark: the order, the means of both, and what is judged, on made-up runs."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

import penstock.experiments.p04.live as live
from penstock.cli.app import app
from penstock.errors import RunError
from penstock.experiments.claim import Claim
from penstock.experiments.p04.live import FULL, QUICK, Tick, Wanted, claims, mirrored, outcome
from penstock.experiments.p04.studies import CANDIDATES

ALONE_AT = {
    "round_robin": {"delay": 2.2, "memory": 280.0, "rate": 16.0},
    "chain": {"delay": 4.0, "memory": 150.0, "rate": 16.0},
    "fifo": {"delay": 2.0, "memory": 300.0, "rate": 16.0},
    "mtiq": {"delay": 3.0, "memory": 200.0, "rate": 16.0},
}
runner = CliRunner()


def both(values, shares, wobble=1.01, overhead=0.01):
    """Return two runs, the second with all values `wobble` times as high."""
    every = dict.fromkeys(CANDIDATES, 0.0) | shares
    return [
        {"values": {goal: value * by for goal, value in values.items()}, "shares": every, "overhead": overhead}
        for by in (1.0, wobble)
    ]


def made_up():
    """Return runs in which foresight does as the best policy does, and roulette as MTIQ, with Chain used most."""
    runs = {Wanted(policy): both(values, {policy: 1.0}) for policy, values in ALONE_AT.items()}
    for goal, best in (("delay", "fifo"), ("memory", "chain"), ("rate", "fifo")):
        runs[Wanted("foresight", goal)] = both(ALONE_AT[best], {best: 0.9, "mtiq": 0.1})
        runs[Wanted("roulette", goal)] = both(
            ALONE_AT["mtiq"], {"chain": 0.4, "fifo": 0.3, "mtiq": 0.3}, 1.02, 0.1
        )
    return runs


def judged(runs, plan=FULL):
    found = list(claims(runs, plan))
    texts = [each for each in found if isinstance(each, str)]
    return {each.what: (each.measured, each.holds) for each in found if isinstance(each, Claim)}, texts


@pytest.mark.parametrize("plan", [FULL, QUICK])
def test_everything_runs_twice_and_its_places_are_the_same_in_the_mean(plan):
    order = mirrored(plan)
    wanted = {Wanted(policy) for policy in CANDIDATES}
    wanted |= {Wanted(selector, goal) for selector in plan.selectors for goal in plan.goals}
    assert Counter(order) == dict.fromkeys(wanted, 2)
    for each in wanted:
        assert order.index(each) + len(order) - 1 - order[::-1].index(each) == len(order) - 1


def test_claims_by_hand():
    found, _ = judged(made_up())
    assert found["foresight, delay: share of the time of FIFO, the best, − others'"] == (pytest.approx(80), True)
    assert found["roulette, delay: share of the time of FIFO, the best, − others'"] == (pytest.approx(-10), False)
    assert found["roulette, memory: share of the time of Chain, the best, − others'"] == (pytest.approx(10), True)
    assert found["foresight, delay: gain over the median policy"] == (pytest.approx(30), True)  # (2.2 + 3) ÷ 2
    gain, holds = found["roulette, delay: gain over the median policy"]
    assert gain == pytest.approx(100 * (2.6 / 3 / 1.02**0.5 * 1.01**0.5 - 1))
    assert not holds
    assert found["roulette, delay: gain over FIFO, the best alone"][1]
    assert found["foresight: share of the time that choosing took, most"] == (pytest.approx(1), True)
    assert found["roulette: share of the time that choosing took, most"] == (pytest.approx(10), False)


def test_what_noise_could_have_made_is_not_judged():
    runs = made_up()
    found, texts = judged(runs)
    assert "foresight, rate: no policy alone is the best" in texts
    assert "foresight, delay: gain over FIFO, the best alone: 0 and 0 %" in texts
    assert not any("rate" in what and "share" in what for what in found)
    runs[Wanted("foresight", "delay")] = both({**ALONE_AT["fifo"], "delay": 1.5}, {"fifo": 1.0}, wobble=2.0)
    found, texts = judged(runs)
    assert "foresight, delay: gain over the median policy" not in found, "ahead by less than both runs differ"
    assert "foresight, delay: gain over the median policy: 73.3 and -12.5 %" in texts


def test_policies_that_noise_cannot_tell_apart_are_all_the_best():
    runs = made_up()
    runs[Wanted("round_robin")] = both({**ALONE_AT["round_robin"], "delay": 1.9}, {"round_robin": 1.0}, wobble=1.3)
    found, _ = judged(runs)
    assert found["foresight, delay: share of the time of FIFO or RR, the best, − others'"][1]


def test_a_run_that_is_over_too_soon_counts_for_nothing():
    with pytest.raises(RunError, match="before 5 s"):
        outcome([Tick(1.0, 0, 0.0, 0, "fifo"), Tick(4.9, 10, 1.0, 3, "fifo")], 5.0, 0.0)
    silent = [Tick(5.0, 0, 0.0, 10, "fifo"), Tick(9.0, 0, 0.0, 10, "fifo")]
    assert outcome(silent, 5.0, 0.0)["values"] == {"delay": 4.0, "memory": 10.0, "rate": 0.0}


@pytest.fixture
def no_spark(monkeypatch):
    """Let made-up runs stand in for those on Spark."""
    runs = made_up()
    places = Counter()

    def lived(work, folder, wanted, plan):
        places[wanted] += 1
        return runs[wanted][places[wanted] - 1]

    class Session:
        def __init__(self, master, remote):
            pass

        def __enter__(self):
            return None

        def __exit__(self, *exception):
            pass

    monkeypatch.setattr(live, "spark_session", Session)
    monkeypatch.setattr(live, "_capacity", lambda *arguments: 100.0)
    monkeypatch.setattr(live, "_lived", lived)
    return monkeypatch


def called(capfd, *options):
    """Return the exit code and what was printed; Spark's start needs a stderr that is a file."""
    with pytest.raises(SystemExit) as left:
        app(["reproduce", "P04", "--on", "spark", *options])
    return left.value.code, *capfd.readouterr()


def test_on_the_screen_it_fits_a_terminal(no_spark, tmp_path, capfd):
    file = tmp_path / "p04.html"
    code, said, _ = called(capfd, "--report", str(file))
    assert code == 0
    assert max(map(len, said.splitlines()[:-1])) <= 80
    for words in ("foresight, for delay", "2.01 ± 0.010", "Within noise, not judged:", "claims hold"):
        assert words in said
    assert file.read_text().count("<figure>") == 3


def test_as_json_it_is_as_other_papers_are(no_spark, capfd):
    found = json.loads(called(capfd, "--quick", "--json")[1])
    assert (found["paper"], found["on"], found["quick"], found["cells"]) == ("P04", "spark", True, 10)
    assert {"claim", "figure", "published", "measured", "holds"} <= set(found["claims"][0])
    fifo = next(row for row in found["values"] if row["name"] == "fifo")
    assert fifo["values"]["delay"] == pytest.approx({"mean": 2.01, "noise": 0.01})


def test_ctrl_c_ends_it_in_a_sentence(no_spark, capfd):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    no_spark.setattr(live, "_lived", interrupted)
    code, printed, said = called(capfd)
    assert (code, printed, said.strip()) == (130, "", "Interrupted. Nothing was kept.")


def test_there_is_nothing_else_to_run_on():
    result = runner.invoke(app, ["reproduce", "P04", "--on", "flink"])
    assert result.exit_code == 2
    assert "'flink' is not one of 'simulator', 'spark'" in " ".join(result.output.replace("│", "").split())
