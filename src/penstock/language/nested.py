"""Full types of expressions that are arrays, maps or structs, or parts of them."""

from collections.abc import Callable, Iterable

from sqlglot import exp

from penstock.language.functions import FUNCTIONS
from penstock.language.names import name_key
from penstock.language.types import ColumnType

Known = Callable[[exp.Expression], ColumnType]
"""Returns the type of a column, or of the variable of a lambda."""


def field_of(struct: ColumnType, name: str) -> str | None:
    """Return the declared name of a field, ignoring case; None if there is no such field."""
    return next((each for each in struct.fields if name_key(each) == name_key(name)), None)


def part_of(outer: ColumnType, index: exp.Expression) -> ColumnType | None:
    """Return the type of ``outer[index]``; None if there is no such part."""
    if outer.family == "struct":
        name = field_of(outer, index.name) if index.is_string else None
        return None if name is None else outer.fields[name]
    if outer.family == "map":
        return outer.element
    if outer.family != "array":
        return None
    if index.is_string:  # Spark takes the field of every element
        inner = part_of(outer.element, index) if outer.element.family == "struct" else None
        return None if inner is None else ColumnType.array(inner)
    return outer.element


def full_type(node: exp.Expression, known: Known) -> ColumnType | None:
    """Return the type of an expression if it follows from declarations alone, else None."""
    if isinstance(node, exp.Column | exp.Identifier):
        return known(node)
    if isinstance(node, exp.Paren):
        return full_type(node.this, known)
    if isinstance(node, exp.Bracket):
        outer = full_type(node.this, known)
        return None if outer is None or len(node.expressions) != 1 else part_of(outer, node.expressions[0])
    if isinstance(node, exp.If):
        return _first((node.args["true"], node.args.get("false")), known)
    if isinstance(node, exp.Case):
        return _first((*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")), known)
    if isinstance(node, exp.Anonymous) and node.name.lower() in FUNCTIONS:
        return _given(FUNCTIONS[node.name.lower()].gives, node.expressions, known)
    return None


def _given(gives: str, arguments: list[exp.Expression], known: Known) -> ColumnType | None:
    if "<" in gives:
        return ColumnType(gives)
    if gives == "same":
        return _first(arguments, known)
    first = full_type(arguments[0], known) if gives in ("first", "element", "keys", "values") else None
    if first is None or not first.is_nested:
        return None
    made = {
        "first": lambda: first,
        "element": lambda: first.element,
        "keys": lambda: ColumnType.array(first.key),
        "values": lambda: ColumnType.array(first.element),
    }
    return made[gives]()


def _first(nodes: Iterable[exp.Expression | None], known: Known) -> ColumnType | None:
    found = (full_type(node, known) for node in nodes if node is not None)
    return next((kind for kind in found if kind is not None), None)
