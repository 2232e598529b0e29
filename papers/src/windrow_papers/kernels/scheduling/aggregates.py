"""W-Group-By (algorithm 4.3) with SUM; without GROUP BY, all tuples are of one group.

Every change of a group is an output, whether its value is another or not, and a group without
tuples is emptied (the paper's NULL). The tuples of the window are stored in order of time:

    kept     head --> [ oldest ... newest ] <-- tail        group handle: total, count
                      expire here    add here

With negative tuples nothing needs to be stored but the handles: a negative tuple brings the value
that goes.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.machine import (
    CHANGED,
    COMPARED,
    COUNT,
    EMPTIED,
    HANDLES,
    HEAD,
    KEPT,
    KEY,
    LOOKUPS,
    NTA,
    SCHEDULING,
    STORED,
    TAIL,
    TIME,
    TOTAL,
    VALUE,
    Machine,
    emit,
    leaves_at,
    spend,
)


@lean_kernel
def take_into_group(machine: Machine, item: int) -> None:
    """A tuple comes, or with negative tuples its negative."""
    if item < 0:
        _remove(machine, -item - 1)
        return
    time = machine.tuples[item, TIME]
    if machine.numbers[SCHEDULING] != NTA:
        expire_groups(machine, time)
        machine.tuples[machine.numbers[TAIL], KEPT] = item
        machine.numbers[TAIL] += 1
        machine.numbers[STORED] += 1
    handle = machine.keys[machine.tuples[item, KEY]]
    spend(machine.numbers, LOOKUPS, 1)  # step 14: probe H with the group
    if handle[COUNT] == 0:
        machine.numbers[HANDLES] += 1  # step 16
    handle[COUNT] += 1
    handle[TOTAL] += machine.tuples[item, VALUE]
    emit(machine, CHANGED, machine.tuples[item, KEY], handle[TOTAL], 0, time)


@lean_kernel
def expire_groups(machine: Machine, clock: int) -> None:
    """Lets go of the tuples that are no longer alive at an instant, oldest first."""
    while machine.numbers[HEAD] < machine.numbers[TAIL]:
        oldest = machine.tuples[machine.numbers[HEAD], KEPT]
        spend(machine.numbers, COMPARED, 1)
        if leaves_at(machine, oldest) > clock:
            return
        machine.numbers[HEAD] += 1
        machine.numbers[STORED] -= 1
        _remove(machine, oldest)


@lean_kernel
def _remove(machine: Machine, at: int) -> None:
    """Steps 2 to 11: the group has a new value, or is no more."""
    key = machine.tuples[at, KEY]
    handle = machine.keys[key]
    spend(machine.numbers, LOOKUPS, 1)  # step 3: probe H with the group
    handle[COUNT] -= 1
    handle[TOTAL] -= machine.tuples[at, VALUE]
    if handle[COUNT] == 0:
        machine.numbers[HANDLES] -= 1
        emit(machine, EMPTIED, key, 0, 0, leaves_at(machine, at))
    else:
        emit(machine, CHANGED, key, handle[TOTAL], 0, leaves_at(machine, at))
