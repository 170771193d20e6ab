"""BBDM03 §5: its simulations, its claims, and round robin by time."""

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.experiments.bbdm03.claims import judged
from penstock.experiments.bbdm03.experiment import POINTS, POLICIES, experiment
from penstock.experiments.bbdm03.quanta import round_robin
from penstock.experiments.bbdm03.studies import QUANTUM, averaged, queues, slowed, traced
from penstock.experiments.reproduction import CellResults, ReproductionSettings
from penstock.experiments.sweep import SweepCell, measured
from penstock.network import Network
from penstock.simulator.simulate import simulate
from penstock.workloads import population


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A trace of a thousand arrivals, one in 10 ms and bursts of ten."""
    file = tmp_path_factory.mktemp("traces") / "packets.csv"
    rows = [10_000 * n + (0 if n % 50 < 40 else -5_000) for n in range(1000)]
    file.write_text("\n".join(["arrival_us", *map(str, sorted(rows))]))
    return file


def small(settings):
    """The experiment, and what its cells give with 300 tuples."""
    made = experiment(settings)
    made.tuples = 300
    cells = made.cells()
    return made, CellResults(cells, {cell.key: json.loads(json.dumps(measured(cell))) for cell in cells})


def test_cells_claims_and_figures_go_together(trace):
    made, found = small(ReproductionSettings(quick=True, trace=trace))
    assert len(found.cells) == len({cell.key for cell in found.cells}) == 2 * (5 * len(POLICIES) + 2 * 3)
    claims = made.claims(found)
    assert all(claim.measured is not None for claim in claims)
    assert {claim.figure for claim in claims} == {"§5.1", "§5.2", "§5.3", "§5.4"}
    figures = made.figures(found)
    assert len(figures) == 10
    assert {(len(figure.lines), *map(len, figure.lines.values())) for figure in figures} == {(5, *[POINTS] * 5)}


def test_without_a_trace_the_real_data_have_no_measure():
    made = experiment(ReproductionSettings(seed=7))
    cells = made.cells()
    assert {cell.settings["trace"] for cell in cells} == {None}
    assert {cell.settings["seed"] for cell in cells} == {7, 8}
    assert any("No trace was given" in note for note in made.notes)
    claims = made.claims(CellResults(cells, {cell.key: {"mean": 1.0, "peak": 2.0} for cell in cells}))
    unknown = [claim for claim in claims if claim.measured is None]
    assert {claim.what.split(":")[0] for claim in unknown} == {"two, real", "join, real"}
    assert all("no trace was given" in claim.as_dict()["why"] for claim in unknown)


@pytest.mark.parametrize("plan", ["four", "join"])
def test_the_series_is_the_exact_record_averaged(plan):
    given = {"plan": plan, "policy": "greedy", "load": 0.95, "tuples": 2000, "seed": 5, "points": 40}
    found = measured(SweepCell("BBDM03", "queues", given))
    made = population(f"bbdm03_{plan}", load=0.95)
    arrivals = made.times(5, count=2000)
    exact = simulate(made.network, arrivals, "greedy", 5, blocking=made.blocking, detail=True)
    record = exact.detail.memory
    edges = exact.start + found["width"] * np.arange(41)
    assert found["series"] == pytest.approx(averaged(record, edges).tolist())
    assert (found["mean"], found["peak"]) == pytest.approx((exact.mean_memory, exact.peak_memory))


def test_averages_are_those_of_a_fine_grid():
    samples = np.array([(0.0, 3.0), (0.5, 1.0), (2.25, 7.0), (3.0, 0.0)])
    grid = np.arange(0.0005, 4, 0.001)
    values = samples[np.searchsorted(samples[:, 0], grid, side="right") - 1, 1]
    assert averaged(samples, np.arange(5.0)) == pytest.approx(values.reshape(4, -1).mean(axis=1), abs=1e-6)


@pytest.mark.parametrize("plan", ["two", "lookup", "join", "three"])
def test_round_robin_by_time_does_the_same_work_on_the_same_tuples(plan):
    """All work-conserving schedules of the same tuples end together; a join that waits for input may idle."""
    made = population(f"bbdm03_{plan}", load=2.0)
    arrivals = made.times(3, count=1500)
    found = simulate(made.network, arrivals, "fifo", 3, blocking=made.blocking)
    samples = round_robin(made.network, arrivals, 3, quantum=0.01)
    assert samples[-1, 1] == 0
    assert samples[-1, 0] - found.start == pytest.approx(found.seconds, rel=1e-3)


def test_round_robin_by_time_shares_the_processor():
    """Two operators, cost 1 and 4, quantum 2: turns by hand, two tuples of the first for half of the second."""
    samples = round_robin(Network.chains([[(1.0, 1.0), (4.0, 1.0)]]), {"s": np.zeros(4)}, seed=1, quantum=2.0)
    done = samples[4:]
    assert done[:, 0].tolist() == [1, 2, 5, 6, 8, 12, 16, 20]
    assert done[:, 1].tolist() == [4, 4, 4, 4, 3, 2, 1, 0]


def test_a_second_stream_starts_at_the_middle_of_the_trace(trace):
    made = population("bbdm03_join")
    first, second = traced(made, str(trace), 400).values()
    assert len(first) == len(second) == 200
    times = np.sort([10_000 * n + (0 if n % 50 < 40 else -5_000) for n in range(1000)])
    for found, start in ((first, 0), (second, 500)):
        own = times[start : start + 200] - times[start]
        assert found / found[-1] == pytest.approx(own / own[-1])
        assert 199 / found[-1] == pytest.approx(100)
    with pytest.raises(ValueError, match="too few"):
        traced(made, str(trace), 4000)


def test_slower_last_operators_have_the_same_load():
    net = population("bbdm03_join").network
    slow = slowed(net, 4, 0.95)
    ratio = [
        slow.operator(name).cost / net.operator(name).cost for name in ("q1.before", "q1.after1", "q1.after2")
    ]
    assert ratio[2] / ratio[0] == ratio[2] / ratio[1] == pytest.approx(4)
    assert slow.load == pytest.approx(0.95)


def as_published():
    """Memory as the paper says it is, or could be."""
    ratios = {
        "two": {"greedy": 1.0, "fifo": 2.0, "round_robin": 2.0, QUANTUM: 1.1},
        "four": {"greedy": 2.0, "fifo": 1.9, "round_robin": 1.9, QUANTUM: 1.8},
        "lookup": {"greedy": 2.0, "fifo": 1.9, "round_robin": 1.9, QUANTUM: 1.8},
        "join": {"greedy": 2.0, "fifo": 1.9, "round_robin": 1.9, QUANTUM: 1.8},
        "three": {"greedy": 3.0, "fifo": 3.0, "round_robin": 3.0, QUANTUM: 3.0},
    }
    slower = {"fifo": 3.0, QUANTUM: 1.0}
    memory = {}
    for kind in ("synthetic", "real"):
        for plan, others in {**ratios, "two, slower": slower, "join, slower": slower}.items():
            memory[plan, kind] = {"chain": [(10.0, 50.0)]}
            memory[plan, kind] |= {name: [(10 * at, 50 * at)] for name, at in others.items()}
    memory["join", "real"][QUANTUM] = [(11.0, 55.0)]
    return memory


def test_memory_as_published_holds_every_claim():
    assert [claim.claim for claim in judged(as_published()) if not claim.holds] == []


def test_without_a_trace_claims_on_real_arrivals_are_not_measured():
    memory = {key: runs for key, runs in as_published().items() if key[1] != "real"}
    found = judged(memory)
    assert [claim.claim for claim in found if claim.holds is False] == []
    missing = [claim for claim in found if claim.holds is None]
    assert {claim.what for claim in missing} == {
        "two, real: round robin's mean memory ÷ Chain's",
        "join, real: round robin's mean memory ÷ Chain's",
    }
    for claim in missing:
        assert "no trace was given: --trace FILE" in claim.as_dict()["why"]
        assert (claim.as_dict()["holds"], claim.as_dict()["verdict"]) == (None, "not measured")


@pytest.mark.parametrize(
    ("plan", "policy", "at", "failing"),
    [
        ("four", "greedy", 1.1, {"four: Greedy's mean memory ÷ Chain's, at least"}),
        ("two", "greedy", 1.02, {"two: Greedy's memory off Chain's, mean and peak, at most"}),
        ("two", QUANTUM, 1.3, {"two, synthetic: round robin's mean memory ÷ Chain's"}),
        ("join", QUANTUM, 1.4, {"join, synthetic: round robin's mean memory ÷ Chain's"}),
        ("join", "fifo", 1.4, {"join: FIFO's mean memory ÷ Chain's, at least"}),
        ("lookup", "fifo", 0.9, {"lookup: Chain's memory ÷ any other's, mean and peak, at most"}),
        ("three", "fifo", 1.9, {"three: any other's mean memory ÷ Chain's, at least"}),
    ],
)
def test_memory_that_is_not_as_published_fails_the_claim(plan, policy, at, failing):
    memory = as_published()
    memory[plan, "synthetic"][policy] = [(10 * at, 50 * at)]
    found = [claim for claim in judged(memory) if not claim.holds]
    assert {claim.what for claim in found} == failing
    if policy == QUANTUM and plan == "two":
        assert "round robin is 1.00 times Chain, and FIFO 3.00 times" in found[0].why


def test_the_same_settings_give_the_same():
    settings = ReproductionSettings(quick=True, seed=4)
    assert [cell.key for cell in experiment(settings).cells()] == [
        cell.key for cell in experiment(settings).cells()
    ]
    assert experiment(settings).cells() != experiment(replace(settings, seed=5)).cells()
    given = ("two", QUANTUM, 0.95, 300, 4, 10)
    assert queues(*given) == queues(*given)
