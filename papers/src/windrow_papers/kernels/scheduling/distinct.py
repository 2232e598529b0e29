"""W-DISTINCT (algorithm 4.1): a hash table H of all tuples, and DL, those that were reported.

    H, bucket of a       newest a9 -> a7 -> a2 oldest      a2 expires: its duplicate a9 is reported
    DL, sorted by time   a2  b3  c6                                    then:  b3  c6  a9

Step 7 adds the duplicate that was found to DL, not the expired tuple, as it is printed. A bucket's
newest tuple is found first; were it the oldest, every tuple of a value would be reported in turn.
A row that leaves without a duplicate is said to leave, which the paper does for negative input only
and leaves to time stamps otherwise.
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.buckets import link, unlink_oldest
from windrow_papers.kernels.scheduling.machine import (
    CAME,
    COMPARED,
    DL_FIRST,
    DL_LAST,
    DL_SIZE,
    EARLIER,
    HEAD,
    KEPT,
    KEY,
    LATER,
    LEFT,
    LOOKUPS,
    NEWEST,
    NONE,
    NTA,
    OLDEST,
    REPLACED,
    REPORTED,
    SCHEDULING,
    STORED,
    TAIL,
    TIME,
    Machine,
    emit,
    leaves_at,
    spend,
)


@lean_kernel
def take_into_distinct(machine: Machine, item: int) -> None:
    """A tuple comes, or with negative tuples one of the negative's values goes."""
    if item < 0:
        key = machine.tuples[-item - 1, KEY]
        spend(machine.numbers, LOOKUPS, 1)
        _remove(machine, machine.keys[key, OLDEST])
        return
    key, time = machine.tuples[item, KEY], machine.tuples[item, TIME]
    if machine.numbers[SCHEDULING] != NTA:
        expire_distinct(machine, time)
        machine.tuples[machine.numbers[TAIL], KEPT] = item
        machine.numbers[TAIL] += 1
    spend(machine.numbers, LOOKUPS, 1)  # step 16: probe H
    if machine.keys[key, NEWEST] == NONE:
        _report(machine, item)
        emit(machine, CAME, key, 0, 0, time)
    link(machine, 0, item)  # step 20
    machine.numbers[STORED] += 1


@lean_kernel
def expire_distinct(machine: Machine, clock: int) -> None:
    """Lets go of the tuples that are no longer alive at an instant, oldest first."""
    while machine.numbers[HEAD] < machine.numbers[TAIL]:
        oldest = machine.tuples[machine.numbers[HEAD], KEPT]
        spend(machine.numbers, COMPARED, 1)
        if leaves_at(machine, oldest) > clock:
            return
        machine.numbers[HEAD] += 1
        _remove(machine, oldest)


@lean_kernel
def _remove(machine: Machine, at: int) -> None:
    """Steps 2 to 13."""
    key = machine.tuples[at, KEY]
    unlink_oldest(machine, 0, at)
    machine.numbers[STORED] -= 1
    spend(machine.numbers, COMPARED, 1)  # step 3: whether DL has it
    if machine.keys[key, REPORTED] != at:
        return
    _take_back(machine, at)
    spend(machine.numbers, LOOKUPS, 1)  # step 5: probe H
    duplicate = machine.keys[key, NEWEST]
    if duplicate == NONE:
        emit(machine, LEFT, key, 0, 0, leaves_at(machine, at))
    else:
        _report(machine, duplicate)
        emit(machine, REPLACED, key, 0, 0, leaves_at(machine, at))


@lean_kernel
def _report(machine: Machine, at: int) -> None:
    """Adds to DL, which is sorted by time: its place is searched from the newest on."""
    numbers, links = machine.numbers, machine.tuples
    earlier = numbers[DL_LAST]
    spend(machine.numbers, COMPARED, 1)
    while earlier > at:
        earlier = links[earlier, EARLIER]
        spend(machine.numbers, COMPARED, 1)
    later = numbers[DL_FIRST] if earlier == NONE else links[earlier, LATER]
    links[at, EARLIER], links[at, LATER] = earlier, later
    if earlier == NONE:
        numbers[DL_FIRST] = at
    else:
        links[earlier, LATER] = at
    if later == NONE:
        numbers[DL_LAST] = at
    else:
        links[later, EARLIER] = at
    numbers[DL_SIZE] += 1
    machine.keys[machine.tuples[at, KEY], REPORTED] = at


@lean_kernel
def _take_back(machine: Machine, at: int) -> None:
    """Removes from DL."""
    numbers, links = machine.numbers, machine.tuples
    earlier, later = links[at, EARLIER], links[at, LATER]
    if earlier == NONE:
        numbers[DL_FIRST] = later
    else:
        links[earlier, LATER] = later
    if later == NONE:
        numbers[DL_LAST] = earlier
    else:
        links[later, EARLIER] = earlier
    numbers[DL_SIZE] -= 1
    machine.keys[machine.tuples[at, KEY], REPORTED] = NONE
