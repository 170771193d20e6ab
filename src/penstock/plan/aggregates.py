"""How aggregates are kept: as parts that are computed from rows, merged from other parts, and made into a result.

The parts depend on the types of the arguments. All is SQL of Spark. Integers and decimals are exact in any order:
the sum of BIGINT is kept as two sums, of the upper and the lower 32 bits, so that it cannot overflow before the
end. Variances are kept as count, mean and sum of squared deviations, which Chan, Golub and LeVeque (1979) merge.

A scaled count, sum or average also keeps what the rows count for dropped ones, in a part of its own. That is NULL
where nothing was dropped, so the result is that of the rows alone. For integers and decimals it is exact in any
order, too: what a row adds is rounded before it is added.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.language.names import quoted
from penstock.plan.steps import EXTRA, TIME, Call, seq

_SMALL = ("TINYINT", "SMALLINT", "INT")
_FLOATING = ("FLOAT", "DOUBLE")
_SKETCHED = ("INT", "BIGINT", "STRING", "BINARY")
"""Types that Spark's sketch takes as they are."""
_LOW_BITS = "4294967295L"
_MOST_DIGITS = 38
_EXTRA_DIGITS = 6
"""Digits after the point of what a row counts for dropped ones."""
_DIGITS_OF_COUNTS = 10
"""Digits that a sum needs before the point in addition to those of its values."""


@dataclass(frozen=True)
class Part:
    """A column in which an aggregate is kept: computed from rows (`made`), and from rows of parts (`merged`)."""

    name: str
    made: str
    merged: str


@dataclass(frozen=True)
class Kept:
    """The parts of an aggregate, and its result, computed from merged parts."""

    parts: tuple[Part, ...]
    result: str


def kept(call: Call, types: Sequence[str]) -> Kept:
    """Return how an aggregate of arguments of these types is kept.

    >>> each = kept(Call("avg", ("`x`",)), ["INT"])
    >>> [part.made for part in each.parts]
    ['sum(CAST(`x` AS BIGINT))', 'count(`x`)']
    """
    return (_SCALED if call.scaled else _RULES)[call.function](_Parts(call, types))


class _Parts:
    """Makes the parts of one aggregate."""

    def __init__(self, call: Call, types: Sequence[str]) -> None:
        self.call = call
        self.arguments = tuple(map(_operand, call.arguments))
        self.types = types

    def made(self, aggregate: str, also: str | None = None) -> str:
        """Return an aggregate of the rows that FILTER and another condition let pass."""
        conditions = [f"({each})" for each in (also, self.call.condition) if each]
        return f"{aggregate} FILTER (WHERE {' AND '.join(conditions)})" if conditions else aggregate

    def part(self, suffix: str, made: str, merged: str, also: str | None = None) -> Part:
        """Return a part; in `merged`, {} is its column."""
        name = f"{self.call.name}{suffix}"
        return Part(name, self.made(made, also), merged.format(quoted(name)))

    def column(self, suffix: str) -> str:
        """Return the column of a part."""
        return quoted(f"{self.call.name}{suffix}")

    @property
    def order(self) -> tuple[str, str, str]:
        """The order of the rows of a stream; of several rows with a stored table, that of their values."""
        return TIME, seq(0), self.arguments[0]


def _operand(argument: str) -> str:
    """Return an argument as a part of an expression: in parentheses, but for a column."""
    is_column = argument.startswith("`") and argument.count("`") == 2 and argument.endswith("`")
    return argument if is_column else f"({argument})"


def _count(of: _Parts) -> Kept:
    counted = of.part("_n", f"count({of.arguments[0] if of.arguments else '1'})", "sum({})")
    return Kept((counted,), f"coalesce({of.column('_n')}, 0L)")


def _scaled_count(of: _Parts) -> Kept:
    plain, extra = _count(of), _extra_count(of)
    return Kept((*plain.parts, extra), _rounded(plain.result, of.column("_en")))


def _extra_count(of: _Parts) -> Part:
    known = f"{EXTRA} > 0" + (f" AND {of.arguments[0]} IS NOT NULL" if of.arguments else "")
    return of.part("_en", f"sum(CAST({EXTRA} AS {_extra_type()}))", "sum({})", known)


def _extra_sum(of: _Parts) -> Part:
    kind, value = of.types[0], of.arguments[0]
    if kind in _FLOATING:
        made = f"CAST({value} AS DOUBLE) * CAST({EXTRA} AS DOUBLE)"
    else:
        value = f"CAST({value} AS DECIMAL(19, 0))" if kind in (*_SMALL, "BIGINT") else value
        made = f"CAST({value} * {EXTRA} AS {_extra_type(kind)})"
    return of.part("_es", f"sum({made})", "sum({})", f"{EXTRA} > 0")


