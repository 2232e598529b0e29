"""What the operators of a query work on: tuples, queues, stores, counters and the clock.

A tuple is the number of its arrival, a joined tuple the number of its pair; what they hold is read
off `tuples` and `pairs`. In a queue a number n stands for a tuple and -n - 1 for its negative.

    tuples    0    1    2    3    4    5          in order of time, all streams together
    KEPT      stream 0:  0, 2, 3                  a buffer in order of time, lines [HEAD, TAIL)
    keys      bucket of key k: newest 3 --older--> 2 --older--> 0

Everything is whole numbers in few arrays, so that one compiled version serves all queries.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.jit import lean_kernel_part

Int64s = NDArray[np.int64]

NONE = -1
FAR = 1 << 62
"""An instant by which everything has expired."""

ITA, TPA, NTA = range(3)
"""Schedulings: input triggered, time probing, negative tuples."""

SELECT, LOOK_UP, NOTHING = range(3)
"""What stands above a scan: a selection, a join with a table of one column, nothing."""

GROUP, DISTINCT, ANSWER, MAX = range(4)
"""The operator at the top. ANSWER keeps no state of the query: it says what comes and leaves."""

RUNS, LOOKUPS, COMPARED, SCANNED, PROBES = range(5)
"""The work.

RUNS      operators taking a tuple from their queue, or scheduled because a stored one expires
LOOKUPS   of a hash table
COMPARED  tuples whose time or values were compared
SCANNED   tuples of an intermediate buffer looked at by a sequential scan for expired ones
PROBES    operators asked for their clock
"""

STREAM, TIME, TESTED, KEY, VALUE = range(5)
NEWER, OLDER, EARLIER, LATER, KEPT = 5, 6, 7, 8, 9
STORED_BY_OPERATORS, STORED_BY_EXPIRE, FINISHED = 11, 12, 13
"""Columns of a tuple, and of its number.

TESTED     what the selection or the table looks at
NEWER ..   links within a bucket and (EARLIER, LATER) within the distinct list
KEPT       a buffer per stream in order of time, from line HEAD to line TAIL
STORED ..  what is stored once the arrival of that number is through, and the clock then
"""

FIRST, SECOND, LEAVES, BEFORE, AFTER, HELD = range(6)
"""Columns of a pair.

FIRST ..   its tuples of stream 0 and 1
LEAVES     the instant from which one of them is no longer alive
BEFORE ..  its neighbors in a bucket
HELD       a buffer of pairs, from line 0 on
"""

IS_MEMBER, VALUES = range(2)
"""Columns of a value: whether the table has it, and how many pairs in the buffer have it."""

NEWEST, OLDEST, TOTAL, COUNT, REPORTED, PAIR = 0, 2, 4, 5, 6, 7
"""Of a key: its bucket per stream (NEWEST + stream), its group, the tuple in DL, its last pair."""

CAME, LEFT, REPLACED, CHANGED, EMPTIED = range(5)
"""Kinds of outputs: a row comes, leaves, stands for an equal one; a group's value; no value."""

KIND, OUT_KEY, OUT_VALUE, OUT_OTHER, TRUE_AT, MADE_AT = range(6)
"""Columns of an output: when it became true, and when it was produced."""

(
    NOW, NEXT, CLOCK, PROBED, JOIN_CLOCK, ROOT_CLOCK,
    HEAD, TAIL, EXPIRE, QUEUE_HEAD, QUEUE_TAIL,
    STORED, HANDLES, DL_FIRST, DL_LAST, DL_SIZE, BUFFERED, BEST, PAIRS, OUTPUTS,
) = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 19, 20, 21, 22, 23, 24, 25, 26)  # fmt: skip
"""Numbers that change. HEAD, TAIL and EXPIRE have one per stream, queues one each."""

WORK, PLAN = 27, 32
SCHEDULING, LEAF, ROOT, HAS_JOIN, THRESHOLD, WINDOW, COST = 32, 33, 34, 35, 36, 37, 39
"""Numbers that stay: WINDOW of stream 0 and of stream 1, COST of every kind of work."""

TO_LEAF, TO_JOIN, TO_ROOT = range(3)


class Machine(NamedTuple):
    """A query under one scheduling, over tuples that are all known and come at their times.

    Attributes:
        numbers: the clock, counters and the plan.
        tuples: a line per arrival, in order of time.
        keys: a line per key.
        by_value: a line per value.
        pairs: a line per pair that the join gave.
        queues: a line per queue.
        outputs: a line per output.
    """

    numbers: Int64s
    tuples: Int64s
    keys: Int64s
    by_value: Int64s
    pairs: Int64s
    queues: Int64s
    outputs: Int64s

    @property
    def work(self) -> Int64s:
        """What was done so far."""
        return self.numbers[WORK:PLAN]


def empty_machine(plan: Int64s, members: Int64s, arrivals: Int64s, pairs: int) -> Machine:
    """A machine before its first tuple.

    Args:
        plan: from SCHEDULING to the last COST.
        members: the values that the table has.
        arrivals: columns STREAM to VALUE, a line each, in order of time.
        pairs: how many pairs the join will give.
    """
    count = len(arrivals)
    values = int(arrivals[:, [TESTED, VALUE]].max(initial=0)) + 1
    numbers = np.zeros(PLAN + len(plan), np.int64)
    numbers[PLAN:] = plan
    numbers[[CLOCK, PROBED, JOIN_CLOCK, ROOT_CLOCK]] = -FAR
    numbers[[DL_FIRST, DL_LAST, BEST]] = NONE
    tuples = np.full((count, FINISHED + 1), NONE, np.int64)
    tuples[:, : VALUE + 1] = arrivals
    keys = np.full((int(arrivals[:, KEY].max(initial=0)) + 1, PAIR + 1), NONE, np.int64)
    keys[:, [TOTAL, COUNT]] = 0
    by_value = np.zeros((values, VALUES + 1), np.int64)
    by_value[members[members < values], IS_MEMBER] = 1
    return Machine(
        numbers,
        tuples,
        keys,
        by_value,
        pairs=np.full((2 * pairs, HELD + 1), NONE, np.int64),
        queues=np.zeros((TO_ROOT + 1, max(count, pairs) + 2), np.int64),
        outputs=np.zeros((2 * max(count, pairs), MADE_AT + 1), np.int64),
    )


@lean_kernel_part
def spend(numbers: Int64s, kind: int, times: int) -> None:
    """Counts work, which takes its time."""
    numbers[WORK + kind] += times
    numbers[NOW] += numbers[COST + kind] * times


@lean_kernel_part
def push(machine: Machine, queue: int, item: int) -> None:
    """Adds to the end of a queue."""
    machine.queues[queue, machine.numbers[QUEUE_TAIL + queue]] = item
    machine.numbers[QUEUE_TAIL + queue] += 1


@lean_kernel_part
def emit(machine: Machine, kind: int, key: int, value: int, other: int, true_at: int) -> None:
    """Produces an output now."""
    line = machine.outputs[machine.numbers[OUTPUTS]]
    line[KIND], line[OUT_KEY], line[OUT_VALUE], line[OUT_OTHER] = kind, key, value, other
    line[TRUE_AT], line[MADE_AT] = true_at, machine.numbers[NOW]
    machine.numbers[OUTPUTS] += 1


@lean_kernel_part
def leaves_at(machine: Machine, at: int) -> int:
    """The instant from which a tuple is no longer alive: one tick after time + window."""
    window = machine.numbers[WINDOW + machine.tuples[at, STREAM]]
    return int(machine.tuples[at, TIME] + window + 1)
