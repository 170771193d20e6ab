"""Binding of whole queries: UNION ALL, WITH and subqueries become derived streams.

The stream of a subquery or of a WITH name has a name that no script can write: `talkers.x` is the subquery `x` of
query `talkers`, `errors:x` that of stream `errors`, `talkers.union` the stream of the UNION ALL of `talkers`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NoReturn

from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.language.bind import BoundSelect, bound_select
from penstock.language.from_clause import Scope
from penstock.language.names import name_key
from penstock.language.resolve import column_at
from penstock.language.select import REFUSED_CLAUSES, ParsedQuery, span_of_node
from penstock.language.statements import FromItem, Output, QueryDef, Relation, StreamDef
from penstock.language.text import Span
from penstock.language.tokens import LONGEST_NAME
from penstock.language.union_columns import union_columns

MOST_NESTED = 8
"""Maximum depth of subqueries inside subqueries."""
_NO_SETS: dict[type[exp.Expression], str] = {
    exp.Union: "UNION is not supported: to remove repetitions, it would have to keep all rows. Write UNION ALL; "
    "SELECT DISTINCT over windows removes repetitions",
    exp.Except: "EXCEPT is not supported: a continuous query has no end at which rows are known to be missing",
    exp.Intersect: "INTERSECT is not supported: join the streams instead",
}
_NO_WITH = "WITH is supported only before the first SELECT of a query or of a subquery"
_NO_RECURSION = "recursive queries are not supported"


def bound_query(name: str, parsed: ParsedQuery, relations: Mapping[str, Relation], span: Span) -> QueryDef:
    """Resolve and check a query against the streams and tables declared before it."""
    composer = _Composer(parsed, ".")
    try:
        tree, within = composer.unwrapped(parsed.tree), _Within(relations)
        if isinstance(tree, exp.Select):
            [bound] = composer.branches(name, tree, within)
            return replace(bound.query, sql=parsed.sql, span=span)
        union = composer.free(f"{name}.union")
        stream = _stream(union, parsed, composer.branches(union, tree, within, name), parsed.span)
    except (RecursionError, SqlglotError):  # sqlglot's tokenizer turns a RecursionError into the second
        parsed.text.fail("this query is nested too deeply", span)
    outputs = tuple(Output(each.name, column_at(0, each.name)) for each in stream.columns)
    return QueryDef(name, (FromItem(stream, name),), (), outputs, parsed.sql, span)


def derived_stream(name: str, parsed: ParsedQuery, relations: Mapping[str, Relation], span: Span) -> StreamDef:
    """Return the stream of the results of a query."""
    composer = _Composer(parsed, ":")
    try:
        branches = composer.branches(name, parsed.tree, _Within(relations))
    except (RecursionError, SqlglotError):
        parsed.text.fail("this query is nested too deeply", parsed.span)
    return _stream(name, parsed, branches, span)


def _stream(name: str, parsed: ParsedQuery, branches: list[BoundSelect], span: Span) -> StreamDef:
    columns = union_columns(parsed.text, branches)
    return StreamDef(name, columns, "derived", {}, span, tuple(each.query for each in branches))


@dataclass(frozen=True)
class _Within:
    """What a query may name in its FROM, and how deep it is inside others."""

    relations: Mapping[str, Relation]
    unseen: Mapping[str, str] = field(default_factory=dict)
    depth: int = 0


class _Composer:
    """Binds the SELECTs of one statement."""

    def __init__(self, parsed: ParsedQuery, mark: str) -> None:
        self._parsed = parsed
        self._text = parsed.text
        self._mark = mark
        """Between the name of the statement and that of a subquery."""
        self._taken: set[str] = set()

    def branches(
        self, name: str, tree: exp.Expression, within: _Within, owner: str | None = None
    ) -> list[BoundSelect]:
        """Bind the SELECTs that UNION ALL connects; `owner` is the name before those of WITH, if it is another."""
        tree = self.unwrapped(tree)
        clause = tree.args.get("with_")
        before = ""
        if clause is not None:
            within = self._with_names(owner or name, clause, within)
            before = f"{self._text.content[clause.meta['start'] : clause.meta['end'] + 1]} "
        selects = self._selects(tree)
        bound = []
        for number, select in enumerate(selects, start=1):
            own = name if len(selects) == 1 else f"{name}#{number}"
            parsed = self._parsed.select(select)
            scope = Scope(within.relations, partial(self._subquery, own, within), within.unseen)
            sql = before + parsed.sql if number == 1 else parsed.sql
            bound.append(bound_select(own, parsed, scope, parsed.span, sql))
        return bound

    def stream(self, owner: str, alias: str, tree: exp.Expression, within: _Within, span: Span) -> StreamDef:
        """Return the anonymous stream of a part of the statement."""
        name = self.free(f"{owner}{self._mark}{alias}")
        return _stream(name, self._parsed, self.branches(name, tree, within), span)

    def unwrapped(self, tree: exp.Expression) -> exp.Expression:
        """Return a query without the parentheses around it."""
        while isinstance(tree, exp.Subquery):
            more = next((key for key, value in tree.args.items() if value and key not in ("this", "with_")), None)
            if more is not None:
                word = more.strip("_").upper()
                self._fail(REFUSED_CLAUSES.get(more, f"parentheses around a query cannot have {word}"), tree)
            if tree.args.get("with_") is not None:
                self._fail(_NO_WITH, tree.args["with_"])
            tree = tree.this
        return tree

    def _selects(self, tree: exp.Expression) -> list[exp.Select]:
        """Return the SELECTs that UNION ALL connects, from left to right."""
        found: list[exp.Select] = []
        pending = [tree]
        while pending:
            node = self.unwrapped(pending.pop())
            if node is not tree and node.args.get("with_") is not None:
                self._fail(_NO_WITH, node.args["with_"])
            if isinstance(node, exp.SetOperation):
                self._check_set(node)
                pending += [node.expression, node.this]
            elif isinstance(node, exp.Select):
                found.append(node)
            else:
                self._fail("expected SELECT", node)
        return found

    def _check_set(self, node: exp.SetOperation) -> None:
        start, stop = node.meta["word"]
        place = Span(start, stop)
        if not isinstance(node, exp.Union) or node.args.get("distinct"):
            self._text.fail(next(said for kind, said in _NO_SETS.items() if isinstance(node, kind)), place)
        for key, value in node.args.items():
            if value and key in ("by_name", "on", "side", "kind"):
                self._text.fail(
                    "UNION ALL takes columns by position: write it without BY NAME and the like", place
                )
            if value and key not in ("this", "expression", "distinct", "with_"):
                last = next(each for each in [*node.find_all(exp.Select)][::-1] if "select" in each.meta)
                self._parsed.refuse(key, self._parsed.outline.selects[last.meta["select"]])

    def _subquery(self, owner: str, within: _Within, subquery: exp.Subquery, alias: str) -> StreamDef:
        start = subquery.meta["start"]
        span = Span(start, self._parsed.outline.closing[start] + 1)
        self._check_name(alias, "the alias of a subquery", span_of_node(subquery.args["alias"], span))
        return self.stream(owner, alias, subquery.this, self._deeper(within, span), span)

    def _with_names(self, owner: str, clause: exp.With, within: _Within) -> _Within:
        """Return what may be named behind WITH; its queries are bound one after the other."""
        for key in ("recursive", "search", "cycle", "udfs"):
            if clause.args.get(key):
                self._fail(f"WITH {key.upper()} is not supported: {_NO_RECURSION}", clause)
        relations, unseen = dict(within.relations), dict(within.unseen)
        seen: set[str] = set()
        names = {name_key(each.alias): each.alias for each in clause.expressions}
        unseen.update({key: f"{name} comes later in WITH: write it first" for key, name in names.items()})
        for each in clause.expressions:
            key = name_key(each.alias)
            self._check_with_name(each, seen)
            seen.add(key)
            unseen[key] = f"{each.alias} cannot read itself: {_NO_RECURSION}"
            span = span_of_node(each.args["alias"], self._parsed.span)
            inner = self._deeper(replace(within, relations=relations, unseen=unseen), span)
            relations[key] = self.stream(owner, each.alias, each.this, inner, span)
        return replace(within, relations=relations, unseen=unseen)

    def _check_with_name(self, each: exp.CTE, seen: set[str]) -> None:
        alias = each.args["alias"]
        span = span_of_node(alias, self._parsed.span)
        self._check_name(each.alias, "a name of WITH", span)
        if name_key(each.alias) in seen:
            self._text.fail(f"WITH has two queries named {each.alias!r}", span)
        if alias.columns:
            self._text.fail("a name of WITH has no list of columns: rename columns in SELECT, with AS", span)
        more = next(
            (key for key, value in each.args.items() if value is not None and key not in ("this", "alias")), None
        )
        if more is not None:
            self._text.fail(f"{more.replace('_', ' ').upper()} is not supported in WITH", span)
        if not isinstance(each.this, exp.Select | exp.SetOperation | exp.Subquery):
            self._text.fail(f"expected a SELECT in parentheses after {each.alias} AS", span)

    def _check_name(self, name: str, what: str, span: Span) -> None:
        plain = name.replace("_", "a").isalnum() and not name[0].isdigit() and not name.startswith("__")
        if len(name.encode()) > LONGEST_NAME:
            self._text.fail(f"{what} is too long: at most {LONGEST_NAME} bytes", span)
        if not plain:
            self._text.fail(f"{name[:40]!r} cannot be {what}: write letters, digits and _, a letter first", span)

    def _deeper(self, within: _Within, span: Span) -> _Within:
        if within.depth >= MOST_NESTED:
            self._text.fail(f"subqueries are nested too deeply: at most {MOST_NESTED} levels", span)
        return replace(within, depth=within.depth + 1)

    def free(self, name: str) -> str:
        """Return the name, with a number if it is taken: a subquery may have the name of one of WITH."""
        found, number = name, 1
        while name_key(found) in self._taken:
            number += 1
            found = f"{name} ({number})"
        self._taken.add(name_key(found))
        return found

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._parsed.span))
