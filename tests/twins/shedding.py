"""Joins of which all combinations are known, shed and estimated: what estimates are held against."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa

from windrow.operators.shedding.draws import Purpose, draws_of, row_words
from windrow.operators.shedding.estimates import Found


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

    @property
    def whole(self) -> Found:
        """All combinations, with the chances that they have."""
        draws, chances = [], []
        for at, member in enumerate(self.members):
            probes = self.last == at
            draws.append(member * 2 + probes)
            chances.append(np.where(probes, self.probed[at], self.kept[at]))
        return Found(tuple(draws), tuple(chances))

    def shed(self, seed: int) -> tuple[Found, np.ndarray]:
        """What is found with a seed, and the values."""
        found = np.ones(len(self.values), np.bool_)
        for at, member in enumerate(self.members):
            keeps = draws_of(self.words[at], seed, at, Purpose.keep) < self.kept[at]
            probes = draws_of(self.words[at], seed, at, Purpose.probe) < self.probed[at]
            found &= np.where(self.last == at, probes[member], keeps[member])
        return self.whole.take(found), self.values[found]

    def true_variance(self, values: np.ndarray) -> float:
        """Of the estimated total: over pairs of combinations, their values times what the draws
        that both have add: the product of 1 / chance, less 1."""
        whole = self.whole
        odds = [1 / own - 1 for own in whole.chances]
        variance = 0.0
        for size in range(1, len(self.members) + 1):
            for chosen in combinations(range(len(self.members)), size):
                sums: dict[tuple[int, ...], float] = {}
                keys = list(zip(*(whole.draws[at].tolist() for at in chosen), strict=True))
                part = values * np.sqrt(np.prod([odds[at] for at in chosen], axis=0))
                for key, value in zip(keys, part.tolist(), strict=True):
                    sums[key] = sums.get(key, 0.0) + value
                variance += sum(total**2 for total in sums.values())
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
