"""The image of a run: its last checkpoint with all entries after it applied."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Image:
    """Everything that is known of a run, as JSON has it."""

    run: Json
    """The run's own numbers: time, seconds, commits."""
    script: Json
    """The text of the script at the beginning, that of its latest version, and its name."""
    engine: Json
    sources: dict[str, Json]
    sink: Json
    pending: list[list[str]] = field(default_factory=list)
    """Files of results that were committed since the checkpoint: their hidden names and their places."""
    outbox: list[Json] = field(default_factory=list)
    """Batches for a Python function that it has not taken yet."""
    results: list[list[Any]] = field(default_factory=list)
    """Results that were counted since the checkpoint."""

    @classmethod
    def of(cls, checkpoint: Mapping[str, Any], entries: Iterable[Mapping[str, Any]] = ()) -> "Image":
        """Return the image after a checkpoint and the entries that follow it."""
        engine = {"panes": {}, "closed": {}, "marks": {}, **checkpoint["engine"]}
        engine["logged"] = engine["chunk"]  # the logs have the chunks up to this one
        found = cls(
            dict(checkpoint["run"]),
            dict(checkpoint["script"]),
            engine,
            {name: dict(each) for name, each in checkpoint["sources"].items()},
            dict(checkpoint["sink"]),
            list(checkpoint.get("pending", ())),
            list(checkpoint["outbox"]),
            list(checkpoint.get("results", ())),
        )
        for entry in entries:
            found.apply(entry)
        return found

    def body(self) -> Json:
        """Return the same as a checkpoint."""
        engine = dict(self.engine)
        engine["logs"] = {
            name: [*log, *sorted(number for number in self.log_numbers(name) if number > engine["logged"])]
            for name, log in engine["logs"].items()
        }
        del engine["logged"]
        return {
            "run": self.run,
            "script": self.script,
            "engine": engine,
            "sources": self.sources,
            "sink": self.sink,
            "pending": self.pending,
            "outbox": self.outbox,
            "results": self.results,
        }

    def forget_chunks(self) -> None:
        """Forget the chunks that no queue and no window needs."""
        needed = {number for queue in self.engine["queues"].values() for number, _ in queue}
        needed.update(number for numbers in self.engine["panes"].values() for number in numbers)
        for name in self.engine["streams"]:
            needed |= self.log_numbers(name)
            first = self.first_waiting(name)[0]
            needed.update(
                each["n"] for each in self.engine["chunks"] if each["source"] == name and each["n"] >= first
            )
        self.engine["chunks"] = [each for each in self.engine["chunks"] if each["n"] in needed]

    def first_waiting(self, stream: str) -> tuple[int, int]:
        """Return the first chunk of a stream that waits for any operator, and the place in it."""
        cursors = self.engine["cursors"].items()
        waiting = (tuple(cursor) for key, cursor in cursors if key.startswith(f"{stream}\t"))
        return min(waiting, default=(self.engine["chunk"] + 1, 0))

    def apply(self, entry: Mapping[str, Any]) -> None:
        """Apply an entry."""
        self.run |= entry["run"]
        self.script |= entry.get("script", {})
        self._apply_engine(entry.get("engine", {}))
        for name, position in entry.get("sources", {}).items():
            self.sources[name] = moved(self.sources.get(name, {}), position)
        self.sink |= entry.get("sink", {})
        self.pending += entry.get("files", [])
        self.outbox += entry.get("outbox", [])
        self.outbox = [batch for batch in self.outbox if batch["id"] > self.run["taken"]]

    def _apply_engine(self, changes: Mapping[str, Any]) -> None:
        engine = self.engine
        for name, about in changes.get("streams", {}).items():
            engine["streams"][name] = {**engine["streams"].get(name, {}), **about}
        for name in ("chunks", "changes"):
            engine[name] = [*engine[name], *changes.get(name, ())]
        for name, (positions, times) in changes.get("marks", {}).items():
            before = engine["marks"].get(name, [[], []])
            engine["marks"] = {**engine["marks"], name: [[*before[0], *positions], [*before[1], *times]]}
        for name in ("cursors", "queues", "panes", "closed"):
            engine[name] = {**engine[name], **changes.get(name, {})}
        # A stream that became a window since the checkpoint has a log: of all that came after it
        engine["logs"] = {**{name: [] for name in changes.get("windows", ())}, **engine["logs"]}
        for name in ("chunk", "lost", "plan"):
            engine[name] = changes.get(name, engine[name])
        self.results += changes.get("results", [])

    def log_numbers(self, stream: str) -> set[int]:
        """Return the chunks of a stream that its log has: those of the checkpoint, and all after it."""
        logs = self.engine["logs"]
        if stream not in logs:
            return set()
        own = {each["n"] for each in self.engine["chunks"] if each["source"] == stream}
        kept = {each for each in logs[stream] if isinstance(each, int)}
        return {number for number in own if number in kept or number > self.engine["logged"]}

    @property
    def files(self) -> set[str]:
        """The files of rows below the state folder that are needed."""
        found = set()
        for about in self.places():
            if "at" in about:
                found.add(about["at"][0])
            for file in about.get("stored", {}).get("files", ()):
                if file["owned"]:
                    found.add(file["path"])
        return found

    def places(self) -> Iterable[Json]:
        """Yield where rows are: of chunks, of parts of logs, and of batches for a function."""
        yield from self.engine["chunks"]
        for log in self.engine["logs"].values():
            yield from (each for each in log if isinstance(each, dict))
        yield from self.outbox


def moved(position: Mapping[str, Any], change: Mapping[str, Any]) -> Json:
    """Return the position of a source after a change: - removes from lists, + adds to them, all else is replaced.

    >>> moved({"read": ["a", "b"], "rows": 3}, {"read-": ["a"], "read+": ["c"], "rows": 0})
    {'read': ['b', 'c'], 'rows': 0}
    """
    found = dict(position)
    for name, value in change.items():
        if name.endswith("-"):
            gone = set(value)
            found[name[:-1]] = [each for each in found.get(name[:-1], ()) if each not in gone]
        elif name.endswith("+"):
            found[name[:-1]] = [*found.get(name[:-1], ()), *value]
        else:
            found[name] = value
    return found
