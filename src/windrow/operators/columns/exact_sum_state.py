"""Rows of limbs in the one form that their values have, so that equal states are equal bytes.

The same sum can stand in a narrow or a wide row of limbs, settled or not, depending on what came
before. What is stored is settled, and without the columns of limbs that no row needs:

    limb        0     1     2     3     4
    row a       0     0     7     0     0        low = 2: the columns below are 0 in every row
    row b       0     0     9     1     0        two columns stay: the rest only repeats the sign
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Limbs = NDArray[np.int64]

MASK = 0xFFFFFFFF
HALF = 1 << 31


def settled(limbs: Limbs) -> Limbs:
    """The rows with all limbs but the last in [0, 2^32): `exact_sum.settle`, by columns."""
    limbs = limbs.copy()
    for k in range(limbs.shape[1] - 1):
        limbs[:, k + 1] += limbs[:, k] >> 32
        limbs[:, k] &= MASK
    return limbs


def trimmed(limbs: Limbs) -> tuple[int, Limbs]:
    """How many lowest columns are not needed, and settled rows without needless columns."""
    while limbs.shape[1] > 1:
        rest, last = limbs[:, -2], limbs[:, -1]
        if not np.array_equal(last, np.where(rest >= HALF, -1, 0)):
            break
        limbs = limbs[:, :-1].copy()
        limbs[:, -1] = np.where(rest >= HALF, rest - (1 << 32), rest)
    used = np.flatnonzero(limbs.any(axis=0))
    low = int(used[0]) if len(used) else limbs.shape[1] - 1
    return low, limbs[:, low:]


def fixed_lists(rows: Limbs) -> pa.FixedSizeListArray:
    """Rows of one or more numbers as an Arrow column."""
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])


def rows_of_lists(column: pa.FixedSizeListArray) -> Limbs:
    """The inverse of `fixed_lists`."""
    numbers: Limbs = column.flatten().to_numpy().reshape(len(column), -1)
    return numbers


def shifted(limbs: Limbs, skipped: int, width: int) -> Limbs:
    """The rows with so many zero columns before them, and as many columns in all."""
    rows = np.zeros((len(limbs), width), np.int64)
    rows[:, skipped : skipped + limbs.shape[1]] = limbs
    return rows
