"""What numba has no word for: arrays without a count of their users, and the lowest bit of a word.

numba counts who holds an array, with an atomic addition at nearly every use: most of the time of a loop as small
as ours. The arrays of a simulation outlive it in Python, so that inside nobody needs to count.
"""

from collections.abc import Callable
from typing import Any, cast

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:  # noqa: ANN401
    """Return the same value, in which arrays do not point to a count of their users."""
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
    """Return the same array or tuple of arrays, uncounted; something else must keep the arrays alive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        kind = signature.args[0]
        free = _uncounted(context, builder, kind, arguments[0])
        return impl_ret_borrowed(context, builder, kind, free)  # type: ignore[no-untyped-call]

    return value(value), generate


@intrinsic
def _lowest(_typing: Any, word: Any) -> Any:  # noqa: ANN401
    """Return the place of the lowest bit that is set: one instruction, which Python has no word for."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        return builder.cttz(arguments[0], cgutils.true_bit)

    return types.int64(types.uint64), generate


borrowed: Callable[[Any], Any] = cast(Any, _borrowed)
"""Return the same array, or tuple of arrays, uncounted."""

lowest: Callable[[Any], int] = cast(Any, _lowest)
"""Return the place of the lowest bit that is set; there must be one."""
