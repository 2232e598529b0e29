r"""A hash with ordered buckets: each in blocks of slots, the oldest tuple first.

    own block          span, link    [ key entry | key entry | ... ]      a ring: `span` says where
                             |                                            its first is, and how many
                             | link                                       there are
                             v
    blocks behind it   last -> first -> second -> .. -> last              rings too; `link` leads
                                                                          round

The tuples of a bucket lie side by side: a probe waits for memory about once, however large the
window is. Spans and links lie apart from them, close together: of many blocks a near cache has
these, and what comes or goes waits for the line of its own slot alone. What the own block has no room for goes into blocks behind it. The own block holds the
oldest, and is full while there are others: as one tuple leaves it, the oldest behind it moves up.
Nothing is gone through on the way, so that a bucket in which all tuples have one key costs no more.

Who knows which keys come next asks for their blocks before they are needed (`read_head`, then the
slots): memory is then waited for together.

Blocks have more slots than the `size` tuples that a bucket is made for, which keys spread at random
exceed now and then: then nearly all of them suffice.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.fetch import fetch
from windrow.kernels.jit import lean_kernel, lean_kernel_part
from windrow.kernels.structures.store import (
    BUCKETS,
    FREE,
    FREE_NODES,
    HASH,
    HELD,
    KIND,
    MOVED,
    NONE,
    TOUCHED,
    Int64s,
    Store,
    queue_place,
)

SPAN, LINK = range(2)
"""The columns of a block among the nodes; its line among the slots has a key and an entry each."""

BITS = 20
LOW = (1 << BITS) - 1
"""A span is `first << 20 | count`; a place is `block << 20 | slot`."""

AHEAD = 64
"""Keys whose blocks are asked for together."""

_FAR = 1 << 16
"""Numbers of 8 bytes: half a megabyte."""

_SLOTS_PER_LINE = 4
"""Of a line of memory, 64 bytes."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Spreads keys over a word's upper half."""


@lean_kernel_part
def slots_of(store: Store) -> int:
    """How many slots a block has."""
    return int(store.slots.shape[1]) >> 1


@lean_kernel_part
def bucket_of(store: Store, key: int) -> int:
    """The bucket of a key: its spread upper half, scaled to the number of buckets."""
    spread = (np.uint64(key) * _GOLDEN) >> np.uint64(32)
    return int(np.int64((spread * np.uint64(store.numbers[BUCKETS])) >> np.uint64(32)))


@lean_kernel_part
def bucket_insert(store: Store, key: int, entry: int) -> None:
    """Adds an entry at the end of its bucket; a block must be free."""
    nodes, slots = store.nodes, slots_of(store)
    own = bucket_of(store, key)
    last = nodes[own, LINK]
    if last == NONE and nodes[own, SPAN] & LOW < slots:
        _push(store, own, key, entry)
        return
    if last == NONE:
        last = _take_block(store)
        nodes[last, LINK] = last
        nodes[own, LINK] = last
    elif nodes[last, SPAN] & LOW == slots:
        first = nodes[last, LINK]
        nodes[last, LINK] = _take_block(store)
        last = nodes[last, LINK]
        nodes[last, LINK] = first
        nodes[own, LINK] = last
    _push(store, last, key, entry)


@lean_kernel_part
def bucket_remove(store: Store, key: int) -> int:
    """Takes the oldest entry out of the bucket of a key, and gives it; there must be one."""
    nodes, own = store.nodes, bucket_of(store, key)
    entry = int(store.slots[own, 2 * (nodes[own, SPAN] >> BITS) + 1])
    _pop(store, own)
    last = nodes[own, LINK]
    if last == NONE:
        return entry
    behind = nodes[last, LINK]
    at = 2 * (nodes[behind, SPAN] >> BITS)
    _push(store, own, store.slots[behind, at], store.slots[behind, at + 1])
    _pop(store, behind)
    store.numbers[MOVED] += 1
    if nodes[behind, SPAN] & LOW == 0:
        nodes[own if behind == last else last, LINK] = (
            NONE if behind == last else nodes[behind, LINK]
        )
        nodes[behind, LINK] = store.numbers[FREE]
        store.numbers[FREE] = behind
        store.numbers[FREE_NODES] += 1
    return entry


@lean_kernel_part
def bucket_first(store: Store, low: int, high: int) -> int:
    """The first place with a key in a range; of one key in its bucket, else in any; or NONE."""
    return _scan(store, bucket_of(store, low) if low == high else 0, 0, low, high)


@lean_kernel_part
def bucket_following(store: Store, at: int, low: int, high: int) -> int:
    """The place after one of the same probe, or NONE."""
    block = at >> BITS
    n = (at & LOW) - (store.nodes[block, SPAN] >> BITS)
    return _scan(store, block, (n if n >= 0 else n + slots_of(store)) + 1, low, high)


@lean_kernel_part
def bucket_entry(store: Store, at: int) -> int:
    """The entry at a place."""
    return int(store.slots[at >> BITS, 2 * (at & LOW) + 1])


