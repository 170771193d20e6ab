"""Binding of FROM: streams, stored tables and subqueries, their windows, and the joins between them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from penstock.errors import nearest
from penstock.language.names import name_key
from penstock.language.select import Parsed, span_of_node
from penstock.language.statements import FromItem, Relation, StreamDef
from penstock.language.text import Span
from penstock.language.windows import tumbling

MOST_STREAMS = 8
_AFTER_NAMES = {
    "db": "a dot",
    "joins": "a second ON",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "version": "a version",
}
_NO_PARTNER = "only when the window has passed is it known that a row has no partner"


@dataclass(frozen=True)
class Scope:
    """What FROM may name: streams, stored tables and names of WITH, by `name_key`. `derive` binds a subquery."""

    relations: Mapping[str, Relation]
    derive: Callable[[exp.Subquery, str], StreamDef]
    unseen: Mapping[str, str] = field(default_factory=dict)
    """Names of WITH that cannot be read here, with the reason."""


@dataclass(frozen=True)
class _Written:
    """How an item of FROM is written, and where its name and its window are."""

    name: str
    name_span: Span
    window_span: Span


class FromClause:
    """The items of one FROM, in order."""

    def __init__(self, parsed: Parsed, scope: Scope, span: Span) -> None:
        self.items: list[FromItem] = []
        self._parsed = parsed
        self._text = parsed.text
        self._scope = scope
        self._span = span
        self._written: list[_Written] = []
        self._commas: list[int] = []
        """For each item: the place of the first one behind the last comma before it."""

    @property
    def streams(self) -> list[FromItem]:
        """The items that are streams."""
        return [item for item in self.items if item.is_stream]

    def read(self, grouped: tuple[str, Span] | None) -> None:
        """Read all items; `grouped` is what makes the query one of groups, and its place."""
        tree = self._parsed.tree
        first = tree.args.get("from_")
        if first is None:
            self._text.fail("a query needs FROM and the name of a stream", self._span)
        self._commas.append(0)
        self._add(first.this)
        for join in tree.args.get("joins") or ():
            self._check_join(join)
            is_comma = self._text.content[join.meta.get("start", 0)] == ","
            self._commas.append(len(self.items) if is_comma else self._commas[-1])
            self._add(join.this)
            if is_left(join):
                self._check_left(join)
        if not self.streams:
            self._fail("a query must read at least one stream; this one reads only stored tables", first)
        if len(self.streams) > MOST_STREAMS:
            self._fail(
                f"a query can join at most {MOST_STREAMS} streams; this one joins {len(self.streams)}", first
            )
        if grouped is not None:
            self._check_grouped(*grouped)
        else:
            self._check_windows()

    def refuse_slides(self) -> None:
        """Fail if a window of a query without groups has a SLIDE."""
        for item, written in zip(self.items, self._written, strict=True):
            if item.window is not None and item.window.slide is not None:
                instead = "leave it out" if len(self.streams) == 1 else "windows of a join have none"
                self._text.fail(
                    f"SLIDE is for aggregates, GROUP BY and DISTINCT, which this query does not have: {instead}",
                    written.window_span,
                )

    def check_outer(self, place: int, conditions: Sequence[exp.Expression]) -> None:
        """Fail if the ON of a LEFT JOIN reads an item that is not joined yet, as Spark does."""
        for condition in conditions:
            for column in condition.find_all(exp.Column):
                read = int(column.table[1:])
                alias = self.items[read].alias
                if read > place:
                    self._fail(f"ON of this LEFT JOIN cannot read {alias}: it comes later in FROM", column)
                if read < self._commas[place]:
                    self._fail(
                        f"ON of this LEFT JOIN cannot read {alias}: LEFT JOIN is done before the comma in front "
                        "of it. Write JOIN instead of that comma",
                        column,
                    )

    # Items --------------------------------------------------------------------------------------------------

    def _add(self, table: exp.Expression) -> None:
        if isinstance(table, exp.Subquery):
            self._add_subquery(table)
            return
        self._check_name(table)
        written = table.this.name
        relation = self._scope.relations.get(name_key(written))
        if relation is None:
            self._fail_unknown(table.this, written)
        is_declared = name_key(relation.name) == name_key(written)  # else it is a name of WITH
        shown = relation.name if is_declared else written
        start = table.this.meta.get("start", -1)
        window = self._parsed.windows.get(start)
        if window is not None and not isinstance(relation, StreamDef):
            self._text.fail(
                f"{relation.name} is a stored table and cannot have a window: it is read as a whole", window[1]
            )
        self._append(table, relation, table.alias or shown, shown, Span(start, start + len(shown)), start)

    def _add_subquery(self, table: exp.Subquery) -> None:
        if isinstance(table.this, exp.Table):
            self._fail("parentheses in FROM are not supported: write the names one after the other", table)
        if isinstance(table.this, exp.Subquery):
            self._fail("write one pair of parentheses around a subquery", table)
        if not isinstance(table.this, exp.Select | exp.SetOperation):
            self._fail("expected SELECT after this parenthesis", table)
        for key, value in table.args.items():
            if value and key not in ("this", "alias"):
                word = _AFTER_NAMES.get(key, key.strip("_").upper())
                self._fail(f"a subquery can only have a window and an alias behind it, not {word}", table)
        start = table.meta["start"]
        stop = self._parsed.closing[start]
        if not table.alias:
            self._text.fail("a subquery needs an alias: (SELECT …) AS x", Span(start, stop + 1))
        self._check_alias(table)
        stream = self._scope.derive(table, table.alias)
        self._append(table, stream, table.alias, "(SELECT …)", Span(start, stop + 1), stop)

    def _append(
        self, table: exp.Expression, relation: Relation, alias: str, shown: str, span: Span, before: int
    ) -> None:
        """Add an item; `before` is the offset of the token after which its window would be."""
        if any(name_key(item.alias) == name_key(alias) for item in self.items):
            self._fail(f"two items of FROM are named {alias!r}: rename one with AS", table)
        window, place = self._parsed.windows.get(before, (None, self._span))
        self._written.append(_Written(shown, span, place))
        self.items.append(FromItem(relation, alias, window))

    def _check_name(self, table: exp.Expression) -> None:
        if isinstance(table, exp.Values):
            self._fail("VALUES is not supported: store constant rows with CREATE TABLE", table)
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            self._fail("expected the name of a stream or a table", table)
        for key, value in table.args.items():
            if value and key not in ("this", "alias"):
                word = _AFTER_NAMES.get(key, key.strip("_").upper())
                self._fail(f"expected only the name of a stream or a table, without {word}", table)
        self._check_alias(table)

    def _check_alias(self, table: exp.Expression) -> None:
        if table.args.get("alias") is not None and table.args["alias"].columns:
            self._fail("an alias is a single name: rename columns in SELECT, with AS", table)

    def _fail_unknown(self, name: exp.Expression, written: str) -> NoReturn:
        reason = self._scope.unseen.get(name_key(written))
        if reason is not None:
            self._fail(reason, name)
        known = [each.name if name_key(each.name) == key else key for key, each in self._scope.relations.items()]
        self._fail(f"there is no stream or table {written!r}.{nearest(written, known)}", name)

    # Windows ------------------------------------------------------------------------------------------------

    def _check_windows(self) -> None:
        """Fail if a stream that is joined with another has no window."""
        for item, written in zip(self.items, self._written, strict=True):
            if item.is_stream and len(self.streams) > 1 and item.window is None:
                self._text.fail(
                    f"stream {item.relation.name} is joined with another stream and needs a window: "
                    f"{written.name} [RANGE 5 SECONDS] or {written.name} [ROWS 100]",
                    written.name_span,
                )

    def _check_grouped(self, word: str, span: Span) -> None:
        """Fail unless a query with groups reads one stream, whose window has a SLIDE."""
        if len(self.streams) > 1:
            self._text.fail(
                f"{word} needs one stream, not a join of streams: join them in a derived stream or in a subquery "
                "with a window, FROM (SELECT …) [RANGE 1 MINUTE SLIDE 1 MINUTE] AS j",
                span,
            )
        [(item, written)] = (pair for pair in zip(self.items, self._written, strict=True) if pair[0].is_stream)
        if item.window is None:
            example = f"{written.name} [RANGE 10 SECONDS SLIDE 10 SECONDS]"
            self._text.fail(f"{word} needs windows: {example}", written.name_span)
        if item.window.slide is None:
            example = f"{written.name} {tumbling(item.window)}"
            self._text.fail(f"{word} needs windows with a SLIDE: {example}", written.window_span)

    # Joins --------------------------------------------------------------------------------------------------

    def _check_join(self, join: exp.Join) -> None:
        side, kind = _side(join), str(join.args.get("kind") or "").upper()
        method = str(join.args.get("method") or "").upper()
        if kind in ("SEMI", "ANTI"):
            self._fail(f"{kind} JOIN is not supported yet", join)
        if side in ("RIGHT", "FULL"):
            self._fail(
                f"{side} JOIN is not supported: {_NO_PARTNER}. LEFT JOIN of a stored table is supported", join
            )
        if kind == "OUTER" and not side:
            self._fail("OUTER JOIN is not supported: write LEFT JOIN and a stored table", join)
        if kind not in ("", "INNER", "CROSS", "OUTER"):
            self._fail(f"{kind} is not supported: write JOIN … ON …", join)
        if method == "NATURAL":
            self._fail("NATURAL JOIN is not supported: name the compared columns with ON", join)
        if join.args.get("using"):
            self._fail("USING is not supported: name the compared columns with ON a.x = b.x", join)
        allowed = ("this", "on", "kind", "side") if is_left(join) else ("this", "on", "kind")
        for key, value in join.args.items():
            if value and key not in allowed:
                word = method or key.strip("_").upper()
                self._fail(f"{word} is not supported: write JOIN … ON …", join)

    def _check_left(self, join: exp.Join) -> None:
        """Fail unless a LEFT JOIN has a stream before it, a stored table behind it, and an ON."""
        item = self.items[-1]
        before = self.items[self._commas[-1] : -1]
        if item.is_stream:
            self._fail(
                f"LEFT JOIN of a stream is not supported: {_NO_PARTNER}. LEFT JOIN of a stored table is supported",
                join,
            )
        if join.args.get("on") is None:
            self._fail(f"LEFT JOIN needs a condition: LEFT JOIN {item.relation.name} ON …", join)
        if not any(each.is_stream for each in before):
            names = " and ".join(each.alias for each in before)
            self._fail(
                f"LEFT JOIN keeps the rows of a stream, and there is none before it, only {names}: write the "
                "stream first",
                join,
            )

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def is_left(join: exp.Join) -> bool:
    """Return whether a join is LEFT JOIN or LEFT OUTER JOIN."""
    return _side(join) == "LEFT" and str(join.args.get("kind") or "").upper() in ("", "OUTER")


def _side(join: exp.Join) -> str:
    return str(join.args.get("side") or "").upper()
