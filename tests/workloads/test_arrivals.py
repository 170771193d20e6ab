"""What every arrival process promises, and the two ways to take a piece of one."""

from itertools import islice, pairwise

import numpy as np
import pytest

from penstock.errors import ArrivalError
from penstock.workloads import Arrivals, Bursty, Flows, Phases, Poisson, Redrawn, Trace, take, until

PROCESSES = ("poisson", "fast poisson", "bursty", "one flow", "slow bursty", "flows", "redrawn", "trace", "phases")


@pytest.fixture(params=PROCESSES)
def process(request, tmp_path):
    gaps = np.random.default_rng(1).exponential(0.01, 3000)
    np.savetxt(tmp_path / "t.csv", gaps.cumsum(), header="time", comments="")
    return {
        "poisson": Poisson(200),
        "fast poisson": Poisson(1e6),
        "bursty": Bursty(1000),
        "one flow": Bursty(100, flows=1),
        "slow bursty": Bursty(3, flows=128),
        "flows": Flows(500),
        "redrawn": Redrawn(200),
        "trace": Trace(tmp_path / "t.csv", repeat=True),
        "phases": Phases(((Poisson(100), 3), (Bursty(400), 2))),
    }[request.param]


def test_it_follows_the_protocol(process):
    assert isinstance(process, Arrivals)


def test_times_ascend_across_batches(process):
    batches = list(islice(process.batches(3), 30))
    for batch in batches:
        assert batch.dtype == np.float64
        assert len(batch) > 0
        assert (np.diff(batch) >= 0).all()
    assert batches[0][0] >= 0
    assert all(after[0] >= before[-1] for before, after in pairwise(batches))


def test_batches_are_bounded(process):
    assert max(len(batch) for batch in islice(process.batches(5), 100)) <= 8 * 8192


def test_equal_seeds_give_equal_times(process):
    assert np.array_equal(take(process, 11, 20_000), take(process, 11, 20_000))


def test_runs_do_not_disturb_each_other(process):
    alone = list(islice(process.batches(4), 5))
    one, other = process.batches(4), process.batches(4)
    for expected in alone:
        assert np.array_equal(next(one), expected)
        assert np.array_equal(next(other), expected)


def test_seeds_differ(process):
    same = np.array_equal(take(process, 1, 1000), take(process, 2, 1000))
    assert same == isinstance(process, Trace)


def test_the_mean_is_the_rate_it_says(process):
    seconds = min(50, 100_000 / process.rate)
    counts = [len(until(process, seed, seconds)) for seed in range(60)]
    error = np.std(counts) / np.sqrt(len(counts))
    assert np.mean(counts) == pytest.approx(process.rate * seconds, rel=0.001, abs=4 * error)
    assert error < 0.1 * process.rate * seconds  # else the line above says nothing


def test_take_and_until_agree(process):
    times = take(process, 6, 10_001)
    assert len(times) == 10_001
    early = until(process, 6, times[-1])
    assert np.array_equal(early, times[times < times[-1]])


def test_nothing_is_taken_of_nothing(process):
    assert len(take(process, 1, 0)) == len(until(process, 1, 0)) == 0


def test_what_ends_gives_what_there_is(tmp_path):
    (tmp_path / "t.csv").write_text("time\n3\n4\n6\n")
    trace = Trace(tmp_path / "t.csv")
    assert take(trace, 0, 10).tolist() == until(trace, 0, 10).tolist() == [0, 1, 3]
    assert until(trace, 0, 3).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: take(Poisson(1), 0, -1), "number of arrivals to take must be between 0 and"),
        (lambda: take(Poisson(1), 0, 1.5), "number of arrivals to take must be a whole number, not 1.5"),
        (lambda: take(Poisson(1), -1, 1), "a seed must be between 0 and"),
        (lambda: take(Bursty(1), "x", 1), "a seed must be a number, not 'x'"),
        (lambda: until(Poisson(1), 0, float("inf")), "the time to stop at must be a finite number"),
        (lambda: until(Poisson(1), 0, -1), "the time to stop at must be at least 0, not -1"),
        (lambda: until(Poisson, 0, 1), "must be an arrival process such as"),
        (lambda: take([1.0, 2.0], 0, 1), "must be an arrival process such as"),
    ],
)
def test_errors(build, says):
    with pytest.raises(ArrivalError) as caught:
        build()
    assert says in str(caught.value)
