"""`Change`: a query that was created, dropped, stopped or ended, or a setting that was set, during a run."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from penstock.language.statements import create_statement
from penstock.plan.derived import Starts
from penstock.runtime.query_state import QueryState

Kind = Literal["create", "drop", "forget", "stop", "ended", "set"]


@dataclass(frozen=True)
class Change:
    """A change of queries or settings, with everything that is needed to repeat it exactly.

    `forget` is the DROP of a query that had stopped before.
    """

    kind: Kind
    name: str
    sql: str = ""
    """Of a created query: its SELECT."""
    starts: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Rows of each stream that drop boxes had dropped by then."""
    reason: str = ""
    value: Any = None
    """Of a setting."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Of queries with aggregates, and of branches of derived streams: the first window, or that of the end."""
    scaled: bool = False
    """Of a created query: whether it is scaled for dropped rows."""

    @classmethod
    def created(cls, query: QueryState) -> Self:
        """Return the creation of a query."""
        made, since = query.definition, query.since
        return cls(
            "create",
            made.name,
            made.sql,
            since.rows,
            dropped=query.dropped_before,
            windows=since.windows,
            scaled=made.scaled,
        )

    @classmethod
    def dropped_query(cls, query: QueryState) -> Self:
        """Return the end of a query by DROP QUERY."""
        ends, until, windows = _end(query)
        return cls("drop", query.name, ends=ends, dropped=until, windows=windows)

    @classmethod
    def stopped(cls, query: QueryState) -> Self:
        """Return the end of a query that failed."""
        ends, until, windows = _end(query)
        return cls("stop", query.name, ends=ends, dropped=until, reason=query.reason, windows=windows)

    @property
    def since(self) -> Starts:
        """Of a created query: where it began."""
        return Starts(dict(self.starts), dict(self.windows))

    @property
    def key(self) -> str:
        """What tells a created query from others of the same name."""
        return f"{self.name} {sorted(self.starts.items())} {'scaled ' * self.scaled}{self.sql}"

    @property
    def statement(self) -> str | None:
        """The statement that changed the script; None if the run itself made the change."""
        if self.kind == "create":
            return f"{create_statement(self.name, self.sql, scaled=self.scaled)};"
        return f"DROP QUERY `{self.name}`;" if self.kind in ("drop", "forget") else None

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value or name == "value"}


def _end(query: QueryState) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return where a query ended: rows, dropped rows, windows."""
    windows = {} if query.end_window is None else {query.name: query.end_window}
    return query.ends or {}, query.dropped_until or {}, windows
