"""The nested loops of the bestmatch paper (algorithm 1), within the constraints of section 2.3.

For every r and s: is there any s' whose pair with r is better? As printed, the innermost loop goes
on to its end though an answer is found; `stops` ends it there.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.epsilon_grid import DOMINANCE_TESTS, PAIR_TESTS, Int64s
from windrow.kernels.jit import kernel


@kernel
def nested_loops(
    left: Int64s,
    right: Int64s,
    eps: Int64s,
    stops: bool,  # noqa: FBT001  compiled functions take no keyword-only arguments
    work: Int64s,
) -> Int64s:
    """The best pairs (left, right) of every left row; rows are lines of y1 to yd."""
    found = np.empty((256, 2), np.int64)
    count = 0
    for r in range(len(left)):
        for s in range(len(right)):
            work[PAIR_TESTS] += 1
            if not _is_near(left, r, right, s, eps):
                continue
            is_dominated = False
            for other in range(len(right)):
                work[PAIR_TESTS] += 1
                if _is_near(left, r, right, other, eps):
                    work[DOMINANCE_TESTS] += 1
                    if _is_better(left, r, right, other, s):
                        is_dominated = True
                        if stops:
                            break
            if not is_dominated:
                if count == len(found):
                    found = _taller(found)
                found[count, 0] = r
                found[count, 1] = s
                count += 1
    return found[:count]


@kernel
def _is_near(left: Int64s, r: int, right: Int64s, s: int, eps: Int64s) -> bool:
    for k in range(len(eps)):  # noqa: SIM110  kernels know no generators
        if abs(left[r, k] - right[s, k]) > eps[k]:
            return False
    return True


@kernel
def _is_better(left: Int64s, r: int, right: Int64s, one: int, other: int) -> bool:
    """Whether (r, one) dominates (r, other)."""
    is_better = False
    for k in range(left.shape[1]):
        apart = abs(left[r, k] - right[one, k])
        other_apart = abs(left[r, k] - right[other, k])
        if apart > other_apart:
            return False
        if apart < other_apart:
            is_better = True
    return is_better


@kernel
def _taller(pairs: Int64s) -> Int64s:
    grown = np.empty((2 * len(pairs), 2), np.int64)
    for at in range(len(pairs)):
        grown[at, 0] = pairs[at, 0]
        grown[at, 1] = pairs[at, 1]
    return grown
