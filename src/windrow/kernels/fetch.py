"""Memory asked for before it is needed.

A loop that will come to many far places asks for all of them first, and then waits for memory about
once, not once per place. Asking neither waits nor fails, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_BYTES = ir.IntType(8).as_pointer()
_NUMBER = ir.IntType(32)
_TO_READ, _FOR_LONG, _DATA = 0, 3, 1


AHEAD = 16
"""How many turns before it is needed a loop that goes from place to place asks: a dozen requests are
under way at once, and what was asked for is not yet pushed out again."""


def _asked(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.args[0]
    own = context.make_array(kind)(context, builder, arguments[0])
    place = cgutils.get_item_pointer(  # type: ignore[no-untyped-call]
        context, builder, kind, own, arguments[1:], wraparound=False
    )
    function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
        builder.module,
        ir.FunctionType(ir.VoidType(), [_BYTES, _NUMBER, _NUMBER, _NUMBER]),
        "llvm.prefetch.p0",
    )
    settings = [_NUMBER(_TO_READ), _NUMBER(_FOR_LONG), _NUMBER(_DATA)]
    builder.call(function, [builder.bitcast(place, _BYTES), *settings])
    return context.get_dummy_value()


def _typed(_: Any, array: Any, _row: Any, _column: Any) -> tuple[Any, Callable[..., Any]]:
    return types.void(array, types.intp, types.intp), _asked


def _typed_item(_: Any, array: Any, _at: Any) -> tuple[Any, Callable[..., Any]]:
    return types.void(array, types.intp), _asked


fetch = cast("Callable[[NDArray[np.int64], int, int], None]", intrinsic(_typed))
"""Asks for the line of memory that an item of an array, by row and column, lies in."""

fetch_item = cast("Callable[[NDArray[Any], int | np.int64], None]", intrinsic(_typed_item))
"""Asks for the line of memory that an item of an array of one dimension lies in."""