def _extra_type(kind: str = "") -> str:
    """Return the type of extra values and of their sum: all digits after the point, if those before leave room."""
    digits, scale = _decimal(kind) if kind.startswith("DECIMAL") else (0, 0)
    room = _MOST_DIGITS - (digits - scale) - _DIGITS_OF_COUNTS
    return f"DECIMAL({_MOST_DIGITS}, {max(min(scale + _EXTRA_DIGITS, room), _EXTRA_DIGITS)})"


def _rounded(total: str, extra: str) -> str:
    """Return a total with what dropped rows would have added, as BIGINT."""
    return f"CAST(round({total} + coalesce({extra}, 0)) AS BIGINT)"


def _scaled_sum(of: _Parts) -> Kept:
    plain, extra = _sum(of), _extra_sum(of)
    kind = of.types[0]
    if kind in (*_SMALL, "BIGINT"):
        return Kept((*plain.parts, extra), _rounded(_total(of), of.column("_es")))
    both = f"{plain.result} + {of.column('_es')}"
    if kind not in _FLOATING:
        both = f"CAST({both} AS {_sum_type(kind)})"
    return Kept((*plain.parts, extra), f"coalesce({both}, {plain.result})")


def _scaled_avg(of: _Parts) -> Kept:
    plain, kind = _avg(of), of.types[0]
    total, number = _total(of), f"({of.column('_n')} + {of.column('_en')})"
    if kind.startswith("DECIMAL"):
        scaled = f"CAST(({total} + {of.column('_es')}) / {number} AS {_avg_type(kind)})"
    else:
        total, number, extra = (f"CAST({each} AS DOUBLE)" for each in (total, number, of.column("_es")))
        scaled = f"({total} + {extra}) / {number}"
    result = f"CASE WHEN {of.column('_en')} IS NULL THEN {plain.result} ELSE {scaled} END"
    return Kept((*plain.parts, _extra_sum(of), _extra_count(of)), result)


def _sum(of: _Parts) -> Kept:
    kind, value = of.types[0], of.arguments[0]
    if kind in _SMALL:
        return Kept((of.part("_s", f"sum(CAST({value} AS BIGINT))", "sum({})"),), of.column("_s"))
    if kind == "BIGINT":
        high = of.part("_h", f"sum(shiftright({value}, 32))", "sum({})")
        low = of.part("_l", f"sum({value} & {_LOW_BITS})", "sum({})")
        return Kept((high, low), f"CAST({_wide(of)} AS BIGINT)")
    if kind in _FLOATING:
        return Kept((of.part("_s", f"sum(CAST({value} AS DOUBLE))", "sum({})"),), of.column("_s"))
    return Kept((of.part("_s", f"sum({value})", f"CAST(sum({{}}) AS {_sum_type(kind)})"),), of.column("_s"))


def _sum_type(kind: str) -> str:
    """Return the type that Spark gives the sum of decimals."""
    digits, scale = _decimal(kind)
    return f"DECIMAL({min(digits + 10, _MOST_DIGITS)}, {scale})"


def _avg_type(kind: str) -> str:
    """Return the type that Spark gives the average of decimals."""
    digits, scale = (min(each + 4, _MOST_DIGITS) for each in _decimal(kind))
    return f"DECIMAL({digits}, {scale})"


def _total(of: _Parts) -> str:
    """Return the sum of the values, not cast to their type."""
    return _wide(of) if of.types[0] == "BIGINT" else of.column("_s")


def _wide(of: _Parts) -> str:
    """Return the sum of BIGINT as a decimal."""
    high, low = (f"CAST({of.column(each)} AS DECIMAL(19, 0))" for each in ("_h", "_l"))
    return f"({high} * 4294967296BD + {low})"


def _avg(of: _Parts) -> Kept:
    kind, summed = of.types[0], _sum(of)
    count = of.part("_n", f"count({of.arguments[0]})", "sum({})")
    number = f"nullif({of.column('_n')}, 0L)"
    if kind.startswith("DECIMAL"):
        result = f"CAST({_total(of)} / CAST({number} AS DECIMAL(20, 0)) AS {_avg_type(kind)})"
    else:
        result = f"CAST({_total(of)} AS DOUBLE) / {number}"
    return Kept((*summed.parts, count), result)


