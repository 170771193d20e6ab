"""The manifest of an output folder: the runs and the queries whose results are in it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from penstock.sinks.folder_layout import MANIFEST
from penstock.storage.files import flush_folder


@dataclass
class Manifest:
    """The runs and the queries whose results are in a folder; a file with one entry per line."""

    path: Path
    runs: int = 0
    queries: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """The types of the columns by name, for each query."""
    states: dict[int, str] = field(default_factory=dict)
    """The state that a run belongs to, by the number of the run."""

    @classmethod
    def read(cls, out: Path) -> Self:
        """Read the manifest of a folder; without one, the folder has no results."""
        found = cls(out / MANIFEST)
        try:
            lines = found.path.read_text(encoding="utf-8").splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return found
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # a crash cut it off
            found.runs = entry.get("run", found.runs)
            if "state" in entry:
                found.states[found.runs] = entry["state"]
            if _is_plain(entry.get("query", "")):
                found.queries[entry["query"]] = entry["columns"]
        return found

    def begin(self, started: str, state: str | None = None) -> None:
        """Record the start of a run, and the state that it belongs to. The number of a run is durable."""
        if self.runs:
            self._append_text("\n")  # a crash may have cut the last line off
        self.runs += 1
        self._append({"run": self.runs, "started": started} | ({"state": state} if state else {}))
        if state is not None:
            self.states[self.runs] = state
        flush_folder(self.path.parent)

    def add(self, queries: Mapping[str, Mapping[str, str]]) -> None:
        """Record queries with their columns, before their folders are created."""
        new = {name: columns for name, columns in queries.items() if name not in self.queries}
        self._append(*({"query": name, "columns": columns} for name, columns in new.items()))
        self.queries.update(new)

    def _append(self, *entries: Mapping[str, object]) -> None:
        self._append_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries))

    def _append_text(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


def _is_plain(name: str) -> bool:
    """Whether a name can be that of a query: no other folder is ever removed."""
    return name[:1] not in ("", "_", ".") and Path(name).name == name
