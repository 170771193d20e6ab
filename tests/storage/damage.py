"""Damage to copies of a state, and what a run then does there: it is right, or it says what is wrong."""

from collections import Counter
from pathlib import Path
from tempfile import mkdtemp

from penstock.errors import RunError
from penstock.sinks.read import read
from tests.storage.small_run import SmallRun, copied, expected, found


class Damaged:
    """Copies of a place, each damaged in its own way."""

    def __init__(self, place: Path, data: Path, album: Path, **keywords) -> None:
        self.place, self.data, self.album, self.keywords = place, data, album, keywords
        self.want = expected(data)

    def outcome(self, damage) -> str:
        """Return the sentence with which a run refuses a damaged copy, or "right"; fail on anything else."""
        copy = copied(self.place, Path(mkdtemp(dir=self.album)) / "copy")
        damage(copy)
        self.last = copy
        run = SmallRun(copy, self.data, **self.keywords)
        try:
            run.go()
        except RunError as error:
            said = str(error)
            assert len(said) > 20
            assert "Error" not in said
            assert not too_many(copy, self.want)
            return said
        assert found(copy) == self.want, run.events
        self.events = run.events
        return "right"

    def right(self, damage) -> None:
        """Check that a run goes on from a damaged copy as if nothing had happened."""
        assert self.outcome(damage) == "right"

    def refused(self, damage, *words: str) -> None:
        """Check that a run refuses a damaged copy, with these words."""
        said = self.outcome(damage)
        assert all(word in said for word in words), said


def too_many(place: Path, want: dict[str, Counter]) -> dict[str, Counter]:
    """Return the results that are in an output folder too often or by mistake; refused runs may lack some."""
    results = {query: read(place / "out", query).to_pylist() for query in ("low", "pairs")}
    counts = {query: Counter(tuple(row.values()) for row in rows) for query, rows in results.items()}
    return {query: count - want[query] for query, count in counts.items() if count - want[query]}


def cut(path: Path, length: int) -> None:
    """Cut a file off."""
    path.write_bytes(path.read_bytes()[:length])


def flip(path: Path, place: int, bits: int = 0x10) -> None:
    """Change bits of a byte."""
    data = bytearray(path.read_bytes())
    data[place] ^= bits
    path.write_bytes(bytes(data))
