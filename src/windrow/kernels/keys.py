"""Keys as 64-bit words: hashes, the mixing that spreads them over buckets, and a table of them.

Contract: a hash depends on the values alone, never on the process, the machine or its byte order.
Bytes are read eight at a time, least significant first. Lengths go in first, so that no two
different sequences feed the same steps. Equal hashes prove nothing; callers compare values.

The table leads from words to slots, by open addressing and linear probing:

    cells   [ EMPTY | 4 | 0 | GONE | EMPTY | 2 ... ]      a power of two, at most half in use
    words   words[slot] is the word of the key in that slot

Several slots may have one word (a hash tells keys apart only almost always). A look-up therefore
gives a candidate and its place; the caller compares values and, where they differ, asks again from
the next place on. A slot that is given up leaves GONE behind, so that no chain of probes breaks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.fetch import AHEAD, fetch_item
from windrow.kernels.jit import kernel, kernel_part

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


EMPTY, GONE = -1, -2

Cells = NDArray[np.int64]
Slots = NDArray[np.int64]


class KeySearch(NamedTuple):
    """A batch of look-ups: the word of every row, and where each one's search has come to.

    `rows` are those still searching; `places` and `slots` have an entry for every row.
    """

    keys: Words
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    slots: Slots


@kernel
def first_places(cells: Cells, keys: Words) -> NDArray[np.int64]:
    """Where the search for each key begins."""
    last = np.uint64(len(cells) - 1)
    places = np.empty(len(keys), np.int64)
    for i in range(len(keys)):
        places[i] = np.int64(mixed(keys[i]) & last)
    return places


@kernel_part
def _ask(cells: Cells, words: Words, search: KeySearch, turn: int) -> None:
    """Asks for the cell of a row that comes later, and for the word of one that comes sooner."""
    if turn + 2 * AHEAD < len(search.rows):
        fetch_item(cells, search.places[search.rows[turn + 2 * AHEAD]])
    if turn + AHEAD < len(search.rows):
        fetch_item(words, max(cells[search.places[search.rows[turn + AHEAD]]], 0))


@kernel
def find_or_claim(
    cells: Cells, words: Words, search: KeySearch, unused: Slots, claimants: NDArray[np.int64]
) -> int:
    """Finds a candidate slot for each of the rows searched, going on from its place.

    Fills `slots` and `places` of those rows. A row that finds none claims the next of `unused`
    (as many as there are rows), is noted in `claimants`, and is what later rows with its word
    find. Gives how many were claimed; `cells` must have an empty cell for each, and one more.
    """
    last = len(cells) - 1
    claimed = 0
    for turn in range(len(search.rows)):
        _ask(cells, words, search, turn)
        row = search.rows[turn]
        place = search.places[row]
        slot = cells[place]
        while slot != EMPTY and (slot == GONE or words[slot] != search.keys[row]):
            place = (place + 1) & last
            slot = cells[place]
        if slot == EMPTY:
            slot = unused[claimed]
            claimants[claimed] = row
            claimed += 1
            cells[place] = slot
            words[slot] = search.keys[row]
        search.places[row] = place
        search.slots[row] = slot
    return claimed


@kernel
def find(cells: Cells, words: Words, search: KeySearch) -> None:
    """Finds a candidate slot for each of the rows searched, going on from its place, or EMPTY."""
    last = len(cells) - 1
    for turn in range(len(search.rows)):
        _ask(cells, words, search, turn)
        row = search.rows[turn]
        place = search.places[row]
        slot = cells[place]
        while slot != EMPTY and (slot == GONE or words[slot] != search.keys[row]):
            place = (place + 1) & last
            slot = cells[place]
        search.places[row] = place
        search.slots[row] = slot


@kernel
def enter(cells: Cells, words: Words, slots: Slots) -> None:
    """Puts slots, with their words, into cells that hold none of them."""
    last = len(cells) - 1
    for slot in slots:
        place = np.int64(mixed(words[slot]) & np.uint64(last))
        while cells[place] != EMPTY:
            place = (place + 1) & last
        cells[place] = slot


@kernel
def leave(cells: Cells, words: Words, slots: Slots) -> None:
    """Takes slots out of the cells."""
    last = len(cells) - 1
    for turn in range(len(slots)):
        if turn + 2 * AHEAD < len(slots):
            fetch_item(words, slots[turn + 2 * AHEAD])
        if turn + AHEAD < len(slots):
            fetch_item(cells, np.int64(mixed(words[slots[turn + AHEAD]]) & np.uint64(last)))
        slot = slots[turn]
        place = np.int64(mixed(words[slot]) & np.uint64(last))
        while cells[place] != slot:
            place = (place + 1) & last
        cells[place] = GONE
