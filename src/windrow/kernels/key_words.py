"""Keys as 64-bit words: the hashes behind them, and the mixing that spreads them over buckets.

Contract: a hash depends on the values alone, never on the process, the machine or its byte order.
Bytes are read eight at a time, least significant first. Lengths go in first, so that no two
different sequences feed the same steps. Equal hashes prove nothing; callers compare values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import kernel

Words = NDArray[np.uint64]

NULL_WORD = np.uint64(0x9E6C63D0876A9A47)
"""The word of a NULL inside a hash."""

_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_INCREMENT = np.uint64(0x9E3779B97F4A7C15)


@kernel
def mixed(word: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every input bit moves half the output bits (splitmix)."""
    word = word + _INCREMENT
    word = (word ^ (word >> np.uint64(30))) * _FIRST_FACTOR
    word = (word ^ (word >> np.uint64(27))) * _SECOND_FACTOR
    return word ^ (word >> np.uint64(31))


@kernel
def mixed_words(words: Words) -> Words:
    """`mixed` of every word."""
    out = np.empty_like(words)
    for i in range(len(words)):
        out[i] = mixed(words[i])
    return out


@kernel
def chain_words(hashes: Words, words: Words) -> None:
    """Feeds one more component into each row's hash, in place."""
    for i in range(len(words)):
        hashes[i] = mixed(hashes[i] ^ words[i])


@kernel
def hashed_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Words:
    """The hash of each byte string data[offsets[i] : offsets[i + 1]]."""
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        at, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        value = mixed(stop - at)
        while stop - at >= np.uint64(8):
            value = mixed(value ^ _eight_bytes(data, at))
            at += np.uint64(8)
        if at < stop:
            rest, shift = np.uint64(0), np.uint64(0)
            while at < stop:
                rest |= np.uint64(data[at]) << shift
                shift += np.uint64(8)
                at += np.uint64(1)
            value = mixed(value ^ rest)
        out[i] = value
    return out


@kernel
def _eight_bytes(data: NDArray[np.uint8], at: np.uint64) -> np.uint64:
    # Written out so that LLVM sees one 8-byte load; unsigned, so that no index can be negative.
    return (
        np.uint64(data[at])
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
        | (np.uint64(data[at + np.uint64(3)]) << np.uint64(24))
        | (np.uint64(data[at + np.uint64(4)]) << np.uint64(32))
        | (np.uint64(data[at + np.uint64(5)]) << np.uint64(40))
        | (np.uint64(data[at + np.uint64(6)]) << np.uint64(48))
        | (np.uint64(data[at + np.uint64(7)]) << np.uint64(56))
    )


@kernel
def hashed_lists(words: Words, offsets: NDArray[np.int64]) -> Words:
    """The hash of each sequence of words, in order."""
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        value = mixed(np.uint64(offsets[i + 1] - offsets[i]))
        for at in range(offsets[i], offsets[i + 1]):
            value = mixed(value ^ words[at])
        out[i] = value
    return out


@kernel
def hashed_bags(words: Words, offsets: NDArray[np.int64]) -> Words:
    """The hash of each bag of words: the order does not count."""
    out = np.empty(len(offsets) - 1, np.uint64)
    for i in range(len(out)):
        total = np.uint64(offsets[i + 1] - offsets[i])
        for at in range(offsets[i], offsets[i + 1]):
            total += mixed(words[at])
        out[i] = mixed(total)
    return out
