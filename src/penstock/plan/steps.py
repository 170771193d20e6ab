"""Steps: what the operators of a network execute, in Spark SQL.

Columns of a stream keep their names; those of a stored table become ``__0_owner``, those of a join's port
``__p0_src``. Every row also has ``__seq0`` (one for each stream of a join), its time ``__t`` and its arrival
``__a``, in microseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.language.names import named
from penstock.language.statements import TableDef, WindowDef

TIME, ARRIVAL = "__t", "__a"
Columns = frozenset[str]


def seq(place: int) -> str:
    """Return the name of the sequence number column of the stream at that place."""
    return f"__seq{place}"


@dataclass(frozen=True)
class Bound:
    """A limit in a stored table for a column of the input: a lower one (`lower`) or an upper one."""

    column: str
    limit: str
    lower: bool


@dataclass(frozen=True)
class Condition:
    """A condition as SQL, the columns that it reads, and for a join the ports of these.

    It is `late` if it may fail on a row that another condition excludes.
    """

    sql: str
    columns: Columns
    ports: frozenset[int] = frozenset()
    late: bool = False
    equal: tuple[tuple[int, str], tuple[int, str]] | None = None
    """Of a join: the two columns that it compares for equality, each with its port."""
    bounds: tuple[Bound, ...] = ()
    """Of a join with constants: the limits of a column, if it is a range of numbers."""


@dataclass(frozen=True)
class Select:
    """WHERE on one input."""

    conditions: tuple[Condition, ...]

    @property
    def sql(self) -> str:
        """All conditions, connected by AND."""
        return " AND ".join(f"({condition.sql})" for condition in self.conditions)

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of its input that it needs for the wanted ones."""
        return (wanted.union(*(condition.columns for condition in self.conditions)),)


@dataclass(frozen=True)
class Lookup:
    """A join with a stored table; the table is ``t``, the input ``s``. Without conditions, it is a product."""

    table: TableDef
    prefix: str
    conditions: tuple[Condition, ...]

    @property
    def sql(self) -> str:
        """The join as text."""
        return f"JOIN {self.table.name} t ON {self.condition or 'true'}"

    @property
    def condition(self) -> str:
        """All conditions, connected by AND."""
        return " AND ".join(f"({condition.sql})" for condition in self.conditions)

    def named(self, column: str) -> str:
        """Return the name of a table's column in the result."""
        return f"{self.prefix}{column}"

    @property
    def makes(self) -> Mapping[str, str]:
        """The columns that it adds, each with its name in the table."""
        return {self.named(column.name): column.name for column in self.table.columns}

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of its input that it needs for the wanted ones."""
        needed = wanted.union(*(condition.columns for condition in self.conditions))
        return (needed.difference(self.makes),)


@dataclass(frozen=True)
class Project:
    """The columns of a query's result."""

    columns: tuple[tuple[str, str], ...]
    uses: Columns
    streams: int

    @property
    def sql(self) -> str:
        """The list after SELECT."""
        return ", ".join(named(expression, name) for expression, name in self.columns)

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of its input that it needs; `wanted` is ignored."""
        return (self.uses,)


@dataclass(frozen=True)
class Port:
    """One input of a window join: its stream, its window, and the operators before the join."""

    stream: str
    window: WindowDef
    path: tuple[str, ...]
    """The operators below the join, leaf first."""
    start: int = 0
    """The first sequence number that the query sees."""
    end: int | None = None
    """The first sequence number that it no longer sees, once it was dropped."""


@dataclass(frozen=True)
class Join:
    """A window join of several streams: a row of one stream probes the windows of the others."""

    ports: tuple[Port, ...]
    conditions: tuple[Condition, ...]
    orders: tuple[tuple[int, ...], ...] = ()
    """For every port, the others in the order in which its rows probe them; empty: as written."""

    @property
    def sql(self) -> str:
        """Windows and conditions, as text."""
        windows = " × ".join(f"{port.stream} {port.window}" for port in self.ports)
        conditions = " AND ".join(f"({condition.sql})" for condition in self.conditions)
        starts = ", ".join(f"{port.stream} {port.start}" for port in self.ports if port.start)
        ends = ", ".join(f"{port.stream} {port.end}" for port in self.ports if port.end is not None)
        seen = (f" FROM {starts}" if starts else "") + (f" UP TO {ends}" if ends else "")
        return windows + (f" ON {conditions}" if conditions else "") + seen

    @staticmethod
    def named(port: int, column: str) -> str:
        """Return the name of an input's column in the result."""
        return f"__p{port}_{column}"

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of each input that it needs for the wanted ones."""
        needed = wanted.union(*(condition.columns for condition in self.conditions))
        found = []
        for port in range(len(self.ports)):
            prefix = self.named(port, "")
            found.append(frozenset(name[len(prefix) :] for name in needed if name.startswith(prefix)))
        return tuple(found)

    def equal_columns(self, one: int, other: int) -> list[tuple[str, str]]:
        """Return the pairs of columns of two ports that must be equal; none if another condition compares them."""
        between = [condition for condition in self.conditions if condition.ports == {one, other}]
        pairs = [dict(condition.equal) for condition in between if condition.equal]
        return [(pair[one], pair[other]) for pair in pairs] if len(pairs) == len(between) else []

    def order_from(self, port: int) -> tuple[int, ...]:
        """Return the order in which a row of `port` probes the others."""
        return self.orders[port] if self.orders else self.written_from(port)

    def written_from(self, port: int) -> tuple[int, ...]:
        """Return the order in which a row of `port` probes the others as written, connected ones first."""
        taken, left = [port], [other for other in range(len(self.ports)) if other != port]
        while left:
            linked = [
                other
                for other in left
                if any(other in c.ports and c.ports <= {*taken, other} for c in self.conditions)
            ]
            taken.append((linked or left)[0])
            left.remove(taken[-1])
        return tuple(taken[1:])


Step = Select | Lookup | Project | Join
