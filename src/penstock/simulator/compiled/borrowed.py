"""Arrays without a count of their users.

numba counts who holds an array, with an atomic addition at nearly every use: most of the time of a loop as small as
ours. The arrays of a simulation outlive it in Python, so that inside nobody needs to count.
"""

from typing import Any

from llvmlite import ir
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic


@intrinsic
def borrowed(_typing: Any, array: Any) -> Any:
    """Return the same array, uncounted; something else must keep it alive."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, value=arguments[0])
        view.meminfo = ir.Constant(view.meminfo.type, None)
        return impl_ret_borrowed(context, builder, kind, view._getvalue())

    return array(array), generate
