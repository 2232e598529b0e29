"""Joins of which all combinations are known: what estimates over shed ones are held against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa

from windrow.operators.load_shedding.draws import Purpose, draws_of, row_words


@dataclass(frozen=True)
class Population:
    """All combinations of a join.

    Attributes:
        members: per input, each combination's tuple.
        last: each combination's last input, which probes.
        values: a value per combination.
        words: per input, those of its tuples.
        kept: per input, the chance of being kept.
        probed: per input, the chance of being probed with.
    """

    members: tuple[np.ndarray, ...]
    last: np.ndarray
    values: np.ndarray
    words: tuple[np.ndarray, ...]
    kept: tuple[float, ...]
    probed: tuple[float, ...]

    @cached_property
    def draws(self) -> list[np.ndarray]:
        """Per input, the number of the draw that puts each combination's tuple there."""
        return [member * 2 + (self.last == at) for at, member in enumerate(self.members)]

    @cached_property
    def chances(self) -> list[np.ndarray]:
        """Per input, the chance of that draw."""
        both = zip(self.kept, self.probed, strict=True)
        return [np.where(self.last == at, probed, kept) for at, (kept, probed) in enumerate(both)]

    def found(self, seed: int) -> np.ndarray:
        """The combinations that are found with a seed."""
        found = np.ones(len(self.values), np.bool_)
        for at, member in enumerate(self.members):
            keeps = draws_of(self.words[at], seed, at, Purpose.keep) < self.kept[at]
            probes = draws_of(self.words[at], seed, at, Purpose.probe) < self.probed[at]
            found &= np.where(self.last == at, probes[member], keeps[member])
        return np.flatnonzero(found)

    def truths(self) -> dict[str, tuple[float, float]]:
        """Per aggregate: the true value, and the deviation of its estimate."""
        count, total = float(len(self.values)), float(self.values.sum())
        average = total / count
        ones = np.ones(len(self.values))
        return {
            "count": (count, math.sqrt(self.true_variance(ones))),
            "sum": (total, math.sqrt(self.true_variance(self.values))),
            "avg": (average, math.sqrt(self.true_variance(self.values - average)) / count),
        }

    def true_variance(self, values: np.ndarray) -> float:
        """Of the estimated total: over pairs of combinations, their values times what the draws
        that both have add: the product of 1 / chance, less 1."""
        odds = [1 / own - 1 for own in self.chances]
        variance = 0.0
        for size in range(1, len(self.members) + 1):
            for chosen in combinations(range(len(self.members)), size):
                keys = np.stack([self.draws[at] for at in chosen])
                _, groups = np.unique(keys, axis=1, return_inverse=True)
                part = values * np.sqrt(np.prod([odds[at] for at in chosen], axis=0))
                variance += float(np.sum(np.bincount(groups.reshape(-1), part) ** 2))
        return variance


def population(
    seed: int,
    *,
    tuples: tuple[int, ...],
    keys: int,
    window: float,
    kept: tuple[float, ...],
    probed: tuple[float, ...],
    skew: float = 0.0,
) -> Population:
    """Streams over the unit of time, joined on a key within a window; all pairs within it."""
    dice = np.random.default_rng(seed)
    shares = 1 / np.arange(1, keys + 1) ** skew
    times = [np.sort(dice.integers(0, 1_000_000, count)) for count in tuples]
    owned = [dice.choice(keys, count, p=shares / shares.sum()) for count in tuples]
    amounts = [dice.lognormal(0.0, 0.5, count) for count in tuples]
    members = [np.arange(tuples[0])]
    for at in range(1, len(tuples)):
        first = members[0]
        near = np.abs(times[0][first][:, None] - times[at][None, :]) <= window * 1_000_000
        rows, new = np.nonzero(near & (owned[0][first][:, None] == owned[at][None, :]))
        members = [*(member[rows] for member in members), new]
    each = np.stack([times[at][member] for at, member in enumerate(members)])
    return Population(
        tuple(members),
        len(tuples) - 1 - np.argmax(each[::-1], axis=0),
        np.prod([amounts[at][member] for at, member in enumerate(members)], axis=0),
        tuple(row_words([pa.array(own)], time) for own, time in zip(owned, times, strict=True)),
        kept,
        probed,
    )
