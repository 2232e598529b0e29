"""Points of [0, 1] in d dimensions, as skylines are tried on: how the dimensions hang together.

    uniform           each dimension by itself
    correlated        near the diagonal: who is large in one is large in all
    anti-correlated   near the plane across the diagonal: who is large in one is small in another
    normal            each dimension by itself, around the middle

A point near the diagonal is one number v, the same in all dimensions, from which each dimension takes
something and gives it to the next: much where points are anti-correlated, little where correlated.
Values are whole ticks, so that cells and distances are exact; streams are in order of y1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.int64]

TICKS = 10**9
"""Of 1.0; a multiple of every power of ten that values may be rounded to."""

UNIFORM, CORRELATED, ANTI_CORRELATED, NORMAL = "uniform", "correlated", "anti-correlated", "normal"
DISTRIBUTIONS = (UNIFORM, CORRELATED, ANTI_CORRELATED, NORMAL)

_ALONG = 2
"""Uniform numbers whose mean says where on the diagonal a correlated point is."""

_PEAK = 12
"""Uniform numbers whose mean is a peaked number of [0, 1]; its standard deviation is 1 / 12."""

_NORMAL_DEVIATION = 0.15
_FLAT_DEVIATION = 0.05
"""How far from 0.5 the plane of anti-correlated points is."""


def points(
    count: int, dimensions: int, distribution: str, *, seed: int, decimals: int | None = None
) -> Points:
    """So many points in order of y1.

    Args:
        count: how many.
        dimensions: of each.
        distribution: one of the above.
        seed: where the random numbers come from.
        decimals: of y1; None: as many as ticks allow.
    """
    random = np.random.default_rng(seed)
    drawn = np.empty((0, dimensions))
    while len(drawn) < count:
        more = _drawn(random, count, dimensions, distribution)
        inside = ((more >= 0) & (more <= 1)).all(axis=1)
        drawn = np.concatenate((drawn, more[inside]))
    values = np.rint(drawn[:count] * TICKS).astype(np.int64)
    if decimals is not None:
        step = TICKS // 10**decimals
        values[:, 0] = (values[:, 0] + step // 2) // step * step
    return values[np.argsort(values[:, 0], kind="stable")]


def _drawn(
    random: np.random.Generator, count: int, dimensions: int, distribution: str
) -> NDArray[np.float64]:
    if distribution == UNIFORM:
        return random.random((count, dimensions))
    if distribution == NORMAL:
        return random.normal(0.5, _NORMAL_DEVIATION, (count, dimensions))
    if distribution == CORRELATED:
        along = random.random((count, _ALONG)).mean(axis=1)
        most = np.minimum(along, 1 - along)[:, None]
        moved = (random.random((count, dimensions, _PEAK)).mean(axis=2) * 2 - 1) * most
    else:
        along = random.normal(0.5, _FLAT_DEVIATION, count)
        most = np.clip(np.minimum(along, 1 - along), 0, None)[:, None]
        moved = (random.random((count, dimensions)) * 2 - 1) * most
    values: NDArray[np.float64] = along[:, None] + moved - np.roll(moved, 1, axis=1)
    return values
