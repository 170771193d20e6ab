"""Long runs: files, bytes and memory of a state level off; at the limit of bytes a run waits or stops clearly."""

import gc
from collections import Counter

import pyarrow as pa
import pytest

from penstock.errors import RunError
from penstock.runtime.admission import Arrived
from penstock.runtime.rows import segment
from penstock.runtime.rows.recent_times import RecentTimes
from penstock.sinks.callback_sink import CallbackSink
from penstock.storage import row_log, store
from tests.storage.small_run import LOW, PAIRS, SECOND, STREAMS, SmallRun, expected, found, make_files, rows_of

pytestmark = pytest.mark.usefixtures("no_flushes")
SEED = 18
STEP_US = SECOND // 2
NEAR = PAIRS.replace("10 SECONDS", "3 SECONDS")


class Steady:
    """Rows for ever, some a poll; the times of a stream go on by half a second a poll."""

    buffer_bytes = held_bytes = 0

    def __init__(self, position, polls, on_poll):
        self._at = 0 if position is None else position["polls"]
        self._until = self._at + polls
        self._on_poll = on_poll

    @property
    def ended(self):
        return self._at >= self._until

    def poll(self, now_us, most_rows):
        if self.ended:
            return
        times = [self._at * STEP_US + place for place in range(20)]
        numbers = range(self._at * 20, self._at * 20 + 20)
        self._at += 1
        self._on_poll(self._at)
        yield Arrived(
            pa.table(
                {
                    "id": pa.array(numbers, pa.int32()),
                    "k": pa.array([number % 7 for number in numbers], pa.int32()),
                    "at": pa.array(times, pa.timestamp("us", "UTC")),
                }
            ),
            now_us,
        )

    def watermark(self, now_us):
        return None

    def offered(self, now_us):
        return None

    def position(self, *, whole):
        return {"polls": self._at}

    def stop(self, now_us):
        self._until = self._at

    def close(self):
        pass


def measured(place):
    """The number and the bytes of a state's files."""
    sizes = [path.stat().st_size for path in (place / "state").rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("polls", [150, pytest.param(800, marks=pytest.mark.slow)])
def test_a_steady_load_levels_off(tmp_path, monkeypatch, polls, stores):
    monkeypatch.setattr(store, "_CHECKPOINT_ENTRIES", 10)
    monkeypatch.setattr(store, "_CHECKPOINT_SHARE", 1e9)
    monkeypatch.setattr(row_log, "ROLL_BYTES", 4000)
    monkeypatch.setattr(segment, "_RECENT", RecentTimes(100))
    counts, samples = Counter(), []

    def take(query, rows, batch):
        counts[query] += rows.num_rows

    def on_poll(number):
        if number % (polls // 10) == 0:
            gc.collect()
            samples.append((*measured(tmp_path), len(gc.get_objects()), pa.total_allocated_bytes()))

    gc.collect()
    gc.freeze()
    SmallRun(
        tmp_path,
        tmp_path,
        script=STREAMS.replace("path = 'a'", "path = '.'").replace("path = 'b'", "path = '.'") + LOW + NEAR,
        out=False,
        stores=stores,
        sinks=(CallbackSink(take),),
        source_of=lambda stream, position: Steady(position, polls, on_poll),
    ).go()
    assert counts["low"] == sum(1 for number in range(polls * 20) if number % 7 < 3)
    assert len(samples) >= 18
    early, late = zip(*samples[6:10], strict=True), zip(*samples[-4:], strict=True)
    (files, size, objects, arrow), (files_then, size_then, objects_then, arrow_then) = (
        map(max, each) for each in (early, late)
    )
    assert files_then < 1.3 * files, samples
    assert size_then < 1.3 * size, samples
    assert objects_then - objects < polls, samples  # less than one for each chunk
    assert arrow_then < 1.3 * arrow + 10_000, samples


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("data") / "in", SEED, files=8, rows=30)


def test_at_the_limit_a_run_stops_and_goes_on_with_a_higher_one(tmp_path, data):
    """All rows are in windows: backpressure does not help."""
    for _ in range(2):  # and again: nothing is lost by it
        with pytest.raises(RunError, match=r"has reached its limit of 6,000 bytes.*set a higher limit"):
            SmallRun(tmp_path, data, script=STREAMS + LOW + PAIRS + "SET state = '6KB';").go()
        assert not any((found(tmp_path)[name] - expected(data)[name]) for name in ("low", "pairs"))
    SmallRun(tmp_path, data, script=STREAMS + LOW + PAIRS + "SET state = '20MB';").go()
    assert found(tmp_path) == expected(data)


def test_backpressure_is_enough_where_windows_are_small(tmp_path, data, monkeypatch):
    """The limit is reached again and again, and each time checkpoints make room."""
    made = []
    make_room = store.StateStore.make_room
    monkeypatch.setattr(store.StateStore, "make_room", lambda *a: (made.append(1), make_room(*a))[1])
    SmallRun(tmp_path, data, script=STREAMS + NEAR + "SET state = '12KB';").go()
    (a, _), (b, _) = rows_of(data, "a"), rows_of(data, "b")
    want = Counter((x, y) for x, kx, tx in a for y, ky, ty in b if kx == ky and abs(tx - ty) <= 3 * SECOND)
    assert found(tmp_path)["pairs"] == want
    assert made
