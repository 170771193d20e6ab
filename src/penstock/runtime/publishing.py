"""Publishing: results become visible to readers at intervals, in a thread beside the loop."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from penstock.runtime.clock import Clock
from penstock.runtime.sink import Sink

PUBLISH_ANYWAY_US = 60_000_000
"""The longest interval, however long publishing takes."""


class Publisher:
    """Publishes all sinks every `interval_us`, or less often where that takes more than a tenth of the time."""

    def __init__(self, sinks: Sequence[Sink], clock: Clock, interval_us: int) -> None:
        self._sinks = sinks
        self._clock = clock
        self._interval_us = interval_us
        self._published_us = 0
        self._took_us = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="penstock-publish")
        self._publishing: Future[object] | None = None

    def publish_if_due(self, now_us: int) -> None:
        """Publish if the interval has passed."""
        wait_us = max(self._interval_us, min(10 * self._took_us, PUBLISH_ANYWAY_US))
        if self._interval_us and now_us - self._published_us >= wait_us:
            self.publish(now_us)

    def publish(self, now_us: int) -> None:
        """Publish in the background, unless that is under way."""
        if self._publishing is None or self._publishing.done():
            if self._publishing is not None:
                self._publishing.result()
            self._published_us = now_us
            self._publishing = self._pool.submit(self._publish_all)

    def _publish_all(self) -> None:
        start = self._clock.now_us()
        for sink in self._sinks:
            sink.publish()
        self._took_us = self._clock.now_us() - start

    def close(self) -> None:
        """Wait until publishing has finished."""
        self._pool.shutdown()
