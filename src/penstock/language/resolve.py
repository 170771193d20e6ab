"""Name resolution in expressions: columns, fields of structs, variables of lambdas.

A column gets its place in FROM. A field, as in ``id.orig_h``, becomes ``id['orig_h']``, which cannot be mistaken
for a column of an alias `id`. The variable of a lambda gets a name that no column can have.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn, TypeVar

from sqlglot import exp

from penstock.errors import nearest
from penstock.language.aggregates import bare_name, parts_in
from penstock.language.names import name_key, quoted
from penstock.language.select import span_of_node
from penstock.language.statements import GROUPED, WINDOW_END, WINDOW_START, FromItem
from penstock.language.text import Span, Text

E = TypeVar("E", bound=exp.Expression)
MOST_DEPTH = 100
WINDOW_NAMES = (WINDOW_START, WINDOW_END)
OF_GROUP = "of_group"
"""Marks, in the meta of a column, that it is one of a group of rows and needs no resolution."""
_VARIABLE = "__v{}"
_Scope = Mapping[str, str]
"""The variables of the lambdas around an expression: from written name to new name."""


def column_at(place: int, name: str) -> exp.Column:
    """Return the column of the item at that place in FROM."""
    return _column(name, f"f{place}")


def column_of_group(name: str, written: exp.Expression) -> exp.Column:
    """Return a column of a group of rows, in place of what was written."""
    made = placed(_column(name, GROUPED), written)
    made.meta[OF_GROUP] = True
    return made


def _column(name: str, table: str) -> exp.Column:
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=exp.to_identifier(table))


class Resolver:
    """Resolves the names of one query."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span) -> None:
        self._text = text
        self._items = items
        self._span = span

    def resolved(self, tree: exp.Expression) -> exp.Expression:
        """Return the expression with all names resolved; the tree is changed in place."""
        root = tree
        pending: list[tuple[exp.Expression, int, _Scope, int]] = [(tree, 1, {}, 0)]
        while pending:
            node, depth, scope, variables = pending.pop()
            if depth > MOST_DEPTH:
                self._fail(f"this is nested too deeply: at most {MOST_DEPTH} levels", root)
            self._refuse_subquery(node)
            if isinstance(node, exp.Anonymous):
                node.set("this", node.name.upper())  # calls that differ in case alone are equal
            replaced = self._replaced(node, scope)
            if replaced is not node:
                node.replace(replaced)
                root = replaced if node is root else root
            if isinstance(replaced, exp.Column | exp.Identifier):
                continue
            if isinstance(replaced, exp.Lambda):
                scope = _with_variables(replaced, scope, variables)
                pending.append((replaced.this, depth + 1, scope, variables + len(replaced.expressions)))
                continue
            if isinstance(node, exp.Column):  # a field of a column, already resolved
                continue
            for child in replaced.iter_expressions(reverse=True):
                chained = isinstance(replaced, exp.Connector) and isinstance(child, exp.Connector)
                deeper = depth if chained else depth + 1  # AND after AND adds no depth
                pending.append((child, deeper, scope, variables))
        return root

    def _quoted_hint(self, written: str) -> str:
        """Return a hint if a column has the name that was written without backticks."""
        for item in self._items:
            column = item.relation.column(written)
            if column is not None:
                return f" There is a column {column.name!r}: write it in backticks, {quoted(column.name)}"
        return ""

    def item(self, table: exp.Identifier) -> int:
        """Return the place in FROM of the item with this name."""
        place = self._place(table.name)
        if place is None:
            known = [item.alias for item in self._items]
            self._fail(f"nothing in FROM is named {table.name!r}.{nearest(table.name, known)}", table)
        return place

    def refuse_window_names(self, tree: exp.Expression, where: str) -> None:
        """Fail if an expression names the beginning or the end of the window, and FROM has no such column."""
        for node, hidden in parts_in(tree):
            name = bare_name(node)
            if name in WINDOW_NAMES and name not in hidden and not self.has_column(name):
                self._fail(
                    f"{name} cannot be {where}: a row may be in several windows. It can be in SELECT and HAVING",
                    node,
                )

    def has_column(self, name: str) -> bool:
        """Return whether an item of FROM has a column of this name."""
        return any(item.relation.column(name) is not None for item in self._items)

    def _replaced(self, node: exp.Expression, scope: _Scope) -> exp.Expression:
        if isinstance(node, exp.Column):
            return node if node.meta.get(OF_GROUP) else self._column(node, scope)
        if isinstance(node, exp.Identifier) and name_key(node.name) in scope:
            return placed(exp.Identifier(this=scope[name_key(node.name)]), node)
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
            return _field(node.this, node.expression, node)
        if isinstance(node, exp.Exists):
            return placed(exp.Anonymous(this="exists", expressions=[node.this, node.expression]), node)
        return node

    def _refuse_subquery(self, node: exp.Expression) -> None:
        if isinstance(node, exp.Subquery | exp.Select | exp.SetOperation):
            while "start" not in node.meta and isinstance(node.parent, exp.Expression):
                node = node.parent
            self._fail("a subquery can only be in FROM: join with FROM (SELECT …) AS x", node)

    def _column(self, column: exp.Column, scope: _Scope) -> exp.Expression:
        """Return the column of a name, or a field of it: aliases are tried before columns, as in Spark."""
        if isinstance(column.this, exp.Star):
            self._fail("a star can only be an item of SELECT", column)
        if column.args.get("join_mark"):
            self._fail("write a column as name or alias.name", column)
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        first = name_key(parts[0].name)
        if first in scope:
            made: exp.Expression = exp.Identifier(this=scope[first])
            fields = parts[1:]
        else:
            place, name, fields = self._found(column, parts)
            made = column_at(place, name)
        placed(made, column if not fields else parts[len(parts) - len(fields) - 1])
        for field in fields:
            made = _field(made, field, column)
        return made

    def _found(self, column: exp.Column, parts: list[exp.Identifier]) -> tuple[int, str, list[exp.Identifier]]:
        """Return place and name of the column that these names begin with, and the fields that follow it."""
        place = self._place(parts[0].name) if len(parts) > 1 else None
        if place is not None:
            found = self._items[place].relation.column(parts[1].name)
            if found is not None:
                return place, found.name, parts[2:]
        holders = [i for i, item in enumerate(self._items) if item.relation.column(parts[0].name) is not None]
        if not holders:
            if place is not None:
                self._fail_column(column, parts[1].name, [self._items[place]])
            if len(parts) > 1:
                known = [item.alias for item in self._items]
                structs = [
                    each.name for item in self._items for each in item.relation.columns if each.type.is_nested
                ]
                hint = self._quoted_hint(".".join(part.name for part in parts)) or nearest(
                    parts[0].name, known + structs
                )
                self._fail(f"nothing in FROM is named {parts[0].name!r}.{hint}", parts[0])
            self._fail_column(column, column.name, self._items)
        if len(holders) > 1:
            names = " and ".join(self._items[i].alias for i in holders)
            alias, name = self._items[holders[0]].alias, parts[0].name
            self._fail(f"column {name!r} is in {names}: write {alias}.{name}, for example", column)
        found = self._items[holders[0]].relation.column(parts[0].name)
        assert found is not None
        return holders[0], found.name, parts[1:]

    def _place(self, alias: str) -> int | None:
        places = (place for place, item in enumerate(self._items) if name_key(item.alias) == name_key(alias))
        return next(places, None)

    def _fail_column(self, column: exp.Column, name: str, items: Sequence[FromItem]) -> NoReturn:
        known = [each.name for item in items for each in item.relation.columns]
        where = " or ".join(item.relation.name for item in items)
        hint = nearest(name, known)
        if name_key(name) in WINDOW_NAMES:
            hint = " A query with aggregates has it, without an alias before it, in SELECT and HAVING"
        self._fail(f"there is no column {name!r} in {where}.{hint}", column)

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def _with_variables(node: exp.Lambda, scope: _Scope, bound: int) -> _Scope:
    """Rename the variables of a lambda by their depth, so that equal lambdas become equal trees."""
    names = {}
    for number, variable in enumerate(node.expressions, start=bound):
        names[name_key(variable.name)] = _VARIABLE.format(number)
        variable.set("this", _VARIABLE.format(number))
    return {**scope, **names}


def _field(of: exp.Expression, name: exp.Identifier, whole: exp.Expression) -> exp.Bracket:
    index = placed(exp.Literal.string(name.name), name)
    made = placed(exp.Bracket(this=of, expressions=[index]), whole)
    made.meta["field"] = True
    return made


def placed(made: E, read: exp.Expression) -> E:
    """Return the new node with the place in the text of the one that it replaces."""
    places = [each.meta for each in read.walk() if "start" in each.meta]
    if places:
        made.meta.update(start=min(each["start"] for each in places), end=max(each["end"] for each in places))
    return made
