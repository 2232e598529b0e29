"""Bucket numbers that Spark spreads evenly over its tasks.

Spark sends a row to partition pmod(murmur3(bucket), partitions). Bucket numbers 0, 1, 2, .. would
fall where the hash throws them: four buckets on four partitions leave some task two and some none.
So every bucket gets a label, the least unused number whose partition is the one we want:

    bucket      0    1    2    3    4    5 ..
    partition   0    1    2    3    0    1 ..      (4 partitions)
"""

from __future__ import annotations

from functools import lru_cache

GUARD = -1
"""Label of the row that every micro-batch sends to one place, to check whose checkpoint it is."""

MOST_BUCKETS = 512
"""More buckets than this cost more in upkeep than they bring."""

_SEED = 42
_MASK = 0xFFFFFFFF


def murmur3(value: int) -> int:
    """Spark's hash of an INT: Murmur3 of 32 bits, seed 42, as a signed number."""
    k = _times(_rotate(_times(value & _MASK, 0xCC9E2D51), 15), 0x1B873593)
    h = (_times(_rotate(_SEED ^ k, 13), 5) + 0xE6546B64) & _MASK
    h ^= 4
    h = _times(h ^ (h >> 16), 0x85EBCA6B)
    h = _times(h ^ (h >> 13), 0xC2B2AE35)
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h


def partition_of(label: int, partitions: int) -> int:
    """The shuffle partition that Spark sends a label to."""
    return murmur3(label) % partitions


@lru_cache(maxsize=64)
def labels(buckets: int, partitions: int) -> tuple[int, ...]:
    """One label per bucket, bucket b on partition b % partitions."""
    waiting: dict[int, list[int]] = {}
    for bucket in reversed(range(buckets)):
        waiting.setdefault(bucket % partitions, []).append(bucket)
    found = [0] * buckets
    label = 0
    while waiting:
        home = partition_of(label, partitions)
        if home in waiting:
            found[waiting[home].pop()] = label
            if not waiting[home]:
                del waiting[home]
        label += 1
    return tuple(found)


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def _times(value: int, factor: int) -> int:
    return (value * factor) & _MASK
