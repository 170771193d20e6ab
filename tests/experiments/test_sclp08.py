"""SCLP08's experiment, very small: every figure is there, and claims are judged by what the runs gave."""

import re
from dataclasses import replace

import pytest

from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sclp08 import experiment
from penstock.experiments.sclp08.claims import below
from penstock.experiments.sclp08.reasons import REASONS
from penstock.experiments.sweep import measured

TINY = replace(experiment.QUICK, packets=150, queries=20)


@pytest.fixture(scope="module")
def paper():
    made = experiment.experiment(ReproductionSettings(quick=True))
    made.sizes = TINY
    return made


@pytest.fixture(scope="module")
def found(paper):
    cells = paper.cells()
    return CellResults(cells, {cell.key: measured(cell) for cell in cells})


def test_every_figure_has_claims_and_is_drawn(paper, found):
    claims, figures = paper.claims(found), paper.figures(found)
    wanted = {f"Figure {number}" for number in range(6, 31)}
    assert {claim.figure for claim in claims} == wanted
    assert {figure.number for figure in figures} == wanted
    assert all(figure.lines and all(figure.lines.values()) for figure in figures)
    assert len({(claim.figure, claim.what) for claim in claims}) == len(claims)
    for claim in claims:
        assert {"figure", "claim", "published", "measured", "holds"} <= claim.as_dict().keys()


def test_reasons_are_of_claims_that_there_are(paper, found):
    """A reason whose claim was renamed would never be shown."""
    known = {(int(re.sub(r"\D", "", claim.figure)), claim.what) for claim in paper.claims(found)}
    assert set(REASONS) <= known


def test_a_claim_is_what_the_cells_say(paper, found):
    claims = {(claim.figure, claim.what): claim for claim in paper.claims(found)}
    hnr, hr = (found.of(paper.at_load(name, 0.97, 1))["avg_slowdown"] for name in ("hnr", "hr"))
    assert claims["Figure 6", "avg slowdown, HNR below HR at 0.97"].measured == pytest.approx(100 * (1 - hnr / hr))
    fifo, hr = (found.of(paper.at_load(name, 0.97, 1))["avg_response"] for name in ("fifo", "hr"))
    assert claims["Figure 7", "avg response, FCFS ÷ HR at 0.97"].measured == pytest.approx(fifo / hr)


def test_published_figures_would_hold():
    """A machine that measured the paper's own numbers would find that they hold."""
    assert below(26, 100) == 74
    from penstock.experiments.sclp08.claims import _percent, _times

    for printed in (4, 7, 18, 20, 24, 53, 75):
        assert _percent(6, "x", printed, printed).holds
        assert not _percent(6, "x", printed, printed + 11).holds
    assert _times(7, "x", 6.3, 6.3).holds
    assert not _times(7, "x", 6.3, 9).holds


def test_the_same_settings_are_the_same_cells():
    one, other = (experiment.experiment(ReproductionSettings(seed=4)).cells() for _ in range(2))
    assert [cell.key for cell in one] == [cell.key for cell in other]
    assert len({cell.key for cell in one}) == len(one)


def test_an_oracle_does_better_than_what_it_sees_through(paper):
    """Figure 19 at the lowest selectivity: who knows the future does not serve what comes to nothing first."""
    wide = replace(TINY, packets=2000, queries=60)
    made = experiment.experiment(ReproductionSettings(quick=True))
    made.sizes = wide
    blind, seeing = (measured(made.same_cost(name, 0.1))["avg_response"] for name in ("hr", "hr_oracle"))
    assert seeing < blind / 2
