"""When a run is looked at, with time moved by hand."""

from penstock.runtime.summary_refresh import Refresh


class Hand:
    """A clock that only goes on when told to; looking takes `look_s`."""

    def __init__(self, look_s: float = 0.0) -> None:
        self.now = 0.0
        self.look_s = look_s
        self.shown: list[float] = []
        self.refresh = Refresh(self.show, lambda: self.now)
        self.refresh.begin(0)

    def show(self) -> None:
        self.shown.append(self.now)
        self.now += self.look_s

    def pass_by(self, seconds: float) -> None:
        self.now += seconds
        self.refresh.at(round(self.now * 1e6))


def test_slow_work_between_looks_delays_nothing():
    """Reading a file takes a second each time; looking takes a millisecond."""
    hand = Hand(look_s=0.001)
    for _ in range(10):
        hand.pass_by(1.0)
    assert len(hand.shown) == 10


def test_quick_work_is_shown_four_times_a_second():
    hand = Hand()
    for _ in range(1000):
        hand.pass_by(0.01)
    assert 38 <= len(hand.shown) <= 40


def test_slow_looks_take_a_fiftieth_of_the_time():
    hand = Hand(look_s=0.1)
    for _ in range(10_000):
        hand.pass_by(0.01)
    assert 19 <= len(hand.shown) <= 21  # 100 seconds, one look of 0.1 s every 5
