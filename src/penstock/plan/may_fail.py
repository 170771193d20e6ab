"""Which expressions can fail at run time: in ANSI mode, Spark fails on overflow, division by zero, a bad cast."""

from sqlglot import exp

from penstock.language.functions import FUNCTIONS

_MAY_FAIL = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
"""Operations that can fail: a number can be too large, or divided by zero."""


def may_fail(tree: exp.Expression) -> bool:
    """Return whether the evaluation of an expression can fail."""
    return any(
        isinstance(node, _MAY_FAIL) or _is_risky_cast(node) or _is_risky_call(node) or _is_element(node)
        for node in tree.walk()
    )


def _is_risky_cast(node: exp.Expr) -> bool:
    plain = isinstance(node, exp.Cast) and not isinstance(node, exp.TryCast)
    return plain and not isinstance(node.this, exp.Literal)


def _is_risky_call(node: exp.Expr) -> bool:
    return (
        isinstance(node, exp.Anonymous) and node.name.lower() in FUNCTIONS and FUNCTIONS[node.name.lower()].fails
    )


def _is_element(node: exp.Expr) -> bool:
    """Return whether it is an element of an array, which may not exist; a name gives a field or NULL."""
    return isinstance(node, exp.Bracket) and not node.expressions[0].is_string
