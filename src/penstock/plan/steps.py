"""Steps: what the operators of a network execute, in Spark SQL.

Columns of a stream keep their names; those of a stored table become ``__0_owner``, those of a join's port
``__p0_src``. Every row also has ``__seq0`` (one for each stream of a join), its time ``__t`` and its arrival
``__a``, in microseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal

from penstock.language.names import named
from penstock.language.statements import Column, TableDef, WindowDef

TIME, ARRIVAL = "__t", "__a"
MEMBER = "__q"
"""The column of a group's rows with the number of the member."""
PANE = "__p"
"""The column of a window that closes with the beginning of one of its panes."""
POSITION = "__pos"
"""The column with the position of a row among the rows of its stream that were kept, from 0 on."""
BLOCK = "__b"
"""The column of partial aggregates with the size of their blocks: see `Aggregate`."""
EXTRA = "__e"
"""The column with the number of dropped rows for which a kept row counts, besides itself."""
VARIANT = "__v"
"""The column of partial aggregates of a group with the number of the constants that their rows met."""
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
    outer: bool = False
    """Whether rows without a match stay, with NULL in the table's columns."""

    @property
    def sql(self) -> str:
        """The join as text."""
        return f"{'LEFT ' * self.outer}JOIN {self.table.name} t ON {self.condition or 'true'}"

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
class Call:
    """An aggregate function, in SQL over the rows that it reads."""

    function: str
    arguments: tuple[str, ...]
    condition: str | None = None
    """FILTER: only the rows that meet it count."""
    columns: Columns = field(default=frozenset(), compare=False)
    """The columns that arguments and condition read."""
    scaled: bool = False
    """Whether each row also counts for the rows that drop boxes dropped."""

    @cached_property
    def sql(self) -> str:
        """The call as text, by which equal ones are known."""
        filtered = "" if self.condition is None else f" FILTER (WHERE {self.condition})"
        return f"{'scaled ' * self.scaled}{self.function}({', '.join(self.arguments) or '*'}){filtered}"

    @cached_property
    def name(self) -> str:
        """The column of its result, with which the names of its parts begin."""
        return hashed("__a", self.sql)

    @property
    def needs_numbers(self) -> bool:
        """Whether it needs sequence numbers: it depends on the order of rows, or on the shares that were kept."""
        return self.scaled or self.function in ("first", "last", "min_by", "max_by")


@dataclass(frozen=True)
class Key:
    """An expression of GROUP BY, in SQL over the rows that it reads."""

    sql: str
    columns: Columns = field(default=frozenset(), compare=False)
    is_variant: bool = False
    """Whether it tells the constants of a group apart that rows meet."""

    @cached_property
    def name(self) -> str:
        """The column of its values; that of a group's variants keeps its name."""
        return VARIANT if self.is_variant else hashed("__k", self.sql)


def hashed(prefix: str, text: str) -> str:
    """Return a name for a text that is the same in every query and every run."""
    return f"{prefix}_{blake2b(text.encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True)
class Aggregate:
    """Partial aggregates: one row for each pane and group of rows, which later are merged to windows.

    Queries with the same input and the same keys share it, whatever windows and aggregates they have, if their
    panes are of similar sizes. Its panes and aggregates are those of its readers.

    If windows have many panes, there are also rows for blocks of panes, and a window is merged from the blocks
    that it covers and the panes beside them. The column `BLOCK` has the size of a block in its own row, the
    same with a minus in the rows of its panes, and 0 in rows that are in no block.
    """

    keys: tuple[Key, ...]
    by: Literal["rows", "range"]
    pane: int = field(compare=False)
    """The size of the panes: microseconds, or rows. Each variant of a group may have its own (`pane_column`)."""
    calls: tuple[Call, ...] = field(compare=False)
    pane_column: str | None = None
    block_column: str | None = None
    """The column with the size of the blocks of each variant, 0 for none; None: `Plan.block_of` has it."""
    apart: int = 0
    """Tells operators apart whose panes are too different to be shared."""

    @property
    def sql(self) -> str:
        """What makes it equal to others: keys and kind of windows."""
        keys = ", ".join(key.sql for key in self.keys)
        return f"PANES OF {self.by.upper()} BY {keys or 'nothing'}" + (f" APART {self.apart}" * bool(self.apart))

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of its input that it needs for the wanted aggregates."""
        needed = [key.columns for key in self.keys]
        needed += [call.columns for call in self.calls if call.name in wanted]
        sizes = {each for each in (self.pane_column, self.block_column) if each}
        place = {POSITION} if self.by == "rows" else set()
        return (frozenset(sizes | place).union(*needed),)

    def wanted_calls(self, wanted: Columns) -> tuple[Call, ...]:
        """Return the aggregates that some reader wants."""
        return tuple(call for call in self.calls if call.name in wanted)


@dataclass(frozen=True)
class Close:
    """The results of windows, merged from partial aggregates when they close.

    Its rows are windows that close. Those of a group name the member to which they belong.
    """

    keys: tuple[Key, ...]
    calls: tuple[Call, ...]
    window: WindowDef | None
    """None for a group: each member has its own."""
    group: str | None = None
    first: int | None = None
    """Of a derived stream: the earliest beginning of a window that it has; None if queries decide."""

    @property
    def sql(self) -> str:
        """Windows and aggregates, as text."""
        windows = f"WINDOWS OF {self.group}" if self.window is None else str(self.window)
        since = "" if self.first is None else f" FROM {self.first}"
        return f"{windows} {', '.join(call.sql for call in self.calls) or 'groups'}{since}"

    @property
    def by_variant(self) -> bool:
        """Whether partial aggregates belong to variants of a group."""
        return any(key.is_variant for key in self.keys)

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of partial aggregates that it needs; `wanted` is ignored."""
        names = [*(key.name for key in self.keys), *(call.name for call in self.calls)]
        return (frozenset(names),)


@dataclass(frozen=True)
class Order:
    """A derived stream: the results of its branches in the order of time, each with a number."""

    stream: str
    columns: tuple[Column, ...]
    branches: tuple[tuple[str, ...], ...]
    """Of each branch, the names of its results, in the order of the columns."""

    @property
    def sql(self) -> str:
        """The stream as text."""
        return f"STREAM {self.stream}"

    def reads(self, wanted: Columns) -> tuple[Columns, ...]:
        """Return the columns of each branch: all, as equal times are ordered by them."""
        return tuple(frozenset(names) for names in self.branches)


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
    ending: str = ""
    """Of a query that was dropped: what tells its join from those of others that ended at the same rows."""
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
        seen += f" ENDING {self.ending}" if self.ending else ""
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


Step = Select | Lookup | Project | Join | Aggregate | Close | Order
