"""Sets as dimensions of a bestmatch join: what those of a pair share, as bits, and which are best.

Contract. A set is a run of ascending numbers, each once. The first set of every pair has at most
64 times as many elements as there are words.

    first     3  7  8  9          bits   0  1  2  3
    second       7     9  12             0  1  0  1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel


class Sets(NamedTuple):
    """A set per pair: that of row `rows[i]` is elements[starts[row]:starts[row + 1]], ascending."""

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    elements: NDArray[np.int64]


@kernel
def intersections(one: Sets, other: Sets, words: int) -> NDArray[np.uint64]:
    """For each pair of sets, which elements of the first the second has: bit i for element i.

    Cost: the elements of both sets, which ascend.
    """
    bits = np.zeros((len(one.rows), words), np.uint64)
    for pair in range(len(one.rows)):
        start, stop = one.starts[one.rows[pair]], one.starts[one.rows[pair] + 1]
        at, last = other.starts[other.rows[pair]], other.starts[other.rows[pair] + 1]
        for place in range(start, stop):
            while at < last and other.elements[at] < one.elements[place]:
                at += 1
            if at < last and other.elements[at] == one.elements[place]:
                bit = place - start
                bits[pair, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    return bits


@kernel
def best_with_sets(
    starts: NDArray[np.int64], codes: NDArray[np.uint64], numbers: int
) -> NDArray[np.bool_]:
    """Which pairs no other pair of the same run dominates; run i is [starts[i], starts[i + 1]).

    The first columns of the codes are `numbers` numbers, where less is better, and the others are
    sets of bits, in as many words as they take, where a set is better than those it contains. (Of
    several sets each has to contain its own, so that it does not matter where one begins.)

    Cost: every pair is compared with those of its run up to the first that dominates it.
    """
    is_best = np.ones(len(codes), np.bool_)
    for run in range(len(starts) - 1):
        for pair in range(starts[run], starts[run + 1]):
            for other in range(starts[run], starts[run + 1]):
                if _dominates(codes, numbers, other, pair):
                    is_best[pair] = False
                    break
    return is_best


@kernel
def _dominates(codes: NDArray[np.uint64], numbers: int, one: int, other: int) -> bool:
    is_better = False
    for k in range(numbers):
        if codes[one, k] > codes[other, k]:
            return False
        is_better |= codes[one, k] < codes[other, k]
    for k in range(numbers, codes.shape[1]):
        if codes[other, k] & ~codes[one, k]:
            return False
        is_better |= codes[one, k] != codes[other, k]
    return is_better
