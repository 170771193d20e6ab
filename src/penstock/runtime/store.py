"""`Store`: what the loop needs of a state that survives. `storage/store.py` implements it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from penstock.runtime.derived_types import DerivedTypes
from penstock.runtime.engine import Engine
from penstock.runtime.job import Emitted
from penstock.runtime.sink import Sink


class Positions(Protocol):
    """The places at which sources are read, as JSON has them."""

    def __call__(self, *, whole: bool) -> dict[str, Any]:
        """Return the position of each source, or what changed since the last call."""
        ...


class Store(Protocol):
    """A state folder: rows, results and everything else is kept there, commit by commit."""

    commit_s: float
    """How long a commit takes, of late."""

    def restore_queries(self, engine: Engine, types: DerivedTypes) -> bool:
        """Register the queries of an earlier process; return False if this is the first."""
        ...

    def restore_rows(self, engine: Engine, on_stage: Callable[[str], object]) -> None:
        """Fill the engine with the rows and statistics of an earlier process."""
        ...

    def position_of(self, stream: str) -> Mapping[str, Any] | None:
        """Return where a source goes on; None if it begins."""
        ...

    @property
    def seconds(self) -> float:
        """How long earlier processes ran."""
        ...

    def begin(self, engine: Engine, positions: Positions, sinks: Sequence[Sink], now_us: int) -> None:
        """Write a first checkpoint. From now on everything is kept."""
        ...

    def take(self, emitted: Emitted) -> None:
        """Keep results until the next commit."""
        ...

    def reject(self, stream: str, rows: pa.Table) -> None:
        """Keep rejected rows until the next commit."""
        ...

    def commit_if_due(self, now_us: int, *, has_slot: bool) -> bool:
        """Commit what happened, if rows or results should not wait longer; return whether it did."""
        ...

    def commit(self, now_us: int) -> None:
        """Commit what happened, if anything did."""
        ...

    def has_room(self) -> bool:
        """Whether the state is below its limit."""
        ...

    def make_room(self, now_us: int) -> None:
        """Remove what is not needed any more; raise if the limit is still reached: nothing else can continue."""
        ...

    def release(self) -> None:
        """Let another process own the folder, without a commit."""
        ...

    def close(self, now_us: int) -> None:
        """Commit, write a last checkpoint and let another process own the folder."""
        ...
