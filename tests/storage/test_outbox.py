"""Results for a Python function: a batch comes again only after a crash, with the same rows."""

from collections import Counter

import pytest

from penstock.errors import RunError
from penstock.sinks.callback_sink import CallbackSink
from penstock.storage.faults import POINTS
from tests.storage.small_run import Camera, SmallRun, expected, found, make_files

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 16


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=5)


class Taker:
    """A function for results that keeps what it gets; it raises at one of the batches."""

    def __init__(self, fails_at=None):
        self.batches = []
        self.fails_at = fails_at

    def __call__(self, query, rows, batch):
        if batch == self.fails_at:
            raise ValueError("the database is gone")
        self.batches.append((batch, query, tuple(tuple(row.values()) for row in rows.to_pylist())))

    @property
    def sink(self):
        return CallbackSink(lambda query, rows, batch: self(query, rows, batch))

    def results(self, query):
        """The rows of a query, if batches that came again are left out."""
        kept = {batch: rows for batch, of, rows in self.batches if of == query}
        return Counter(row for rows in kept.values() for row in rows)


def check(batches, data):
    """Each number has one content, numbers have no gaps, and together they are the results."""
    taker = Taker()
    taker.batches = batches
    assert len({number for number, _, _ in batches}) == len(set(batches))
    numbers = sorted({number for number, _, _ in batches})
    assert numbers == list(range(1, len(numbers) + 1))
    want = expected(data)
    assert {query: taker.results(query) for query in ("low", "pairs")} == {q: want[q] for q in ("low", "pairs")}


def test_batches_are_numbered_on_over_runs(tmp_path, data):
    taker = Taker()
    for files in (1, 2, None):
        SmallRun(tmp_path, data, out=False, files=files, drain=files is None, sinks=(taker.sink,)).go()
    numbers = [number for number, _, _ in taker.batches]
    assert numbers == list(range(1, len(numbers) + 1))  # none came twice
    check(taker.batches, data)


@pytest.mark.parametrize("out", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_after_a_crash_a_batch_may_come_again_with_the_same_rows(tmp_path, data, out):
    """Killed at any fault point, also while the function is called."""
    place = tmp_path / "place"
    place.mkdir()
    given = []
    camera = Camera(place, tmp_path / "album", POINTS)

    def take(query, rows, batch):
        given.append((batch, query, tuple(tuple(row.values()) for row in rows.to_pylist())))
        camera.reached("results.before")

    counts = []
    camera.told = lambda: counts.append(len(given))
    with camera.rolling():
        SmallRun(place, data, out=out, sinks=(CallbackSink(lambda q, rows, batch: take(q, rows, batch)),)).go()
    repeated = 0
    assert len(counts) == len(camera.taken)
    for (_, copy), count in list(zip(camera.taken, counts, strict=True))[::3]:
        taker = Taker()
        SmallRun(copy, data, out=out, sinks=(taker.sink,)).go()
        check([*given[:count], *taker.batches], data)
        repeated += bool({n for n, _, _ in given[:count]} & {n for n, _, _ in taker.batches})
    assert repeated > 3


@pytest.mark.parametrize("number", [1, 3, 6])
def test_a_function_that_raises_gets_the_same_batch_again(tmp_path, data, number):
    first, second = Taker(fails_at=number), Taker()
    with pytest.raises(ValueError, match="the database is gone"):
        SmallRun(tmp_path, data, out=False, sinks=(first.sink,)).go()
    SmallRun(tmp_path, data, out=False, sinks=(second.sink,)).go()
    assert second.batches[0][0] == number
    assert {n for n, _, _ in first.batches} == set(range(1, number))
    check([*first.batches, *second.batches], data)


def test_batches_that_wait_need_the_function(tmp_path, data):
    """Without it they would never be handed over, and their numbers would come again."""
    first, second = Taker(fails_at=2), Taker()
    with pytest.raises(ValueError, match="the database is gone"):
        SmallRun(tmp_path, data, sinks=(first.sink,)).go()
    for _ in range(2):
        with pytest.raises(RunError, match=r"batches of results wait .* give on_rows again"):
            SmallRun(tmp_path, data).go()
    SmallRun(tmp_path, data, sinks=(second.sink,)).go()
    check([*first.batches, *second.batches], data)
    assert found(tmp_path) == expected(data)
    SmallRun(tmp_path, data).go()  # nothing waits


def test_a_function_that_loses_its_connection_is_not_a_fault_of_the_state(tmp_path, data):
    def take(query, rows, batch):
        raise ConnectionRefusedError("port 5432")

    with pytest.raises(RunError, match=r"results of .* were not taken: ConnectionRefusedError: port 5432"):
        SmallRun(tmp_path, data, out=False, sinks=(CallbackSink(take),)).go()


def test_a_function_that_always_raises_loses_nothing(tmp_path, data):
    for _ in range(3):
        with pytest.raises(ValueError, match="the database is gone"):
            SmallRun(tmp_path, data, out=False, sinks=(Taker(fails_at=1).sink,)).go()
    taker = Taker()
    SmallRun(tmp_path, data, out=False, sinks=(taker.sink,)).go()
    check(taker.batches, data)


def test_rows_for_the_function_do_not_pile_up(tmp_path, data):
    taker = Taker()
    for _ in range(3):
        SmallRun(tmp_path, data, out=False, files=1, drain=False, sinks=(taker.sink,)).go()
    SmallRun(tmp_path, data, out=False, sinks=(taker.sink,)).go()
    SmallRun(tmp_path, data, out=False, sinks=(taker.sink,)).go()
    files = list((tmp_path / "state" / "outbox").glob("*"))
    assert len(files) <= 1, files
