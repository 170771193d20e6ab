"""Rejected rows of a stream: how many, why, and an example of each reason."""

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MOST_REASONS = 100
"""Reasons that are counted one by one; files that cannot be read have a reason each."""
OTHERS = "other reasons"
_TOP = 5
_LONGEST = 200


@dataclass(frozen=True)
class Reason:
    """A reason: `late` or `malformed`, the text, the number of rows, and the first of them as JSON."""

    kind: str
    reason: str
    rows: int
    example: str


class Rejections:
    """Counts the rejected rows of a stream by reason. Late rows are one reason."""

    def __init__(self, stream: str) -> None:
        self.late = 0
        self.malformed = 0
        self._stream = stream
        self._reasons: dict[tuple[str, str], Reason] = {}

    def snapshot(self) -> list[Any]:
        """Return the counts, as JSON has them."""
        return [self.late, self.malformed, [[key, astuple(reason)] for (_, key), reason in self._reasons.items()]]

    def restore(self, snapshot: list[Any]) -> None:
        """Continue with earlier counts."""
        self.late, self.malformed, reasons = snapshot
        self._reasons = {(reason[0], key): Reason(*reason) for key, reason in reasons}

    def take(self, rejected: pa.Table) -> list[str]:
        """Count rows, and return messages about the first reason of each kind."""
        said = []
        for kind in ("malformed", "late"):
            rows = rejected.filter(pc.equal(rejected.column("kind"), kind))
            if not rows.num_rows:
                continue
            first = not any(known.kind == kind for known in self._reasons.values())
            self._count(kind, rows)
            if first:
                example = Reason(
                    kind, rows.column("reason")[0].as_py(), rows.num_rows, rows.column("row")[0].as_py()
                )
                said.append(f"stream {self._stream}: {told(example)}")
        return said

    def _count(self, kind: str, rows: pa.Table) -> None:
        if kind == "late":
            self.late += rows.num_rows
            self._add(kind, kind, rows.column("reason")[0].as_py(), rows.num_rows, rows)
            return
        self.malformed += rows.num_rows
        for each in pc.value_counts(rows.column("reason").combine_chunks()).to_pylist():
            reason = each["values"]
            known = (kind, reason) in self._reasons or len(self._reasons) < MOST_REASONS
            of_it = rows.filter(pc.equal(rows.column("reason"), reason))
            self._add(kind, reason if known else OTHERS, reason if known else OTHERS, each["counts"], of_it)

    def _add(self, kind: str, key: str, reason: str, count: int, rows: pa.Table) -> None:
        before = self._reasons.get((kind, key))
        if before is None:
            before = Reason(kind, reason, 0, rows.column("row")[0].as_py())
        self._reasons[kind, key] = Reason(kind, before.reason, before.rows + count, before.example)

    @property
    def top(self) -> tuple[Reason, ...]:
        """The reasons with the most rows."""
        return tuple(sorted(self._reasons.values(), key=lambda each: -each.rows)[:_TOP])


def told(reason: Reason) -> str:
    """Return a reason with its count and example in a line."""
    rows = "1 row" if reason.rows == 1 else f"{reason.rows:,} rows"
    example = reason.example if len(reason.example) <= _LONGEST else f"{reason.example[:_LONGEST]}…"
    return f"{rows} rejected ({reason.kind}): {reason.reason}: {example}"


def rejected_lines(rejected: pa.Table) -> Iterator[str]:
    """Yield rejected rows as JSON objects: sequence number, kind, reason and content."""
    for row in rejected.to_pylist():
        about = json.dumps({f"_{key}": row[key] for key in ("seq", "kind", "reason")}, ensure_ascii=False)
        held = row["row"].strip().replace("\n", " ")[1:-1].strip()
        yield f"{about[:-1]}, {held}}}" if held else about
