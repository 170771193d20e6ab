"""One process after another: where phases begin and end, and that rounds differ."""

from itertools import islice, pairwise

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Bursty, Phases, Poisson, Trace, take, until


def counts(times, edges):
    return [int(((times >= start) & (times < end)).sum()) for start, end in pairwise(edges)]


def test_each_phase_has_its_rate():
    load = Phases(((Poisson(200), 50), (Poisson(800), 25)))
    times = until(load, 1, 150)
    assert counts(times, [0, 50, 75, 125, 150]) == pytest.approx([10_000, 20_000, 10_000, 20_000], rel=0.04)
    assert load.rate == pytest.approx(400)


def test_a_phase_is_cut_at_its_very_end(tmp_path):
    (tmp_path / "t.csv").write_text("time\n0\n1\n2\n3\n")
    clock = Trace(tmp_path / "t.csv", repeat=True)
    load = Phases(((clock, 2), (clock, 1.5)))
    assert take(load, 0, 10).tolist() == [0, 1, 2, 3, 3.5, 4.5, 5.5, 6.5, 7, 8]  # 2 is of the second phase


def test_what_ends_early_leaves_silence(tmp_path):
    (tmp_path / "t.csv").write_text("time\n0\n1\n")
    load = Phases(((Trace(tmp_path / "t.csv"), 5), (Trace(tmp_path / "t.csv"), 5)), repeat=False)
    assert take(load, 0, 10).tolist() == [0, 1, 5, 6]


def test_without_repeat_it_ends():
    load = Phases([[Poisson(100), 2], [Poisson(50), 2]], repeat=False)
    times = until(load, 3, 1000)
    assert 200 < len(times) < 400
    assert times[-1] < 4


def test_no_batch_spans_two_phases():
    load = Phases(((Poisson(100), 1), (Poisson(1000), 1)))
    for batch in islice(load.batches(1), 20):
        assert int(batch[0]) == int(batch[-1])


def test_rounds_and_phases_are_independent():
    rounds = until(Phases(((Poisson(100), 1), (Poisson(100), 1))), 1, 4)
    pieces = [rounds[(rounds >= start) & (rounds < start + 1)] - start for start in range(4)]
    for i, piece in enumerate(pieces):
        for other in pieces[:i]:
            assert len(np.intersect1d(piece.round(9), other.round(9))) == 0


def test_phases_of_phases():
    inner = Phases(((Poisson(100), 1), (Bursty(300), 1)))
    outer = Phases(((inner, 10), (Poisson(1000), 10)))
    assert outer.rate == pytest.approx(600)
    assert len(until(outer, 1, 20)) == pytest.approx(12_000, rel=0.1)


def test_the_rate_is_unknown_if_one_is(tmp_path):
    (tmp_path / "t.csv").write_text("time\n5\n")
    assert Phases(((Poisson(1), 1), (Trace(tmp_path / "t.csv"), 1))).rate is None


@pytest.mark.parametrize(
    ("phases", "says"),
    [
        ((), "phases must be a list of (process, seconds), at least one"),
        (Poisson(1), "phases must be a list of (process, seconds)"),
        (((Poisson(1), 1), Poisson(2)), "phase 2 must be (process, seconds)"),
        (((Poisson(1), 0),), "the length of phase 1 must be above 0, not 0"),
        (((Poisson(1), 1), (7, 1)), "the process of phase 2 must be an arrival process such as"),
        (((Poisson(1e-9), 1),), "hardly any round would have an arrival"),
    ],
)
def test_errors(phases, says):
    with pytest.raises(ArrivalError) as caught:
        Phases(phases)
    assert says in str(caught.value)
