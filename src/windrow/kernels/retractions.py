"""Rows that come and rows that take them back, as the stretches of time in which there are any.

Copies of one row are told apart by nothing, so that any of them may be the one that is taken back;
it is the newest one here:

    + a    0 |==============..          a    0 |=================| 9
    + a           3 |=======..          a           3 |====| 6
    - a                 6 |=..
    - a                        9 |=..
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

NOBODY = -1

Int64s = NDArray[np.int64]


@kernel
def taken_by(kinds: Int64s, signs: NDArray[np.int8]) -> Int64s:
    """Per row which other one it is paired with; NOBODY for none.

    Args:
        kinds: which rows are copies of one another, ascending. Within a kind rows are in the order of
            time, those that come at an instant before those that take back.
        signs: 1 for a row that comes, -1 for one that takes back.
    """
    partners = np.full(len(kinds), NOBODY)
    below = np.full(len(kinds), NOBODY)
    top = np.int64(NOBODY)
    for row in range(len(kinds)):
        if row > 0 and kinds[row] != kinds[row - 1]:
            top = np.int64(NOBODY)
        if signs[row] > 0:
            below[row] = top
            top = np.int64(row)
        elif top != NOBODY:
            partners[row] = top
            partners[top] = row
            top = below[top]
    return partners


@kernel
def stretches(
    kinds: Int64s, times: Int64s, steps: Int64s, never: int
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """The stretches of time in which there are copies: kind, start, end and sign of each.

    Where copies are fewer than none, as many stretches have a negative sign.

    Args:
        kinds: per event which rows it is about, ascending.
        times: when it is, ascending within a kind.
        steps: how many copies more there are from then on.
        never: the end of what does not end.
    """
    most = np.int64(0)
    for n in range(len(steps)):
        most += abs(steps[n])
    out_kind, out_sign = np.empty(most, np.int64), np.empty(most, np.int64)
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    stack = np.empty(most, np.int64)
    height, sign, filled = np.int64(0), np.int64(1), np.int64(0)
    n = 0
    while n < len(kinds):
        kind, time, step = kinds[n], times[n], steps[n]
        n += 1
        while n < len(kinds) and kinds[n] == kind and times[n] == time:
            step += steps[n]
            n += 1
        while step != 0:
            direction = np.int64(1) if step > 0 else np.int64(-1)
            if height > 0 and direction != sign:
                height -= 1
                ends[stack[height]] = time
            else:
                sign = direction
                out_kind[filled], out_sign[filled] = kind, sign
                starts[filled], ends[filled] = time, never
                stack[height] = filled
                height += 1
                filled += 1
            step -= direction
        if n == len(kinds) or kinds[n] != kind:
            height = np.int64(0)
    return out_kind[:filled], starts[:filled], ends[:filled], out_sign[:filled]