def _extreme(of: _Parts) -> Kept:
    name = of.call.function
    return Kept((of.part("_x", f"{name}({of.arguments[0]})", f"{name}({{}})"),), of.column("_x"))


def _deviation(of: _Parts) -> Kept:
    value = f"CAST({of.arguments[0]} AS DOUBLE)"
    parts = f"'n', CAST({of.made(f'count({value})')} AS DOUBLE), 'mean', {of.made(f'avg({value})')}, "
    parts += f"'m2', {of.made(f'var_pop({value})')} * {of.made(f'count({value})')}"
    both = "a.n + b.n, 'mean', a.mean + (b.mean - a.mean) * b.n / (a.n + b.n), "
    both += "'m2', a.m2 + b.m2 + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / (a.n + b.n)"
    merged = (
        "aggregate(filter(collect_list({}), x -> x.n > 0D), named_struct('n', 0D, 'mean', 0D, 'm2', 0D), "
        f"(a, b) -> named_struct('n', {both}))"
    )
    column = of.column("_v")
    part = Part(f"{of.call.name}_v", f"named_struct({parts})", merged.format(column))
    less = 1 if of.call.function.endswith("_samp") else 0
    variance = f"CASE WHEN {column}.n > {less}D THEN {column}.m2 / ({column}.n - {less}D) END"
    return Kept((part,), f"sqrt({variance})" if of.call.function.startswith("stddev") else variance)


def _chosen(of: _Parts) -> Kept:
    """Keep the value of the row with the smallest or the largest key, the earliest of several such rows."""
    least = of.call.function == "min_by"
    key = of.arguments[1]
    rest = of.order if least else (f"-{TIME}", f"-{seq(0)}", of.arguments[0])
    return _by_order(of, "min" if least else "max", _struct(key, *rest), f"{key} IS NOT NULL")


def _at_an_end(of: _Parts) -> Kept:
    return _by_order(of, "min" if of.call.function == "first" else "max", _struct(*of.order))


def _by_order(of: _Parts, end: str, order: str, also: str | None = None) -> Kept:
    ordered = of.column("_o")
    value = of.part("_x", f"{end}_by({of.arguments[0]}, {order})", f"{end}_by({{}}, {ordered})", also)
    return Kept((value, of.part("_o", f"{end}({order})", f"{end}({{}})", also)), of.column("_x"))


def _distinct(of: _Parts) -> Kept:
    values = [_canonical(value, kind) for value, kind in zip(of.arguments, of.types, strict=True)]
    known = " AND ".join(f"{value} IS NOT NULL" for value in of.arguments)
    each = values[0] if len(values) == 1 else _struct(*values)
    part = of.part("_d", f"collect_set({each})", "array_distinct(flatten(collect_list({})))", known)
    return Kept((part,), f"CAST(coalesce(size({of.column('_d')}), 0) AS BIGINT)")


def _about_distinct(of: _Parts) -> Kept:
    value, kind = _canonical(of.arguments[0], of.types[0]), of.types[0]
    if kind not in _SKETCHED:
        value = f"CAST({value} AS {'INT' if kind in _SMALL else 'STRING'})"
    part = of.part("_k", f"hll_sketch_agg({value})", "hll_union_agg({})")
    return Kept((part,), f"coalesce(hll_sketch_estimate({of.column('_k')}), 0L)")


def _struct(*values: str) -> str:
    """Return a struct of values; Arrow wants a name of its own for each field."""
    fields = (f"'{place}', {value}" for place, value in enumerate(values))
    return f"named_struct({', '.join(fields)})"


def _canonical(value: str, kind: str) -> str:
    """Return a value, -0.0 as 0.0."""
    return f"({value} + CAST(0 AS {kind}))" if kind in _FLOATING else value


def _decimal(kind: str) -> tuple[int, int]:
    digits, _, scale = kind.removeprefix("DECIMAL(").removesuffix(")").partition(",")
    return int(digits), int(scale or 0)


_RULES: dict[str, Callable[[_Parts], Kept]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme,
    "max": _extreme,
    "bool_and": _extreme,
    "bool_or": _extreme,
    "stddev_samp": _deviation,
    "stddev_pop": _deviation,
    "var_samp": _deviation,
    "var_pop": _deviation,
    "min_by": _chosen,
    "max_by": _chosen,
    "first": _at_an_end,
    "last": _at_an_end,
    "count_distinct": _distinct,
    "approx_count_distinct": _about_distinct,
}
_SCALED: dict[str, Callable[[_Parts], Kept]] = {"count": _scaled_count, "sum": _scaled_sum, "avg": _scaled_avg}
