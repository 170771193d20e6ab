"""Why similar queries do not run as one group: the first difference between them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.language.dialect import DIALECT
from penstock.language.names import name_key
from penstock.language.statements import QueryDef
from penstock.plan.group import QUERY
from penstock.plan.template import QueryTemplate, Slots, Value


@dataclass(frozen=True)
class Difference:
    """Queries that are not in a group with others because of one difference."""

    queries: tuple[str, ...]
    like: tuple[str, ...]
    what: str
    here: str
    there: str


def differences(
    queries: Mapping[str, QueryDef], templates: Mapping[str, tuple[QueryTemplate, tuple[Value, ...]]]
) -> list[Difference]:
    """Return which queries differ from the largest set of similar ones in more than constants, and where first.

    >>> from penstock.language import Script
    >>> from penstock.plan.plan import Plan
    >>> plan = Plan.of(Script.parse('''
    ...     CREATE STREAM s (a INT, b INT) FROM poisson WITH (rate = 10);
    ...     CREATE QUERY q AS SELECT a FROM s WHERE b > 3;
    ...     CREATE QUERY r AS SELECT a FROM s WHERE b > 2.5;
    ... '''))
    >>> [(each.queries, each.what, each.here, each.there) for each in differences(plan.queries, plan.templates)]
    [(('r',), 'type of a constant', '2.5 is DECIMAL(2,1)', '3 is INT')]
    """
    alike: dict[object, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, query in queries.items():
        if name not in templates and not _names_query(query):
            continue  # a query without constants cannot be in a group
        template = templates[name][0].key if name in templates else f"alone {name}"
        alike[_outline(query)][template].append(name)
    found = []
    for by_template in alike.values():
        most, *others = sorted(by_template.values(), key=len, reverse=True)
        for names in others:
            first = _first_difference(queries[names[0]], queries[most[0]])
            if first is not None:
                found.append(Difference(tuple(names), tuple(most), *first))
    return found


def _outline(query: QueryDef) -> object:
    """Return the outline by which queries are similar: all but windows, constants and names of results."""
    return (
        tuple(item.relation.name for item in query.items),
        tuple(sorted(map(_shape, query.conditions))),
        tuple(_shape(output.expression) for output in query.outputs),
    )


def _shape(tree: exp.Expression) -> str:
    """Return an expression as text, with a question mark for every constant and every list of constants."""
    copy = tree.copy()
    for each in list(copy.find_all(exp.In)):
        if all(isinstance(_bare(value), exp.Literal) for value in each.expressions):
            each.set("expressions", [exp.Placeholder()])
    for literal in list(_constants(copy)):
        whole = literal.parent if isinstance(literal.parent, exp.Neg) else literal
        copy = exp.Placeholder() if whole is copy else copy
        whole.replace(exp.Placeholder())
    return DIALECT.generate(copy, copy=False, comments=False)


def _constants(tree: exp.Expression) -> Iterable[exp.Literal]:
    """Return the constants of an expression, without names of fields."""
    return (each for each in tree.find_all(exp.Literal) if not isinstance(each.parent, exp.Bracket))


def _bare(value: exp.Expression) -> exp.Expression:
    return value.this if isinstance(value, exp.Neg) else value


def _first_difference(query: QueryDef, other: QueryDef) -> tuple[str, str, str] | None:
    """Return the first difference of two queries of one outline, other than constants of the same types."""
    if query.scaled != other.scaled:
        return "option scaled", str(query.scaled).lower(), str(other.scaled).lower()
    for item, its_item in zip(query.items, other.items, strict=True):
        if item.window != its_item.window:
            return f"window of {item.relation.name}", str(item.window or "none"), str(its_item.window or "none")
    for output, its_output in zip(query.outputs, other.outputs, strict=True):
        if output.name != its_output.name:
            return "name of a result", output.name, its_output.name
    slots, others = Slots(query), Slots(other)
    for one, two in zip(_expressions(query), _expressions(other), strict=True):
        lists = [[len(each.expressions) for each in tree.find_all(exp.In)] for tree in (one, two)]
        if lists[0] != lists[1]:
            here, there = next(pair for pair in zip(*lists, strict=True) if pair[0] != pair[1])
            return "length of an IN list", f"{here} values", f"{there} values"
        for mine, its in zip(_constants(one), _constants(two), strict=True):
            kind, its_kind = slots.type_of(mine), others.type_of(its)
            if kind != its_kind:
                return "type of a constant", f"{mine.sql()} is {kind}", f"{its.sql()} is {its_kind}"
        if slots.opened(one).text != others.opened(two).text:
            return _fixed_constant(one, two)
    if _names_query(query):
        return "name of a result", f"{QUERY}, by which a group tells its queries apart", "the same"
    return None


def _names_query(query: QueryDef) -> bool:
    return any(name_key(output.name) == QUERY for output in query.outputs)


def _fixed_constant(one: exp.Expression, two: exp.Expression) -> tuple[str, str, str] | None:
    """Return the first different constant that belongs to the template: a pattern, an interval, an argument."""
    for mine, its in zip(_constants(one), _constants(two), strict=True):
        if mine != its:
            return "constant that is part of a function, a pattern or an interval", mine.sql(), its.sql()
    return None


def _expressions(query: QueryDef) -> Sequence[exp.Expression]:
    """Return conditions and outputs, in the same order for all queries of one outline."""
    conditions = sorted(query.conditions, key=lambda each: (_shape(each), each.sql()))
    return [*conditions, *(output.expression for output in query.outputs)]
