"""An order of bestmatch joins in one file: pairs whose right value is the least above the left."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow import extend


def rise(left: pa.Array, right: pa.Array) -> pa.Array:
    """How far the right value lies above the left; none where it lies below."""
    difference = pc.subtract(right.cast(pa.float64()), left.cast(pa.float64()))
    return pc.if_else(pc.greater_equal(difference, 0.0), difference, pa.scalar(None, pa.float64()))


extend.order("rises_to", rise)
