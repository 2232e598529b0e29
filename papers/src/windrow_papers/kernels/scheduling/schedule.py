"""The scan, what stands above it, and the three schedulings.

    ITA   an operator runs when a tuple is in its queue; it looks for expired ones then
    TPA   also when a stored tuple expires and nothing waits: it asks the operators below for their
          clock, down to the next one with a state or to the scan, and expires up to that clock
    NTA   an operator runs when a tuple is in its queue; W-Expire, part of the scan, sends negatives

Clocks are those of tuples: the scan's is the time of the last tuple it read, of whichever stream,
since streams are stamped as they come. So all three learn that time has passed from an arrival:
ITA from one that reaches the operator, TPA and NTA from any.

    arrivals       |        |     |            |          time -->
    clock NOW      [scan..root][..] [....]     [......]   work takes its time; a tuple waits for it
    TPA               probes   ^       ^  when nothing waits
"""

from __future__ import annotations

from windrow.kernels.jit import lean_kernel
from windrow_papers.kernels.scheduling.aggregates import expire_groups, take_into_group
from windrow_papers.kernels.scheduling.answers import expire_answer, take_into_answer
from windrow_papers.kernels.scheduling.distinct import expire_distinct, take_into_distinct
from windrow_papers.kernels.scheduling.join import expire_join, expired_next, take_into_join
from windrow_papers.kernels.scheduling.machine import (
    ANSWER,
    BUFFERED,
    CLOCK,
    COMPARED,
    DISTINCT,
    DL_SIZE,
    EXPIRE,
    FAR,
    FINISHED,
    GROUP,
    HANDLES,
    HAS_JOIN,
    HEAD,
    HELD,
    IS_MEMBER,
    JOIN_CLOCK,
    KEPT,
    LEAF,
    LEAVES,
    LOOKUPS,
    MAX,
    NEXT,
    NONE,
    NOTHING,
    NOW,
    NTA,
    PROBED,
    PROBES,
    QUEUE_HEAD,
    QUEUE_TAIL,
    ROOT,
    RUNS,
    SCHEDULING,
    SELECT,
    STORED,
    STORED_BY_EXPIRE,
    STORED_BY_OPERATORS,
    TAIL,
    TESTED,
    THRESHOLD,
    TIME,
    TO_JOIN,
    TO_LEAF,
    TO_ROOT,
    TPA,
    Machine,
    leaves_at,
    push,
    spend,
)
from windrow_papers.kernels.scheduling.maximum import expire_maximum, take_into_maximum


@lean_kernel
def run(machine: Machine, until: int) -> None:
    """Takes the arrivals up to a number, each at its time or as soon as those before are through."""
    numbers, count = machine.numbers, len(machine.tuples)
    while numbers[NEXT] < until:
        at = numbers[NEXT]
        numbers[NEXT] += 1
        numbers[NOW] = max(numbers[NOW], machine.tuples[at, TIME])
        _scan(machine, at)
        _drain(machine)
        is_idle = at + 1 == count or machine.tuples[at + 1, TIME] > numbers[NOW]
        if machine.numbers[SCHEDULING] == TPA and is_idle:
            _probe(machine)
        _note(machine, at)


@lean_kernel
def finish(machine: Machine) -> None:
    """Lets the rest expire, as if a tuple came long after all others."""
    machine.numbers[CLOCK] = FAR
    if machine.numbers[SCHEDULING] == NTA:
        _send_negatives(machine)
        _drain(machine)
        return
    if machine.numbers[HAS_JOIN]:
        expire_join(machine, FAR)
    _expire_root(machine, FAR)


@lean_kernel
def _scan(machine: Machine, at: int) -> None:
    """Reads a tuple; with negative tuples W-Expire first sends those of the expired."""
    numbers = machine.numbers
    spend(machine.numbers, RUNS, 1)
    numbers[CLOCK] = machine.tuples[at, TIME]
    if numbers[SCHEDULING] == NTA:
        _send_negatives(machine)
        if not numbers[HAS_JOIN]:  # otherwise the join's buffers are W-Expire's
            machine.tuples[numbers[TAIL], KEPT] = at
            numbers[TAIL] += 1
    push(machine, TO_JOIN if numbers[LEAF] == NOTHING else TO_LEAF, at)


@lean_kernel
def _send_negatives(machine: Machine) -> None:
    """W-Expire: a negative per tuple that is no longer alive, oldest first."""
    queue = TO_JOIN if machine.numbers[HAS_JOIN] else TO_LEAF
    at = expired_next(machine, machine.numbers[CLOCK])
    while at != NONE:
        push(machine, queue, -at - 1)
        at = expired_next(machine, machine.numbers[CLOCK])