@lean_kernel_part
def is_far(store: Store) -> bool:
    """Whether blocks lie where it pays to ask for them ahead: not all of them in a near cache."""
    return bool(store.numbers[KIND] == HASH and store.slots.size >= _FAR)


@lean_kernel_part
def read_head(store: Store, key: int) -> None:
    """Asks for the span of a key's bucket."""
    fetch(store.nodes, bucket_of(store, key), SPAN)


@lean_kernel_part
def read_slots(store: Store, key: int) -> None:
    """Asks for each line of memory that a key's bucket has in use; its head is near."""
    own, slots = bucket_of(store, key), slots_of(store)
    first, count = store.nodes[own, SPAN] >> BITS, store.nodes[own, SPAN] & LOW
    for n in range(0, count, _SLOTS_PER_LINE):
        at = first + n
        fetch(store.slots, own, 2 * (at - slots if at >= slots else at))


@lean_kernel_part
def read_free(store: Store, key: int) -> None:
    """Asks for the slot that the next tuple of a key's bucket is put into; its head is near."""
    own, slots = bucket_of(store, key), slots_of(store)
    at = (store.nodes[own, SPAN] >> BITS) + (store.nodes[own, SPAN] & LOW)
    fetch(store.slots, own, 2 * (at - slots if at >= slots else at))


@lean_kernel
def read_buckets(store: Store, keys: Int64s, start: int) -> None:
    """Asks for what the probes from a key on are going to look at, to wait for memory once for all."""
    stop = min(start + AHEAD, len(keys))
    for n in range(start, stop):
        read_head(store, keys[n])
    for n in range(start, stop):
        read_slots(store, keys[n])


@lean_kernel_part
def read_oldest_heads(store: Store, count: int) -> None:
    """Asks for the spans of the buckets that the oldest entries are about to leave."""
    for n in range(min(count, store.numbers[HELD])):
        read_head(store, store.queue[queue_place(store, n), 0])


@lean_kernel_part
def read_oldest_slots(store: Store, count: int) -> None:
    """Asks for the slots that the oldest entries are in; their heads are near."""
    for n in range(min(count, store.numbers[HELD])):
        own = bucket_of(store, store.queue[queue_place(store, n), 0])
        fetch(store.slots, own, 2 * (store.nodes[own, SPAN] >> BITS))


@lean_kernel
def rebucket(old: Store, new: Store, start: int) -> int:
    """Moves entries, from the n-th oldest on, into new buckets while there are free blocks.

    Gives how many are moved. The queue is the new one's; of the old one the blocks are used up.
    """
    for n in range(start, len(old.queue)):
        if new.numbers[FREE_NODES] == 0:
            return n
        key = new.queue[n, 0]
        bucket_insert(new, key, bucket_remove(old, key))
    return len(old.queue)


@lean_kernel_part
def _scan(store: Store, block: int, n: int, low: int, high: int) -> int:
    """The first place with a key in a range, from the n-th tuple of a block on; or NONE."""
    nodes, slots, touched = store.nodes, slots_of(store), 0
    found = NONE
    while block != NONE:
        first, count = nodes[block, SPAN] >> BITS, nodes[block, SPAN] & LOW
        while n < count:
            at = first + n
            if at >= slots:
                at -= slots
            touched += 1
            if low <= store.slots[block, 2 * at] <= high:
                found = (block << BITS) | at
                break
            n += 1
        if found != NONE:
            break
        block, n = _block_after(store, block, low, high), 0
    store.numbers[TOUCHED] += touched
    return found


@lean_kernel_part
def _block_after(store: Store, block: int, low: int, high: int) -> int:
    """The block to go on with: of the same bucket, or by a range of keys of the next; or NONE."""
    nodes, buckets = store.nodes, store.numbers[BUCKETS]
    own = block
    if block >= buckets:  # any tuple of the block says whose it is
        own = bucket_of(store, store.slots[block, 2 * (nodes[block, SPAN] >> BITS)])
    last = nodes[own, LINK]
    if last not in (NONE, block):
        return int(nodes[last if block == own else block, LINK])
    return NONE if low == high or own + 1 == buckets else own + 1


@lean_kernel_part
def _push(store: Store, block: int, key: int, entry: int) -> None:
    """Adds an entry at the end of a block that is not full."""
    nodes, slots, span = store.nodes, slots_of(store), store.nodes[block, SPAN]
    at = (span >> BITS) + (span & LOW)
    if at >= slots:
        at -= slots
    nodes[block, SPAN] = span + 1
    store.slots[block, 2 * at] = key
    store.slots[block, 2 * at + 1] = entry


@lean_kernel_part
def _pop(store: Store, block: int) -> None:
    """Takes the first entry out of a block that is not empty."""
    span = store.nodes[block, SPAN]
    first = (span >> BITS) + 1
    if first == slots_of(store):
        first = 0
    store.nodes[block, SPAN] = (first << BITS) + (span & LOW) - 1


@lean_kernel_part
def _take_block(store: Store) -> int:
    """A free block, now empty."""
    block = store.numbers[FREE]
    store.numbers[FREE] = store.nodes[block, LINK]
    store.numbers[FREE_NODES] -= 1
    store.nodes[block, SPAN] = 0
    return int(block)
