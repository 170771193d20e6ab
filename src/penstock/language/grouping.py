"""Binding of GROUP BY, HAVING and DISTINCT: expressions over the rows of FROM become expressions over groups.

A column of a group has the table `g`: a key is `k0`, …, an aggregate `a0`, …, and the window has two. The largest
part of an expression that equals a key becomes the key's column. No column of FROM may remain.
"""

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import exp

from penstock.language.aggregate_calls import NO_VALUE, Calls
from penstock.language.aggregates import UNSUPPORTED, aggregates_in, bare_name, name_of, parts_in, unsupported
from penstock.language.names import name_key
from penstock.language.resolve import WINDOW_NAMES, Resolver, column_of_group, placed
from penstock.language.select import Parsed, bare, conjuncts, forget_places, span_of_node
from penstock.language.statements import GROUPED, Aggregation, FromItem
from penstock.language.text import Span, Text
from penstock.language.type_check import Checker
from penstock.language.types import ColumnType, called
from penstock.language.values import is_whole

_FORMS: dict[type[exp.Expression], str] = {
    exp.Tuple: "write the columns of GROUP BY without parentheses around them: GROUP BY a, b",
    exp.Star: "write the columns of GROUP BY by name: it has no star",
}
_SETS = {"rollup": exp.Rollup, "cube": exp.Cube, "grouping_sets": exp.GroupingSets}
_CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)


def grouped_by(parsed: Parsed, span: Span) -> tuple[str, Span] | None:
    """Return what makes a SELECT one of groups, an aggregate or a keyword, and its place; None if nothing does."""
    for item in parsed.tree.expressions:
        for node in aggregates_in(item):
            name, place = name_of(node) or "", span_of_node(node, span)
            if name in UNSUPPORTED:
                parsed.text.fail(unsupported(name), place)
            return name.upper(), place
    for word, clause in (("DISTINCT", "distinct"), ("GROUP BY", "group"), ("HAVING", "having")):
        if parsed.tree.args.get(clause) is not None:
            return word, parsed.clauses.get(word, span)
    return None


class GroupChecker(Checker):
    """Checks expressions with columns of FROM and of groups."""

    def __init__(self, text: Text, items: Sequence[FromItem], span: Span, types: dict[str, ColumnType]) -> None:
        super().__init__(text, items, span)
        self._types = types

    def declared(self, node: exp.Expression) -> ColumnType:
        """Return the type of a column of FROM or of a group."""
        if not _is_of_group(node):
            return super().declared(node)
        return ColumnType("TIMESTAMP") if node.name in WINDOW_NAMES else self._types[node.name]