@lean_kernel
def _drain(machine: Machine) -> None:
    """Runs the operators, from the bottom up, until no queue holds a tuple."""
    numbers, queues = machine.numbers, machine.queues
    for queue in range(TO_ROOT + 1):
        while numbers[QUEUE_HEAD + queue] < numbers[QUEUE_TAIL + queue]:
            item = queues[queue, numbers[QUEUE_HEAD + queue]]
            numbers[QUEUE_HEAD + queue] += 1
            spend(machine.numbers, RUNS, 1)
            if queue == TO_LEAF:
                if _passes(machine, -item - 1 if item < 0 else item):
                    push(machine, TO_JOIN if machine.numbers[HAS_JOIN] else TO_ROOT, item)
            elif queue == TO_JOIN:
                take_into_join(machine, item)
            else:
                _take_into_root(machine, item)
        numbers[QUEUE_HEAD + queue] = numbers[QUEUE_TAIL + queue] = 0


@lean_kernel
def _passes(machine: Machine, at: int) -> bool:
    """Whether the selection lets a tuple pass, or the table has its value."""
    tested = machine.tuples[at, TESTED]
    if machine.numbers[LEAF] == SELECT:
        spend(machine.numbers, COMPARED, 1)
        return bool(tested > machine.numbers[THRESHOLD])
    spend(machine.numbers, LOOKUPS, 1)
    return bool(machine.by_value[tested, IS_MEMBER])


@lean_kernel
def _take_into_root(machine: Machine, item: int) -> None:
    root = machine.numbers[ROOT]
    if root == GROUP:
        take_into_group(machine, item)
    elif root == DISTINCT:
        take_into_distinct(machine, item)
    elif root == ANSWER:
        take_into_answer(machine, item)
    else:
        take_into_maximum(machine, item)


@lean_kernel
def _expire_root(machine: Machine, clock: int) -> None:
    root = machine.numbers[ROOT]
    if root == GROUP:
        expire_groups(machine, clock)
    elif root == DISTINCT:
        expire_distinct(machine, clock)
    elif root == ANSWER:
        expire_answer(machine, clock)
    else:
        expire_maximum(machine, clock)


@lean_kernel
def _probe(machine: Machine) -> None:
    """TPA: schedules the operators of which a stored tuple expires, the lower one first."""
    numbers = machine.numbers
    if numbers[CLOCK] == numbers[PROBED]:
        return
    numbers[PROBED] = numbers[CLOCK]
    if not machine.numbers[HAS_JOIN]:
        if _is_due(machine, 0):
            spend(machine.numbers, RUNS, 1)
            spend(machine.numbers, PROBES, 2)  # what stands above the scan, and the scan
            _expire_root(machine, numbers[CLOCK])
        return
    if _is_due(machine, 0) or _is_due(machine, 1):
        spend(machine.numbers, RUNS, 1)
        spend(machine.numbers, PROBES, 2)  # either stream's scan, or what stands above it
        expire_join(machine, numbers[CLOCK])
    # An unordered buffer does not say whether anything in it expires: it is looked through.
    if machine.numbers[ROOT] == MAX or _is_top_due(machine):
        spend(machine.numbers, RUNS, 1)
        spend(
            machine.numbers, PROBES, 1
        )  # the join, whose clock is as new as what it took or probed
        _expire_root(machine, numbers[JOIN_CLOCK])


@lean_kernel
def _is_due(machine: Machine, stream: int) -> bool:
    """Whether the oldest stored tuple expires, by the scheduler's own clock."""
    numbers = machine.numbers
    if numbers[HEAD + stream] == numbers[TAIL + stream]:
        return False
    spend(machine.numbers, COMPARED, 1)
    oldest = machine.tuples[numbers[HEAD + stream], KEPT + stream]
    return bool(leaves_at(machine, oldest) <= numbers[NOW])


@lean_kernel
def _is_top_due(machine: Machine) -> bool:
    """Whether the pair that leaves first expires, by the scheduler's own clock."""
    if machine.numbers[ROOT] != ANSWER or machine.numbers[BUFFERED] == 0:
        return False
    spend(machine.numbers, COMPARED, 1)
    return bool(machine.pairs[machine.pairs[0, HELD], LEAVES] <= machine.numbers[NOW])


@lean_kernel
def _note(machine: Machine, at: int) -> None:
    """Notes what is stored, and the clock. The answer's rows are their reader's, not counted."""
    numbers, line = machine.numbers, machine.tuples[at]
    stored = numbers[STORED] + numbers[HANDLES] + numbers[DL_SIZE]
    if machine.numbers[ROOT] == MAX:
        stored += numbers[BUFFERED]
    line[STORED_BY_OPERATORS] = stored
    is_apart = machine.numbers[SCHEDULING] == NTA and not machine.numbers[HAS_JOIN]
    line[STORED_BY_EXPIRE] = numbers[TAIL] - numbers[EXPIRE] if is_apart else 0
    line[FINISHED] = numbers[NOW]
