"""`Backend`: what the runtime needs of the machine that runs its jobs. `spark/backend.py` implements it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from penstock.errors import RunError
from penstock.language.statements import QueryDef, StreamDef
from penstock.plan.plan import Plan
from penstock.plan.template import QueryTemplate
from penstock.runtime.rows.written_segments import SegmentWriter
from penstock.runtime.source import Source
from penstock.runtime.work import Outcome, Work


class BackendEndedError(RunError):
    """What runs the jobs does not answer any more."""


class Backend(Protocol):
    """Runs work, opens sources, and checks queries."""

    slots: int
    """Tasks that run at the same time."""
    result_bytes: float
    """Bytes of results that all jobs in flight may return together."""

    segments: SegmentWriter | None
    """Writes rows that the driver holds to files that executors read; None if they cannot."""

    errors: tuple[type[BaseException], ...]
    """Errors that do not matter when sources are closed."""

    def run(self, work: Work) -> Outcome:
        """Run some work as one job. Called from several threads."""
        ...

    def open_source(self, stream: StreamDef, position: Mapping[str, Any] | None = None) -> Source:
        """Open the source of a stream, at a position if it goes on; raise `RunError` if that is impossible."""
        ...

    def result_schema(self, query: QueryDef, plan: Plan) -> pa.Schema:
        """Check a query, and return the columns of its results."""
        ...

    def may_group(self, template: QueryTemplate) -> bool:
        """Whether queries of a template may run as one group."""
        ...

    def explain(self, error: BaseException) -> str:
        """Return an error of a job in words for a user."""
        ...

    def unreadable_file(self, error: BaseException) -> Path | None:
        """Return the file that a job could not read, if that is why it failed."""
        ...

    def can_write(self, folder: Path) -> bool:
        """Whether what jobs write to a folder appears there."""
        ...

    def check_alive(self) -> None:
        """Raise `RunError` if jobs cannot run any more."""
        ...

    def interrupt(self) -> None:
        """Cancel the jobs that run."""
        ...
