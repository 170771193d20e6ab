"""A thread that moves files into the folders of streams: complete, under new names, over some time."""

import os
import random
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

GAPS = (0.0, 0.2, 0.6, 1.0, 1.4, 2.8)
"""The times between two files, in parts of the average: some come in bursts."""


class Producer(threading.Thread):
    """Copies `files` to `folder`/STREAM under hidden names and renames them, in about `seconds`."""

    def __init__(
        self, files: Sequence[tuple[str, Path]], folder: Path, seconds: float, chance: random.Random
    ) -> None:
        super().__init__(name="producer", daemon=True)
        self._files = list(files)
        self._folder = folder
        self._gap_s = seconds / max(len(self._files), 1)
        self._chance = chance
        self._hurry = threading.Event()
        self._error: Exception | None = None
        self.moved = 0
        for stream in {stream for stream, _ in self._files}:
            (folder / stream).mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        try:
            for stream, path in self._files:
                hidden = self._folder / stream / f".{path.name}"
                shutil.copyfile(path, hidden)
                os.rename(hidden, self._folder / stream / path.name)
                self.moved += 1
                self._hurry.wait(self._gap_s * self._chance.choice(GAPS))
        except Exception as error:
            self._error = error

    @property
    def finished(self) -> bool:
        return self.moved == len(self._files)

    def finish(self) -> None:
        """Move the files that are left at once."""
        self._hurry.set()
        self.join()
        if self._error is not None:
            raise self._error
