"""Intrinsics that numba lacks: arrays without reference counts, and the lowest bit of a word.

numba counts the references to an array, with an atomic addition at nearly every use. In a loop as small as ours
that would be most of the time. Python holds the arrays of a simulation while it runs, so no counts are needed.
"""

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:  # noqa: ANN401
    """Return the same value, with arrays that have no reference count."""
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value=value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)  # type: ignore[no-untyped-call]
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        fields = cgutils.unpack_tuple(builder, value, len(kind))  # type: ignore[no-untyped-call]
        free = [_uncounted(context, builder, *each) for each in zip(cast(Any, kind), fields, strict=True)]
        return context.make_tuple(builder, kind, free)
    return value


@intrinsic
def _borrowed(_typing: Any, value: Any) -> Any:  # noqa: ANN401
    """Return the same array or tuple of arrays, without reference counts; the caller keeps them alive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        kind = signature.args[0]
        free = _uncounted(context, builder, kind, arguments[0])
        return impl_ret_borrowed(context, builder, kind, free)  # type: ignore[no-untyped-call]

    return value(value), generate


@intrinsic
def _lowest(_typing: Any, word: Any) -> Any:  # noqa: ANN401
    """Return the place of the lowest bit that is set, by one machine instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


borrowed: Callable[[Any], Any] = cast(Any, _borrowed)
"""Return the same array, or tuple of arrays, without reference counts."""

lowest: Callable[[Any], int] = cast(Any, _lowest)
"""Return the place of the lowest bit that is set; there must be one."""