class Grouping:
    """The groups of one query: its keys, aggregates and HAVING."""

    def __init__(
        self, parsed: Parsed, items: Sequence[FromItem], resolver: Resolver, checker: Checker, span: Span
    ) -> None:
        self._text, self._tree, self._span = parsed.text, parsed.tree, span
        self._clauses = parsed.clauses
        self._resolver = resolver
        self._calls = Calls(parsed.text, resolver, checker, span)
        self.checker = GroupChecker(parsed.text, items, span, self._calls.types)
        self._keys: dict[exp.Expression, str] = {}
        self._is_distinct = bool(self._tree.args.get("distinct"))
        aliased = [each for each in self._tree.expressions if isinstance(each, exp.Alias)]
        self._aliases: dict[str, exp.Expression] = {name_key(each.alias): each.this for each in reversed(aliased)}
        self._window_names = {name for name in WINDOW_NAMES if not resolver.has_column(name)}
        self._check_clauses()
        group = self._tree.args.get("group")
        for written in group.expressions if group is not None else ():
            self._read_key(written)
        if not self._is_distinct:
            used = {name_key(each.name) for key in self._keys for each in key.find_all(exp.Column)}
            self._window_names = {name for name in WINDOW_NAMES if name not in used or name in self._window_names}
        having = self._tree.args.get("having")
        self._having = [] if having is None else list(conjuncts(self._with_aliases(having.this)))

    # What binding needs -------------------------------------------------------------------------------------

    def resolved(self, tree: exp.Expression) -> exp.Expression:
        """Return an expression over the columns of FROM, with aggregates and the window as columns of groups."""
        root = tree
        for node, hidden in list(parts_in(tree)):
            if isinstance(node, exp.Window):
                self._fail("OVER is not supported: window functions are not implemented yet", node)
            name = bare_name(node)
            if name_of(node) is not None:
                if hidden:
                    self._fail("an aggregate cannot be inside a condition on elements, x -> …", node)
                made = self._calls.column(node)
            elif name in self._window_names and name not in hidden:
                made = column_of_group(name, node)
            else:
                continue
            node.replace(made)
            root = made if node is root else root
        return self._resolver.resolved(root)

    def of_group(self, tree: exp.Expression, written: exp.Expression) -> exp.Expression:
        """Return a resolved expression of SELECT or HAVING over columns of groups alone."""
        if self._is_distinct:
            self._add_key(tree, written, "DISTINCT")
        root = tree
        pending = [tree]
        while pending:
            node = pending.pop()
            if _is_of_group(node):
                continue
            if node in self._keys:
                made = column_of_group(self._keys[node], node)
                node.replace(made)
                root = made if node is root else root
                continue
            if isinstance(node, exp.Column):
                self._fail_ungrouped(node, written)
            pending.extend(node.iter_expressions(reverse=True))
        return root

    def aggregation(self) -> Aggregation:
        """Return keys, aggregates and HAVING; call it when all of SELECT is bound."""
        having = []
        for part in self._having:
            tree = self.resolved(part)
            family = self.checker.family(tree)
            if family not in ("truth", "null", "any"):
                self._fail(f"HAVING needs a condition, but this is {called(family)}", tree)
            having.append(self.of_group(tree, tree))
        calls = self._calls.calls
        inside = [tree for call in calls for tree in (*call.arguments, call.condition) if tree is not None]
        forget_places([*self._keys, *inside, *having])
        return Aggregation(tuple(self._keys), calls, tuple(having))

    # Clauses ------------------------------------------------------------------------------------------------

    def _check_clauses(self) -> None:
        distinct, group = self._tree.args.get("distinct"), self._tree.args.get("group")
        if distinct is not None and distinct.args.get("on") is not None:
            self._fail_clause(
                "DISTINCT", "DISTINCT ON is not supported: GROUP BY its columns, and write first(x) for the others"
            )
        others = [next(iter(aggregates_in(each)), None) for each in self._tree.expressions]
        if self._is_distinct and (group or self._tree.args.get("having") or any(others)):
            self._fail_clause(
                "DISTINCT",
                "DISTINCT is not supported with aggregates, GROUP BY or HAVING: GROUP BY returns each group once",
            )
        for item in self._tree.expressions:
            if not self._is_distinct and _is_star(item):
                self._fail("a star cannot be selected with aggregates or GROUP BY: name the columns", item)
        if group is None:
            return
        if group.args.get("all") is not None:
            word = "ALL" if group.args["all"] else "DISTINCT"
            self._fail_clause("GROUP BY", f"GROUP BY {word} is not supported: write GROUP BY and the columns")
        for form in (*group.expressions, *(form for key in _SETS for form in group.args.get(key) or ())):
            if type(form) in _SETS.values():
                word = next(key for key, kind in _SETS.items() if kind is type(form)).replace("_", " ").upper()
                self._fail_clause(word, f"{word} is not supported yet: write one query for each grouping")
        if group.args.get("totals"):
            self._fail_clause("GROUP BY", "WITH TOTALS is not supported")
        if not group.expressions:
            self._fail_clause("GROUP BY", "something is missing after this")

    def _read_key(self, written: exp.Expression) -> None:
        tree = bare(written)
        if type(tree) in _FORMS:
            self._fail(_FORMS[type(tree)], written)
        chosen = self._chosen(tree)
        inner = next(aggregates_in(chosen), None)
        if inner is not None:
            self._fail(f"{(name_of(inner) or '').upper()} is an aggregate and cannot be in GROUP BY", written)
        self._add_key(self.resolved(chosen), written, "GROUP BY")

    def _chosen(self, tree: exp.Expression) -> exp.Expression:
        """Return what a position or an alias in GROUP BY means, and any other expression as it is."""
        number = tree.this if isinstance(tree, exp.Neg) else tree
        if isinstance(number, exp.Literal) and not number.is_string and is_whole(number.name):
            count = len(self._tree.expressions)
            position = int(number.name)
            if number is not tree or not 1 <= position <= count:
                self._fail(f"a position in GROUP BY is a number from 1 to {count}, the columns of SELECT", tree)
            item: exp.Expression = self._tree.expressions[position - 1]
            chosen: exp.Expression = item.this if isinstance(item, exp.Alias) else item
            return chosen.copy()
        if isinstance(tree, _CONSTANTS):
            self._fail("this is a constant, which groups nothing: write a column, or leave it out", tree)
        name = bare_name(tree)
        if name in self._aliases and not self._resolver.has_column(name):
            return self._aliases[name].copy()
        return tree

    def _add_key(self, tree: exp.Expression, written: exp.Expression, word: str) -> None:
        """Make an expression a key. One that is the same in all rows of a window is none."""
        expression = bare(tree)
        family = self.checker.family(expression)
        columns = list(expression.find_all(exp.Column))
        if all(map(_is_of_group, columns)):
            return
        if any(map(_is_of_group, columns)):
            self._fail(f"{word} cannot mix columns with window_start or window_end in one expression", written)
        if family in NO_VALUE:
            self._fail(NO_VALUE[family], written)
        if family in ("array", "map", "struct"):
            self._fail(f"{word} needs simple values, but this is {called(family)}", written)
        self._keys.setdefault(expression.copy(), f"k{len(self._keys)}")

    def _with_aliases(self, tree: exp.Expression) -> exp.Expression:
        """Replace the names of result columns in HAVING by what they stand for."""
        root = tree
        for node, hidden in list(parts_in(tree)):
            name = bare_name(node)
            if name is None or name in hidden or name not in self._aliases:
                continue
            alias = self._aliases[name]
            if any(isinstance(key, exp.Column) and name_key(key.name) == name for key in self._keys):
                if not isinstance(alias, exp.Column) or name_key(alias.name) != name:
                    self._fail(
                        f"{node.name!r} is a column of GROUP BY and another in SELECT: rename that one",
                        node,
                    )
                continue
            simple = isinstance(alias, exp.Column | exp.Anonymous)
            made: exp.Expression = alias.copy() if simple else exp.Paren(this=alias.copy())
            forget_places([made])
            placed(made, node)
            node.replace(made)
            root = made if node is root else root
        return root

    # Errors -------------------------------------------------------------------------------------------------

    def _fail_ungrouped(self, column: exp.Column, written: exp.Expression) -> NoReturn:
        span = span_of_node(column, self._span)
        known = "start" in column.meta
        name = self._text.content[span.start : span.stop] if known else column.name
        example = "first" if self.checker.family(column) in ("array", "map", "struct") else "max"
        self._fail(
            f"column {name} is neither in GROUP BY nor inside an aggregate: add it to GROUP BY, or write "
            f"{example}({name}), for example",
            column if known else written,
        )

    def _fail_clause(self, word: str, message: str) -> NoReturn:
        self._text.fail(message, self._clauses.get(word, self._span))

    def _fail(self, message: str, node: exp.Expression) -> NoReturn:
        self._text.fail(message, span_of_node(node, self._span))


def _is_of_group(node: exp.Expression) -> bool:
    return isinstance(node, exp.Column) and node.table == GROUPED


def _is_star(item: exp.Expression) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
