"""Hash tables of tuples: a bucket per stream and key, its tuples linked from the newest on.

    newest 9 --older--> 7 --older--> 2 oldest        9 <--newer-- 7 <--newer-- 2

Keys are small numbers, and each is its own bucket.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.machine import (
    KEY,
    NEWER,
    NEWEST,
    NONE,
    OLDER,
    OLDEST,
    Machine,
)


@lean_kernel
def link(machine: Machine, stream: int, at: int) -> None:
    """Adds a tuple to its bucket, as the newest."""
    bucket = machine.keys[machine.tuples[at, KEY]]
    newest = bucket[NEWEST + stream]
    machine.tuples[at, OLDER], machine.tuples[at, NEWER] = newest, NONE
    if newest == NONE:
        bucket[OLDEST + stream] = at
    else:
        machine.tuples[newest, NEWER] = at
    bucket[NEWEST + stream] = at


@lean_kernel
def unlink_oldest(machine: Machine, stream: int, at: int) -> None:
    """Takes a tuple, the oldest, out of its bucket."""
    bucket = machine.keys[machine.tuples[at, KEY]]
    newer = machine.tuples[at, NEWER]
    bucket[OLDEST + stream] = newer
    if newer == NONE:
        bucket[NEWEST + stream] = NONE
    else:
        machine.tuples[newer, OLDER] = NONE
