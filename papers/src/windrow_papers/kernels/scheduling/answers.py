"""What stands above a join and is the answer itself: every pair that comes, and when it leaves.

A pair carries its minTS. With one window that says when the pair leaves, and pairs are held in this
order (a heap), so that those which leave are found at its top. With negative tuples nothing is
held: a negative pair says that the pair leaves.

The paper has no operator there. The rows are their reader's, who holds them; so neither they nor
what it takes to hold them in order count as the query's.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.machine import (
    BUFFERED,
    CAME,
    COMPARED,
    FIRST,
    HELD,
    KEY,
    LEAVES,
    LEFT,
    NTA,
    SCHEDULING,
    SECOND,
    TIME,
    VALUE,
    Machine,
    emit,
    spend,
)


@lean_kernel
def take_into_answer(machine: Machine, item: int) -> None:
    """A pair comes, or with negative tuples leaves."""
    if item < 0:
        say(machine, LEFT, -item - 1, machine.pairs[-item - 1, LEAVES])
        return
    time = pair_time(machine, item)
    if machine.numbers[SCHEDULING] != NTA:
        expire_answer(machine, time)
        _add(machine, item)
    say(machine, CAME, item, time)


@lean_kernel
def expire_answer(machine: Machine, clock: int) -> None:
    """Says which pairs are no longer alive at an instant, by the order in which they leave."""
    while machine.numbers[BUFFERED] > 0:
        top = machine.pairs[0, HELD]
        spend(machine.numbers, COMPARED, 1)
        if machine.pairs[top, LEAVES] > clock:
            return
        _remove_top(machine)
        say(machine, LEFT, top, machine.pairs[top, LEAVES])


@lean_kernel
def pair_time(machine: Machine, pair: int) -> int:
    """A pair's maxTS."""
    first = machine.tuples[machine.pairs[pair, FIRST], TIME]
    return int(max(first, machine.tuples[machine.pairs[pair, SECOND], TIME]))


@lean_kernel
def say(machine: Machine, kind: int, pair: int, true_at: int) -> None:
    """Produces a pair as an output."""
    first = machine.tuples[machine.pairs[pair, FIRST]]
    second = machine.tuples[machine.pairs[pair, SECOND]]
    emit(machine, kind, first[KEY], first[VALUE], second[VALUE], true_at)


@lean_kernel
def _add(machine: Machine, pair: int) -> None:
    """Adds to the heap: up from the last place, past all that leave later."""
    pairs, at = machine.pairs, machine.numbers[BUFFERED]
    machine.numbers[BUFFERED] += 1
    while at > 0:
        above = (at - 1) // 2
        if pairs[pairs[above, HELD], LEAVES] <= pairs[pair, LEAVES]:
            break
        pairs[at, HELD] = pairs[above, HELD]
        at = above
    pairs[at, HELD] = pair


@lean_kernel
def _remove_top(machine: Machine) -> None:
    """Takes the top away: the last of the heap goes down, past all that leave sooner."""
    pairs = machine.pairs
    machine.numbers[BUFFERED] -= 1
    size = machine.numbers[BUFFERED]
    pair, at = pairs[size, HELD], 0
    while 2 * at + 1 < size:
        below, right = 2 * at + 1, 2 * at + 2
        if right < size and (pairs[pairs[right, HELD], LEAVES] < pairs[pairs[below, HELD], LEAVES]):
            below = right
        if pairs[pair, LEAVES] <= pairs[pairs[below, HELD], LEAVES]:
            break
        pairs[at, HELD] = pairs[below, HELD]
        at = below
    pairs[at, HELD] = pair
