"""The outbox: results for a Python function, kept until it has taken them.

A batch has a number and its rows are kept. If the process dies before the function has returned, the next process
hands over the same rows with the same number again.
"""

from pathlib import Path
from typing import Any

from penstock.errors import RunError
from penstock.runtime.job import Emitted
from penstock.runtime.sink import Sink
from penstock.storage.image import Image
from penstock.storage.row_log import RowLogs, RowsAt, read_rows

_PLACE = "outbox"


class Outbox:
    """Hands results to the sinks that are not files, after they are committed."""

    def __init__(self, rows: RowLogs, folder: Path) -> None:
        self._rows = rows
        self._folder = folder
        self._sinks: list[Sink] = []
        self._number = 0
        self.taken = 0
        """The number of the last batch that was handed over."""
        self.waiting: list[dict[str, Any]] = []
        """Batches that are not handed over yet."""

    def begin(self, image: Image | None, sinks: list[Sink]) -> None:
        """Hand over what an earlier process did not."""
        self._sinks = [sink for sink in sinks if not sink.is_durable]
        if image is None:
            return
        self._number = self.taken = image.run["taken"]
        if image.outbox and not any(sink.redelivers for sink in self._sinks):
            raise RunError(
                f"{len(image.outbox):,} batches of results wait in the state for the function that did not take "
                "them before: give on_rows again (in Python)"
            )
        for batch in image.outbox:
            rows = read_rows(self._folder, RowsAt(*batch["at"]))
            self._hand_over(Emitted(batch["name"], rows, of_group=batch["of_group"]), batch["id"])

    def add(self, emitted: list[Emitted]) -> list[dict[str, Any]]:
        """Write results that are to be handed over, and return them as batches."""
        if not any(sink.redelivers for sink in self._sinks):
            return []
        batches = []
        for place, each in enumerate(emitted):
            at = self._rows.append(_PLACE, each.rows)
            number = self._number + place + 1
            batches.append({"id": number, "name": each.name, "of_group": each.of_group, "at": at.as_json()})
        self.waiting += batches
        return batches

    def deliver(self, emitted: list[Emitted]) -> None:
        """Hand results over; they are committed."""
        for each in emitted:
            self._hand_over(each, self._number + 1)
        self.waiting.clear()

    def _hand_over(self, emitted: Emitted, number: int) -> None:
        for sink in self._sinks:
            sink.batch = number
            try:
                sink.take(emitted)
            except OSError as error:  # it is not one of the state's own files
                raise RunError(
                    f"results of {emitted.name} were not taken: {type(error).__name__}: {error}; they come again "
                    "with the next start"
                ) from error
        self._number = self.taken = number
