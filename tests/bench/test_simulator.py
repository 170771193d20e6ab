"""The benchmark of the simulator: its SimPy model, what it requires, and the command with tiny sizes."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.bench.comparisons import Comparison
from penstock.bench.simulator import cases, claims, memory, run, timing
from penstock.cli.app import app
from penstock.policies import POLICIES
from penstock.simulator.plain import OTHER, chance, mixed
from penstock.simulator.simulate import simulate

simpy_model = pytest.importorskip("penstock.bench.simulator.simpy_model", exc_type=ImportError)

SEED = 3
TINY = (
    cases.Size(4, compiled=40, scan=40, simpy=40, simpy_by_age=40, repeats=2, others=1),
    cases.Size(6, compiled=60, scan=60, simpy=60, simpy_by_age=60, repeats=1, others=0),
)


def fates(net):
    """Fates as the compiled simulator draws them."""
    salts = [mixed(mixed(SEED) + place * OTHER) for place in range(1, len(net.operators) + 1)]
    return lambda number, place: chance(number + 1, salts[place])


@pytest.mark.parametrize("policy", simpy_model.MODELLED)
def test_simpy_and_the_compiled_simulator_do_the_same(policy):
    given = timing.queries(30)
    arrivals = given.times(SEED, count=60)
    model = simpy_model.Model(given.network, arrivals["s"].tolist(), policy, fates(given.network))
    model.run()
    result = simulate(given.network, arrivals, policy, SEED)
    assert (model.decisions, len(model.responses)) == (result.decisions, result.metrics["outputs"])
    assert np.mean(model.responses) == pytest.approx(result.metrics["avg_response"])
    assert max(model.responses) == pytest.approx(result.metrics["max_response"])
    assert np.mean(model.slowdowns) == pytest.approx(result.metrics["avg_slowdown"])


def test_simpy_draws_its_own_fates_alike():
    given = timing.queries(30)
    arrivals = given.times(SEED, count=200)
    model = simpy_model.Model(given.network, arrivals["s"].tolist(), "hr")
    model.run()
    assert len(model.responses) == pytest.approx(
        simulate(given.network, arrivals, "hr").metrics["outputs"], rel=0.1
    )


def test_every_policy_is_timed_on_every_size_and_required_ones_more_often():
    planned = cases.cases(cases.FULL)
    compiled = {(case.policy, case.size.queries): case.repeats for case in planned if case.system == "compiled"}
    assert {policy for policy, queries in compiled if queries == 5000} == {*POLICIES, *cases.COMBINED}
    assert {compiled[policy, 500] for policy in (*cases.RANKED, *cases.AGED)} == {5}
    assert {case.policy for case in planned if case.system == "scan"} == {*cases.AGED}


def figures(policy, queries, system, best):
    return {"policy": policy, "queries": queries, "system": system, "best": best}


def judged(rates, memory=None):
    return {each.claim: each for each in claims.comparisons(rates, memory)}


def test_claims_are_ratios_of_the_best_rates():
    rates = [
        figures("hr", 500, "compiled", 30e6), figures("hr", 500, "simpy", 0.2e6),
        figures("bsd", 500, "compiled", 4e6), figures("bsd", 5000, "compiled", 2e6),
        figures("bsd", 5000, "scan", 0.02e6),
    ]  # fmt: skip
    found = judged(rates, {"peak_bytes": 2.5e9})
    measured = {claim: each for claim, each in found.items() if each.measured is not None}
    assert [(each.measured, each.holds) for each in measured.values()] == [
        (pytest.approx(150), True),
        (pytest.approx(100), True),
        (pytest.approx(0.5), False),
        (pytest.approx(2.5), False),
    ]
    assert len(found) == 7 + 2 * 4 + 1


def test_what_is_not_measured_is_neither_right_nor_wrong():
    found = judged([])
    assert {each.holds for each in found.values()} == {None}
    assert "pip install 'penstock[bench]'" in found["hr, 500 queries: rate ÷ SimPy's"].reason


def test_the_plain_reference_is_stopped(monkeypatch):
    monkeypatch.setattr(timing, "PATIENCE", 0.0)
    case = cases.TimingCase("plain", "hr", TINY[0], 1)
    assert timing.timed(case, timing.queries(4)).decisions == 1


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(run, "SIZES", {False: TINY, True: TINY})
    monkeypatch.setattr(timing, "PATIENCE", 0.001)
    monkeypatch.setattr(memory, "PACKETS", 20)
    monkeypatch.setattr(memory, "QUERIES", 4)


def test_the_command_prints_json_and_draws(tiny, tmp_path):
    file = tmp_path / "simulator.html"
    result = CliRunner().invoke(app, ["bench", "simulator", "--json", "--report", str(file)])
    found = json.loads(result.stdout)
    timings = {(each["policy"], each["queries"], each["system"]): each for each in found["rates"]}
    assert len(timings["hr", 4, "compiled"]["rates"]) == len(timings["hr", 4, "simpy"]["rates"]) == 2
    assert timings["hr", 4, "compiled"]["decisions"] == timings["hr", 4, "simpy"]["decisions"] == 40
    assert found["memory"]["decisions"] == 80
    held = [Comparison(**{k: v for k, v in each.items() if k != "holds"}) for each in found["comparisons"]]
    assert result.exit_code == (1 if any(each.holds is False for each in held) else 0)
    assert file.read_text().count("<figure>") == 2


def test_the_command_prints_tables_that_fit_and_says_how_to_get_simpy(tiny, monkeypatch):
    monkeypatch.setattr(cases, "has_simpy", lambda: False)
    monkeypatch.setattr(run, "has_simpy", lambda: False)
    result = CliRunner().invoke(app, ["bench", "simulator", "--quick"])
    assert result.exit_code == 0
    assert "SimPy is not installed: pip install 'penstock[bench]'." in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "…" not in result.stdout


def test_wide_numbers_fit_a_terminal():
    from penstock.cli.bench.simulator import TITLES, _tables

    sizes = (50, 500, 5000)
    speed = {"compiled": 16.7e6, "scan": 6200.0, "simpy": 376_000.0, "plain": 8.1}
    rates = [figures("hnr.level('operator')", size, system, speed[system]) for system in TITLES for size in sizes]
    console = Console(width=80, file=StringIO())
    for table in _tables({"queries": sizes, "rates": rates}):
        console.print(table)
    shown = console.file.getvalue()
    assert "2,061,728" in shown
    assert "÷ 5,000" in shown
    assert "…" not in shown
