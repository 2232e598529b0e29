r"""Totals and averages over all combinations of a join, from the ones that shedding has left.

A combination c is found when each of its tuples was drawn for its part: the last one to probe, the
others to be kept. Draws are independent, so that c's chance is the product of theirs. With
u(c) = value / chance, Horvitz and Thompson's estimate of the total is the sum of u over what was
found; its variance is not that of independent combinations, for one tuple is in many of them:

    variance, estimated   =  sum over pairs c, c' of  u(c) u(c') (1 - product of chances of the
                                                                  draws that both have)

    1 - product over shared of (1 - q)  =  sum over parts S of the shared, not empty, of
                                           -(-1)^|S| product over S of q           q = 1 - chance

so that it is a sum over the sets S of inputs of sums of squares, one per group of combinations with
the same draws in S. For two inputs: per tuple of either side, less what both count. The derivation
is in docs/design/shedding.md. The variance is itself an estimate, and the interval is Student's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]

_Z95 = 1.959963984540054
"""A normal variable is within so many deviations of its mean in 95% of all cases."""

_LEAST_FREEDOM = 3.0
"""The expansion of Student's quantile is good from here on."""


@dataclass(frozen=True)
class Found:
    """The combinations that were found.

    Attributes:
        draws: per input, which draw put the combination's tuple there. A tuple that was drawn to be
            kept and drawn to probe has two; equal numbers in different inputs mean nothing.
        chances: per input, the chance of that draw when the combination was made; above 0.
    """

    draws: tuple[Numbers, ...]
    chances: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.draws[0])

    @property
    def weights(self) -> Floats:
        """How many combinations of the whole each one found stands for."""
        weights: Floats = 1 / np.prod(np.stack(self.chances), axis=0)
        return weights

    def take(self, rows: NDArray[np.bool_]) -> Found:
        """Some of them."""
        return Found(
            tuple(own[rows] for own in self.draws), tuple(own[rows] for own in self.chances)
        )


@dataclass(frozen=True)
class Estimate:
    """A number, and the interval that holds the true one in 95 of 100 cases.

    Without any combination found nothing is known, and the interval is endless.
    """

    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low


def estimated_count(found: Found) -> Estimate:
    """COUNT(*): how many combinations there are; as many as were found, at least."""
    total = estimated_sum(found, np.ones(len(found)))
    least = float(len(found))
    return Estimate(total.value, max(total.low, least), max(total.high, least))


def estimated_sum(found: Found, values: Floats) -> Estimate:
    """SUM of a value per combination; those where it is NULL must be left out."""
    if not len(found):
        return Estimate(0.0, -math.inf, math.inf)
    value = float(np.sum(found.weights * values))
    return _interval(value, estimated_variance(found, values))


def estimated_average(found: Found, values: Floats) -> Estimate:
    """AVG of a value per combination; those where it is NULL must be left out.

    The ratio of two totals, whose errors go together: to first order its error is that of the total
    of (value - average) over the count.
    """
    if not len(found):
        return Estimate(math.nan, -math.inf, math.inf)
    weights = found.weights
    count = float(np.sum(weights))
    average = float(np.sum(weights * values)) / count
    variance = estimated_variance(found, values - average)
    return _interval(average, variance._replace(value=variance.value / count**2))


def estimated_recall(found: Found) -> float:
    """The share of all combinations that was found, as far as those found can tell; 1 for none."""
    return len(found) / float(np.sum(found.weights)) if len(found) else 1.0


class Variance(NamedTuple):
    """Of an estimate.

    Attributes:
        value: the variance.
        freedom: the degrees of freedom of its own estimate; few where few tuples make most of it.
    """

    value: float
    freedom: float


def estimated_variance(found: Found, values: Floats) -> Variance:
    """The variance of the estimated total of a value.

    Exact in the mean where every draw has one chance. Where a chance was lowered between two
    combinations of one draw, the geometric mean of their q stands for the smaller one: a little too
    much rather than too little.
    """
    weighted = found.weights * values
    spreads = [np.sqrt(1 - own) for own in found.chances]
    variance = fourth_powers = 0.0
    for members in _sets(len(found.draws)):
        part = weighted * np.prod(np.stack([spreads[at] for at in members]), axis=0)
        squares = _sums(part, [found.draws[at] for at in members]) ** 2
        variance += float(np.sum(squares)) * (1 if len(members) % 2 else -1)
        if len(members) == 1:
            fourth_powers += float(np.sum(squares**2))
    # With values of either sign the estimate may be below nothing; the variance is not.
    variance = max(0.0, variance)
    return Variance(variance, 2 * variance**2 / fourth_powers if fourth_powers else math.inf)


def _sets(inputs: int) -> Iterator[tuple[int, ...]]:
    """The sets of inputs that are not empty."""
    for size in range(1, inputs + 1):
        yield from combinations(range(inputs), size)


def _sums(part: Floats, draws: Sequence[Numbers]) -> Floats:
    """The sums of those with the same draws."""
    groups = np.zeros(len(part), np.int64)
    for own in draws:
        distinct, number = np.unique(own, return_inverse=True)
        groups = np.unique(groups * len(distinct) + number, return_inverse=True)[1]
    sums: Floats = np.zeros(int(groups.max(initial=-1)) + 1)
    np.add.at(sums, groups, part)
    return sums


def _interval(value: float, variance: Variance) -> Estimate:
    margin = _quantile(variance.freedom) * math.sqrt(variance.value)
    return Estimate(value, value - margin, value + margin)


def _quantile(freedom: float) -> float:
    """Student's for 95%, by the first terms of its expansion around the normal one."""
    freedom = max(freedom, _LEAST_FREEDOM)
    first = (_Z95**3 + _Z95) / 4
    second = (5 * _Z95**5 + 16 * _Z95**3 + 3 * _Z95) / 96
    return _Z95 + first / freedom + second / freedom**2
