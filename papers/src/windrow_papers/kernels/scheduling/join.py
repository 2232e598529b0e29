"""W-Join, symmetric, by hash; and W-Expire, which looks at the join's own buffers.

    a tuple of A      expire A's and B's oldest     not with negative tuples
                      probe B's bucket              each match is a pair for the operator above
                      add to A's buffer and bucket

    a negative of A   remove it from A's buffer and bucket
                      probe B's bucket              each match is a negative pair

A pair's minTS and maxTS are those of its two tuples, which it names. Tuples come in order of time.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.buckets import link, unlink_oldest
from windrow_papers.kernels.scheduling.machine import (
    COMPARED,
    EXPIRE,
    FIRST,
    HEAD,
    JOIN_CLOCK,
    KEPT,
    KEY,
    LEAVES,
    LOOKUPS,
    NEWEST,
    NONE,
    NTA,
    OLDER,
    PAIRS,
    SCHEDULING,
    STORED,
    STREAM,
    TAIL,
    TIME,
    TO_ROOT,
    Machine,
    leaves_at,
    push,
    spend,
)


@lean_kernel
def take_into_join(machine: Machine, item: int) -> None:
    """A tuple comes, or with negative tuples its negative."""
    if item < 0:
        stream = machine.tuples[-item - 1, STREAM]
        _drop_oldest(machine, stream)
        _match(machine, -item - 1, is_negative=True)
        return
    stream, time = machine.tuples[item, STREAM], machine.tuples[item, TIME]
    if machine.numbers[SCHEDULING] != NTA:
        expire_join(machine, time)
    _match(machine, item, is_negative=False)
    machine.tuples[machine.numbers[TAIL + stream], KEPT + stream] = item
    machine.numbers[TAIL + stream] += 1
    machine.numbers[STORED] += 1
    link(machine, stream, item)


@lean_kernel
def expire_join(machine: Machine, clock: int) -> None:
    """Lets go of what is no longer alive in either buffer; nothing is said of it."""
    machine.numbers[JOIN_CLOCK] = clock
    for stream in range(2):
        while machine.numbers[HEAD + stream] < machine.numbers[TAIL + stream]:
            oldest = machine.tuples[machine.numbers[HEAD + stream], KEPT + stream]
            spend(machine.numbers, COMPARED, 1)
            if leaves_at(machine, oldest) > clock:
                break
            _drop_oldest(machine, stream)


@lean_kernel
def expired_next(machine: Machine, clock: int) -> int:
    """The tuple that W-Expire turns into a negative next, in order of expiry; NONE for none yet."""
    found, soonest = NONE, clock + 1
    for stream in range(2):
        if machine.numbers[EXPIRE + stream] < machine.numbers[TAIL + stream]:
            oldest = machine.tuples[machine.numbers[EXPIRE + stream], KEPT + stream]
            spend(machine.numbers, COMPARED, 1)
            if leaves_at(machine, oldest) < soonest:
                found, soonest = oldest, leaves_at(machine, oldest)
    if found != NONE:
        machine.numbers[EXPIRE + machine.tuples[found, STREAM]] += 1
    return found


@lean_kernel
def _drop_oldest(machine: Machine, stream: int) -> None:
    oldest = machine.tuples[machine.numbers[HEAD + stream], KEPT + stream]
    unlink_oldest(machine, stream, oldest)
    machine.numbers[HEAD + stream] += 1
    machine.numbers[STORED] -= 1


@lean_kernel
def _match(machine: Machine, at: int, is_negative: bool) -> None:  # noqa: FBT001
    """Gives the pairs of a tuple with the other stream's."""
    stream, key = machine.tuples[at, STREAM], machine.tuples[at, KEY]
    spend(machine.numbers, LOOKUPS, 1)
    other = machine.keys[key, NEWEST + 1 - stream]
    while other != NONE:
        spend(machine.numbers, COMPARED, 1)
        pair = machine.numbers[PAIRS]
        machine.numbers[PAIRS] += 1
        machine.pairs[pair, FIRST + stream] = at
        machine.pairs[pair, FIRST + 1 - stream] = other
        machine.pairs[pair, LEAVES] = min(leaves_at(machine, at), leaves_at(machine, other))
        push(machine, TO_ROOT, -pair - 1 if is_negative else pair)
        other = machine.tuples[other, OLDER]
