"""Arrays without a count of their users.

numba counts who holds an array, with an atomic addition at nearly every use: most of the time of a loop as small
as ours. The arrays of a simulation outlive it in Python, so that inside nobody needs to count.
"""

from collections.abc import Callable
from typing import Any, cast

from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


@intrinsic
def _borrowed(_typing: Any, array: Any) -> Any:  # noqa: ANN401
    """Return the same array, uncounted; something else must keep it alive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ANN401
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, value=arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)  # type: ignore[no-untyped-call]
        return impl_ret_borrowed(context, builder, kind, view._getvalue())  # type: ignore[no-untyped-call]

    return array(array), generate


borrowed: Callable[[Any], Any] = cast(Any, _borrowed)
"""Return the same array, uncounted."""
