"""Retail transactions of the shape that the papers describe, since their logs are not public.

    tuples per hour of one store
        ^
        | ##                                        ##
        | ####                                    ####    a burst after opening, one before closing
        | ############################################
        +--|----------------------------------------|---> time of day
          7:30                                    20:00

A tuple is an item sold: when, where, which item, its description, price and quantity; about 200
bytes. Items are Zipf distributed: of 68,509 products in the real transactions (see
`transactions`), the count of the k-th most frequent falls like k to the power -0.66.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow_papers.experiments.workloads.streams import HOUR, Int64s, Streams

OPENING_H, CLOSING_H = 7.5, 20.0
BURST_H = 0.75
"""How long a burst lasts."""

BURST_SHARE = 0.15
"""The share of a day's transactions in each of the two bursts, on top of the even flow."""

TRANSACTIONS_PER_HOUR = 5_000
"""Over all stores together, while they are open."""

TUPLE_BYTES = 200
_FIXED_BYTES = 8 + 8 + 8 + 8 + 8
"""Time, store, item, price and quantity; the description takes the rest."""


@dataclass(frozen=True)
class Retail:
    """Stores, and what they sell.

    Attributes:
        stores: how many; each is a stream.
        days: how many days of transactions.
        per_hour: transactions of all stores in an hour, on average while they are open.
        spread: the busiest store has so many times the transactions of the quietest.
        items: how many different items there are.
        exponent: of their Zipf distribution.
        seed: of the random numbers.
    """

    stores: int
    days: int = 1
    per_hour: float = TRANSACTIONS_PER_HOUR
    spread: float = 1.1
    items: int = 50_000
    exponent: float = 0.66
    seed: int = 7

    def streams(self) -> Streams:
        """Each store's transactions: times, and items as keys."""
        random = np.random.default_rng([self.seed, self.stores])
        popularity = zipf(self.items, self.exponent)
        times, keys = [], []
        for share in self._shares():
            days = [self._day(random, day, share) for day in range(self.days)]
            own = np.concatenate(days)
            times.append(own)
            keys.append(random.choice(self.items, len(own), p=popularity).astype(np.int64))
        return Streams(tuple(times), tuple(keys))

    def tables(self) -> dict[str, pa.Table]:
        """The same transactions as Arrow tables, all columns of about 200 bytes per tuple."""
        streams = self.streams()
        return {
            f"store{number}": _table(number, times, items, [self.seed, number, 2])
            for number, (times, items) in enumerate(zip(streams.times, streams.keys, strict=True))
        }

    def _shares(self) -> np.ndarray:
        weights = np.geomspace(self.spread, 1.0, self.stores) if self.stores > 1 else np.ones(1)
        return np.asarray(weights / weights.sum())

    def _day(self, random: np.random.Generator, day: int, share: float) -> Int64s:
        """One store's times of one day, in order."""
        expected = self.per_hour * (CLOSING_H - OPENING_H) * share
        count = int(random.poisson(expected))
        kind = random.choice(3, count, p=[1 - 2 * BURST_SHARE, BURST_SHARE, BURST_SHARE])
        within = random.random(count)
        # A burst thins out linearly away from the door's opening or closing.
        into_burst = (1 - np.sqrt(within)) * BURST_H
        hours = np.select(
            [kind == 1, kind == 2],
            [OPENING_H + into_burst, CLOSING_H - into_burst],
            OPENING_H + within * (CLOSING_H - OPENING_H),
        )
        return np.sort((hours + 24 * day) * HOUR).astype(np.int64)


def zipf(items: int, exponent: float) -> np.ndarray:
    """The probability of each item, the most frequent first."""
    weights = np.arange(1, items + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def _table(store: int, times: Int64s, items: Int64s, seed: list[int]) -> pa.Table:
    random = np.random.default_rng(seed)
    length = TUPLE_BYTES - _FIXED_BYTES
    descriptions = [f"item {item} ".ljust(length, ".") for item in items.tolist()]
    return pa.table(
        {
            "ts": pa.array(times).cast(pa.timestamp("us", "UTC")),
            "store": np.full(len(times), store, np.int64),
            "item": items,
            "description": pa.array(descriptions, pa.string()),
            "price": (1 + random.integers(0, 5_000, len(times))) / 100,
            "quantity": 1 + random.integers(0, 4, len(times)),
        }
    )
