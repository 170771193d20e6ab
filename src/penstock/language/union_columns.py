"""The columns of a derived stream: those of its first SELECT, which the others must fit."""

from collections.abc import Sequence

from penstock.language.bind import BoundSelect
from penstock.language.statements import Column
from penstock.language.text import Text
from penstock.language.types import SOME_NUMBER, SOME_TIME, ColumnType, called


def union_columns(text: Text, branches: Sequence[BoundSelect]) -> tuple[Column, ...]:
    """Return the columns of the SELECTs that UNION ALL connects."""
    first = branches[0]
    names = [output.name for output in first.query.outputs]
    types = list(first.types)
    for branch in branches[1:]:
        if len(branch.types) != len(types):
            text.fail(
                f"each SELECT of UNION ALL needs as many columns as the first: {len(types)}, "
                f"not {len(branch.types)}",
                branch.query.span,
            )
        for place, (name, kind) in enumerate(zip(names, branch.types, strict=True)):
            common = _common(types[place], kind)
            if common is None:
                text.fail(
                    f"column {name!r} of UNION ALL is {_said(types[place])} in a SELECT before and {_said(kind)} "
                    "here: write a CAST",
                    branch.places[place],
                )
            types[place] = common
    return tuple(Column(name, kind) for name, kind in zip(names, types, strict=True))


def _common(one: ColumnType, other: ColumnType) -> ColumnType | None:
    """Return the type of a column that has both, or of its family only; None if they do not fit."""
    if one == other:
        return one
    if one.family != other.family or one.is_nested:
        return None
    return ColumnType(SOME_NUMBER if one.family == "number" else SOME_TIME)


def _said(kind: ColumnType) -> str:
    return kind.name.replace("`", "") if kind.is_exact else called(kind.family)
