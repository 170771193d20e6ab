"""Binding of a parsed SELECT: resolves names, expands stars, checks windows and joins."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.errors import nearest
from penstock.language.aggregates import aggregates_in, name_of
from penstock.language.grouping import Grouping, grouped_by
from penstock.language.names import name_key
from penstock.language.resolve import WINDOW_NAMES, Resolver, column_at
from penstock.language.select import Parsed, conjuncts, forget_places, span_of_node
from penstock.language.statements import GROUPED, FromItem, Output, QueryDef, Relation, StreamDef
from penstock.language.text import Span
from penstock.language.type_check import Checker
from penstock.language.types import called
from penstock.language.windows import tumbling

MOST_STREAMS = 8
_NO_COLUMN = {
    "interval": "a result column cannot be an interval: CAST the times AS DOUBLE (seconds) and subtract those",
    "null": "NULL alone has no type: write CAST(NULL AS INT), for example",
}
_AFTER_NAMES = {
    "db": "a dot",
    "joins": "a second ON",
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "version": "a version",
}
LONGEST_NAME = 200


def bound_query(name: str, parsed: Parsed, relations: Mapping[str, Relation], span: Span) -> QueryDef:
    """Resolve and check a query against the streams and tables declared before it."""
    try:
        return _Binder(name, parsed, relations, span).query()
    except (RecursionError, SqlglotError):  # sqlglot's tokenizer turns a RecursionError into the second
        parsed.text.fail("this query is nested too deeply", span)


class _Binder:
    def __init__(self, name: str, parsed: Parsed, relations: Mapping[str, Relation], span: Span) -> None:
        self.name = name
        self.parsed = parsed
        self.text = parsed.text
        self.relations = relations
        self.span = span
        self.items: list[FromItem] = []
        self.resolver = Resolver(parsed.text, self.items, span)
        self._starts: dict[int, str] = {}

    def query(self) -> QueryDef:
        tree = self.parsed.tree
        grouped = grouped_by(self.parsed, self.span)
        self._read_from(grouped)
        checker = Checker(self.text, self.items, self.span)
        conditions: list[exp.Expression] = []
        for join in tree.args.get("joins") or ():
            if join.args.get("on") is not None:
                conditions += self._condition(join.args["on"], "ON", checker)
        if tree.args.get("where") is not None:
            conditions += self._condition(tree.args["where"].this, "WHERE", checker)
        grouping = None
        if grouped is not None:
            grouping = Grouping(self.parsed, self.items, self.resolver, checker, self.span)
        outputs = self._outputs(checker, grouping)
        if grouping is None:
            self._refuse_slides()
        aggregation = None if grouping is None else grouping.aggregation()
        forget_places([*conditions, *(output.expression for output in outputs)])
        items = tuple(self.items)
        return QueryDef(self.name, items, tuple(conditions), outputs, self.parsed.sql, self.span, aggregation)

    # FROM ---------------------------------------------------------------------------------------------------

    def _read_from(self, grouped: tuple[str, Span] | None) -> None:
        tree = self.parsed.tree
        first = tree.args.get("from_")
        if first is None:
            self.text.fail("a query needs FROM and the name of a stream", self.span)
        self._add(first.this)
        for join in tree.args.get("joins") or ():
            self._check_join(join)
            self._add(join.this)
        streams = [item for item in self.items if item.is_stream]
        if not streams:
            self._fail("a query must read at least one stream; this one reads only stored tables", first)
        if len(streams) > MOST_STREAMS:
            self._fail(f"a query can join at most {MOST_STREAMS} streams; this one joins {len(streams)}", first)
        unused = [span for start, (_, span) in self.parsed.windows.items() if start not in self._starts]
        if unused:
            self.text.fail("a window must follow the name of a stream in FROM: packets [ROWS 100] AS p", unused[0])
        if grouped is not None:
            self._check_grouped(streams, *grouped)
        else:
            self._check_windows(streams)

    def _refuse_slides(self) -> None:
        """Fail if a window of a query without groups has a SLIDE."""
        streams = [item for item in self.items if item.is_stream]
        for item in streams:
            if item.window is not None and item.window.slide is not None:
                instead = "leave it out" if len(streams) == 1 else "windows of a join have none"
                self.text.fail(
                    f"SLIDE is for aggregates, GROUP BY and DISTINCT, which this query does not have: {instead}",
                    self._place(item)[1],
                )

    def _check_windows(self, streams: Sequence[FromItem]) -> None:
        """Fail if a stream that is joined with another has no window."""
        for item in streams:
            if len(streams) > 1 and item.window is None:
                self.text.fail(
                    f"stream {item.relation.name} is joined with another stream and needs a window: "
                    f"{item.relation.name} [RANGE 5 SECONDS] or {item.relation.name} [ROWS 100]",
                    self._place(item)[0],
                )

    def _check_grouped(self, streams: Sequence[FromItem], word: str, span: Span) -> None:
        """Fail unless a query with groups reads one stream, whose window has a SLIDE."""
        if len(streams) > 1:
            self.text.fail(
                f"aggregates over a join of streams are not supported yet: {word} needs a query of one stream, "
                "which may be joined with stored tables",
                span,
            )
        [item] = streams
        name, window = self._place(item)
        if item.window is None:
            example = f"{item.relation.name} [RANGE 10 SECONDS SLIDE 10 SECONDS]"
            self.text.fail(f"{word} needs windows: {example}", name)
        if item.window.slide is None:
            example = f"{item.relation.name} {tumbling(item.window)}"
            self.text.fail(f"{word} needs windows with a SLIDE: {example}", window)

    def _place(self, item: FromItem) -> tuple[Span, Span]:
        """Return the places of a stream's name and of its window."""
        start = next(start for start, alias in self._starts.items() if alias == item.alias)
        _, window = self.parsed.windows.get(start, (None, self.span))
        return Span(start, start + len(item.relation.name)), window

    def _add(self, table: exp.Expression) -> None:
        if isinstance(table, exp.Subquery) and isinstance(table.this, exp.Table):
            self._fail("parentheses in FROM are not supported: write the names one after the other", table)
        if isinstance(table, exp.Subquery | exp.Select):
            self._fail("subqueries are not supported yet: write one SELECT", table)
        if isinstance(table, exp.Values):
            self._fail("VALUES is not supported: store constant rows with CREATE TABLE", table)
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            self._fail("expected the name of a stream or a table", table)
        for key, value in table.args.items():
            if value and key not in ("this", "alias"):
                word = _AFTER_NAMES.get(key, key.strip("_").upper())
                self._fail(f"expected only the name of a stream or a table, without {word}", table)
        if "alias" in table.args and table.args["alias"] is not None and table.args["alias"].columns:
            self._fail("an alias is a single name: rename columns in SELECT, with AS", table)
        written = table.this.name
        relation = self.relations.get(name_key(written))
        if relation is None:
            known = [each.name for each in self.relations.values()]
            self._fail(f"there is no stream or table {written!r}.{nearest(written, known)}", table.this)
        alias = table.alias or relation.name
        if any(name_key(item.alias) == name_key(alias) for item in self.items):
            self._fail(f"two items of FROM are named {alias!r}: rename one with AS", table)
        start = table.this.meta.get("start", -1)
        window, span = self.parsed.windows.get(start, (None, self.span))
        if window is not None and not isinstance(relation, StreamDef):
            self.text.fail(
                f"{relation.name} is a stored table and cannot have a window: it is read as a whole", span
            )
        self._starts[start] = alias
        self.items.append(FromItem(relation, alias, window))

    def _check_join(self, join: exp.Join) -> None:
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        method = str(join.args.get("method") or "").upper()
        if kind in ("SEMI", "ANTI"):
            self._fail(f"{kind} JOIN is not supported yet", join)
        if side or kind == "OUTER":
            self._fail(
                f"{side or kind} JOIN is not supported: outer joins are not implemented yet "
                "(only when the window has passed is it known that a row has no partner)",
                join,
            )
        if kind not in ("", "INNER", "CROSS"):
            self._fail(f"{kind} is not supported: write JOIN … ON …", join)
        if method == "NATURAL":
            self._fail("NATURAL JOIN is not supported: name the compared columns with ON", join)
        if join.args.get("using"):
            self._fail("USING is not supported: name the compared columns with ON a.x = b.x", join)
        for key, value in join.args.items():
            if value and key not in ("this", "on", "kind"):
                word = method or key.strip("_").upper()
                self._fail(f"{word} is not supported: write JOIN … ON …", join)

    # Expressions --------------------------------------------------------------------------------------------

    def _condition(self, tree: exp.Expression, word: str, checker: Checker) -> list[exp.Expression]:
        found = next(aggregates_in(tree), None)
        if found is not None:
            hint = ": a condition on groups is HAVING, and FILTER (WHERE …) is one on the rows of an aggregate"
            self._fail(f"{(name_of(found) or '').upper()} is an aggregate and cannot be in {word}{hint}", found)
        if any(item.window is not None and item.window.slide is not None for item in self.items):
            self.resolver.refuse_window_names(tree, f"in {word}")
        parts = list(conjuncts(tree))
        parts = [self.resolver.resolved(part) for part in parts]
        for part in parts:
            family = checker.family(part)
            if family not in ("truth", "null", "any"):
                self._fail(f"{word} needs a condition, but this is {called(family)}", part)
        return parts

    def _outputs(self, rows: Checker, grouping: Grouping | None) -> tuple[Output, ...]:
        if not self.parsed.tree.expressions:
            self.text.fail("a query needs a column between SELECT and FROM", self.span)
        checker = rows if grouping is None else grouping.checker
        outputs: list[Output] = []
        places: list[exp.Expression] = []
        for tree in self.parsed.tree.expressions:
            for name, expression in self._named(tree, grouping):
                family = checker.family(expression)
                if family in ("interval", "null"):
                    self._fail(_NO_COLUMN[family], tree)
                bare = expression.unnest()
                if bare.meta.get("field") and not isinstance(tree, exp.Alias):
                    name = bare.expressions[0].name  # as it was declared
                if grouping is not None:
                    expression = grouping.of_group(expression, tree)
                outputs.append(Output(name, expression))
                places.append(tree)
        seen: set[str] = set()
        for output, tree in zip(outputs, places, strict=True):
            if name_key(output.name) in seen:
                self._fail(f"two result columns are named {output.name!r}: rename one with AS", tree)
            if not output.name or len(output.name) > LONGEST_NAME or output.name.startswith("__"):
                self._fail(f"{output.name[:40]!r} cannot be a column name: name the column with AS", tree)
            seen.add(name_key(output.name))
        return tuple(outputs)

    def _named(self, tree: exp.Expression, grouping: Grouping | None) -> Iterator[tuple[str, exp.Expression]]:
        star = tree.this if isinstance(tree, exp.Column) else tree
        if isinstance(star, exp.Star):
            if any(value for value in star.args.values()):
                self._fail("write a star as * or p.*, with nothing after it", tree)
            table = tree.args.get("table") if isinstance(tree, exp.Column) else None
            places = range(len(self.items)) if table is None else (self.resolver.item(table),)
            for place in places:
                for column in self.items[place].relation.columns:
                    yield column.name, column_at(place, column.name)
            return
        span = span_of_node(tree, self.span)
        resolved = self.resolver.resolved if grouping is None else grouping.resolved
        expression = resolved(tree.this if isinstance(tree, exp.Alias) else tree)
        bare = expression.unnest()
        if isinstance(tree, exp.Alias):
            yield tree.alias, expression
        elif isinstance(bare, exp.Column) and (bare.table != GROUPED or bare.name in WINDOW_NAMES):
            yield bare.name, expression
        else:
            yield " ".join(self.text.content[span.start : span.stop].split()), expression

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self.text.fail(message, span_of_node(node, self.span))
