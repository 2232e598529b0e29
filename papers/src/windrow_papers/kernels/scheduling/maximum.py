"""W-MAX over the pairs of a join with two windows: the intermediate buffer.

Pairs come in order of maxTS. Which leaves first depends on either of its tuples and its window, so
that the buffer is in no useful order, and is scanned for what has expired:

    buffer     [ p1 p2 p3 p4 p5 p6 ]   at an instant p2 and p5 are no longer alive
               [ p1 p3 p4 p6 | p2 p5 ] the scan moves the others together
                               sorted by when they leave: one output each

With negative tuples the buffer is a hash table by value; a negative pair removes one of its values.
The maximum itself is kept in the same way by all: a count per value.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.answers import pair_time
from windrow_papers.kernels.scheduling.machine import (
    AFTER,
    BEFORE,
    BEST,
    BUFFERED,
    CHANGED,
    COMPARED,
    EMPTIED,
    FIRST,
    HELD,
    KEY,
    LEAVES,
    LOOKUPS,
    NONE,
    NTA,
    PAIR,
    ROOT_CLOCK,
    SCANNED,
    SCHEDULING,
    SECOND,
    VALUE,
    VALUES,
    Machine,
    emit,
    spend,
)


@lean_kernel
def take_into_maximum(machine: Machine, item: int) -> None:
    """A pair comes, or with negative tuples leaves."""
    if item < 0:
        _unlink_equal(machine, -item - 1)
        _forget(machine, -item - 1)
        return
    if machine.numbers[SCHEDULING] == NTA:
        _link(machine, item)
    else:
        expire_maximum(machine, pair_time(machine, item))
        machine.pairs[machine.numbers[BUFFERED], HELD] = item
    machine.numbers[BUFFERED] += 1
    value = machine.tuples[machine.pairs[item, FIRST], VALUE]
    machine.by_value[value, VALUES] += 1
    machine.numbers[BEST] = max(machine.numbers[BEST], value)
    emit(machine, CHANGED, 0, machine.numbers[BEST], 0, pair_time(machine, item))


@lean_kernel
def expire_maximum(machine: Machine, clock: int) -> None:
    """Scans the buffer for what is no longer alive, unless it was scanned for this instant."""
    if clock == machine.numbers[ROOT_CLOCK]:
        return
    machine.numbers[ROOT_CLOCK] = clock
    buffer, size = machine.pairs, machine.numbers[BUFFERED]
    spend(machine.numbers, SCANNED, size)
    # The upper half of the column is free: no more pairs are held than come in all.
    alive, expired, aside = 0, 0, len(buffer) // 2
    for at in range(size):
        if machine.pairs[buffer[at, HELD], LEAVES] > clock:
            buffer[alive, HELD] = buffer[at, HELD]
            alive += 1
        else:
            _sort_in(machine, aside, expired, buffer[at, HELD])
            expired += 1
    for at in range(aside, aside + expired):
        _forget(machine, buffer[at, HELD])


@lean_kernel
def _sort_in(machine: Machine, start: int, size: int, pair: int) -> None:
    """Adds to a stretch of the buffer that is sorted by when pairs leave."""
    buffer, at = machine.pairs, start + size
    leaves = machine.pairs[pair, LEAVES]
    while at > start and machine.pairs[buffer[at - 1, HELD], LEAVES] > leaves:
        spend(machine.numbers, COMPARED, 1)
        buffer[at, HELD] = buffer[at - 1, HELD]
        at -= 1
    buffer[at, HELD] = pair


@lean_kernel
def _forget(machine: Machine, pair: int) -> None:
    """Takes a pair's value out of the maximum, and says what it is now."""
    values, numbers = machine.by_value, machine.numbers
    values[machine.tuples[machine.pairs[pair, FIRST], VALUE], VALUES] -= 1
    numbers[BUFFERED] -= 1
    while numbers[BEST] != NONE and values[numbers[BEST], VALUES] == 0:
        spend(machine.numbers, COMPARED, 1)
        numbers[BEST] -= 1
    kind = EMPTIED if numbers[BEST] == NONE else CHANGED
    emit(machine, kind, 0, max(numbers[BEST], 0), 0, machine.pairs[pair, LEAVES])


@lean_kernel
def _link(machine: Machine, pair: int) -> None:
    """Adds a pair to the bucket of its key."""
    key = machine.tuples[machine.pairs[pair, FIRST], KEY]
    spend(machine.numbers, LOOKUPS, 1)
    last = machine.keys[key, PAIR]
    machine.pairs[pair, BEFORE], machine.pairs[pair, AFTER] = last, NONE
    if last != NONE:
        machine.pairs[last, AFTER] = pair
    machine.keys[key, PAIR] = pair


@lean_kernel
def _unlink_equal(machine: Machine, negative: int) -> None:
    """Removes a pair with the values of a negative one."""
    tuples, pairs = machine.tuples, machine.pairs
    first, second = tuples[pairs[negative, FIRST]], tuples[pairs[negative, SECOND]]
    spend(machine.numbers, LOOKUPS, 1)
    at = machine.keys[first[KEY], PAIR]
    spend(machine.numbers, COMPARED, 1)
    while (
        tuples[pairs[at, FIRST], VALUE] != first[VALUE]
        or tuples[pairs[at, SECOND], VALUE] != second[VALUE]
    ):
        at = pairs[at, BEFORE]
        spend(machine.numbers, COMPARED, 1)
    before, after = pairs[at, BEFORE], pairs[at, AFTER]
    if before != NONE:
        pairs[before, AFTER] = after
    if after != NONE:
        pairs[after, BEFORE] = before
    else:
        machine.keys[first[KEY], PAIR] = before
