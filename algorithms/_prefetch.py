"""Ask for memory before it is needed.

A kernel that visits vertices in no particular sequence waits for main memory at each of them.
It knows some vertices ahead which ones come next, and can ask for what it will read of them.
"""

from __future__ import annotations

from typing import Any

import numba as nb
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from dgraph.kernels import kernel

__all__ = ["prefetch"]

_POINTER = ir.IntType(8).as_pointer()
_NUMBER = ir.IntType(32)


@intrinsic
def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Emit the processor's instruction, by way of LLVM's intrinsic of the same name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        holder = make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(
            context, builder, kind, holder, [arguments[1]], wraparound=False
        )
        form = ir.FunctionType(ir.VoidType(), [_POINTER, _NUMBER, _NUMBER, _NUMBER])
        name = "llvm.prefetch.p0i8"
        instruction = cgutils.get_or_insert_function(builder.module, form, name)
        for_reading, keep, data = (ir.Constant(_NUMBER, number) for number in (0, 3, 1))
        place = builder.bitcast(place, _POINTER)
        builder.call(instruction, [place, for_reading, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@kernel(inline="always")
def prefetch(array, index):  # type: ignore[no-untyped-def]
    """Bring ``array[index]`` into the cache while the kernel goes on; `index` must exist.

    Examples
    --------
    >>> import numpy as np
    >>> prefetch(np.zeros(3), 1)
    """
    _prefetch(array, nb.intp(index))  # type: ignore[call-arg]
