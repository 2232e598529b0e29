"""Sales as the 2004 paper's queries read them: streams of tuples in order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa

from windrow_papers.experiments.workloads.streams import Int64s, Streams
from windrow_papers.experiments.workloads.synthetic import synthetic

STORES = 100
PRICES = 1_000
QUANTITIES = 10


@dataclass(frozen=True)
class Sales:
    """Sales of one stream or two, all in order of time; a line of each array is a sale.

    Attributes:
        stream: 0 or 1.
        time: in microseconds.
        store: below `STORES`.
        item: which item.
        price: from 1 to `PRICES`.
        quantity: from 1 to `QUANTITIES`.
    """

    stream: Int64s
    time: Int64s
    store: Int64s
    item: Int64s
    price: Int64s
    quantity: Int64s

    def __len__(self) -> int:
        """How many sales there are."""
        return len(self.time)

    @classmethod
    def drawn(cls, streams: Streams, seed: int) -> Self:
        """Sales at the times of streams, whose keys are items; the rest is uniform."""
        owners = np.repeat(np.arange(len(streams)), [len(times) for times in streams.times])
        times = np.concatenate(streams.times)
        order = np.argsort(times, kind="stable")
        dice = np.random.default_rng([seed, len(streams), 2])
        count = len(times)
        return cls(
            owners[order].astype(np.int64),
            times[order],
            dice.integers(0, STORES, count),
            np.concatenate(streams.keys)[order],
            dice.integers(1, PRICES + 1, count),
            dice.integers(1, QUANTITIES + 1, count),
        )

    def tables(self) -> dict[str, pa.Table]:
        """The streams s0 and s1 as Arrow tables, times as whole numbers."""
        return {
            f"s{number}": pa.table(
                {
                    "ts": self.time[self.stream == number],
                    "store": self.store[self.stream == number],
                    "item": self.item[self.stream == number],
                    "price": self.price[self.stream == number],
                    "quantity": self.quantity[self.stream == number],
                }
            )
            for number in (0, 1)
        }


def synthetic_sales(
    rate_per_s: float, *, streams: int, items: int, seconds: float, seed: int
) -> Sales:
    """So many streams of one rate each: exponential gaps, uniform items."""
    made = synthetic([rate_per_s] * streams, values=items, seconds=seconds, seed=seed)
    return Sales.drawn(made, seed)
