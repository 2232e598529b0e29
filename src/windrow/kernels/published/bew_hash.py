"""BEW-join as published, by hash: as by nested loop, but each level goes through one bucket.

2003, section 3.1. The buffers are hash tables; scanning a buffer is replaced by probing the bucket
of the key, which is updated as the buffer was: what no tuple to come can meet is taken out of it.
Rarely probed buckets have an update routine of their own (`tables.py`).

A level whose stream shares no key with those above it has no bucket to probe: it goes through the
whole buffer.
"""

from __future__ import annotations

from windrow.kernels._jit import kernel
from windrow.kernels.published.arrival import (
    Arrivals,
    Buffers,
    Record,
    Stack,
    agrees,
    give,
    horizon,
    shrink,
    take_next,
)
from windrow.kernels.published.machine import LoopMachine, Move
from windrow.kernels.published.tables import (
    NONE,
    Tables,
    bucket_of,
    buckets_for,
    drop,
    drop_first,
    empty_tables,
    keys_of_levels,
    link,
    link_all,
    unlink,
    update_one_bucket,
)
from windrow.kernels.published.tape import (
    FOUND,
    KEY_TESTS,
    OUTPUT,
    PERIOD,
    PROBES,
    TOUCH,
    TOUCHED,
    WINDOW_TESTS,
    Conditions,
    Found,
    Numbers,
    Tape,
    Trace,
    note,
)


class BewHash(LoopMachine):
    """BEW-join whose loops go through the buckets of keys."""

    def __init__(
        self, conditions: Conditions, first: Numbers, order: Numbers, trace: Trace | None = None
    ) -> None:
        super().__init__(conditions, first, order, trace)
        self._probed_by = keys_of_levels(conditions.keyed, order)
        self._tables = empty_tables(int(first[-1]), buckets_for(0), order, self._probed_by)
        self._is_linked = True  # whether every buffered tuple is in the tables

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in self._tables)

    def adopt(self, tape: Tape, turns: Numbers) -> None:
        """Takes tuples whose combinations were all given before."""
        super().adopt(tape, turns)
        self._is_linked = False

    def begin(self, tape: Tape, turns: Numbers, coming: Numbers | None = None) -> None:
        """Hands over the next arrivals; the tables grow with what is buffered."""
        super().begin(tape, turns, coming)
        held = self.buffers.next - self.buffers.head
        buckets = max(self._tables.heads.shape[2], buckets_for(int(held.max())))
        if buckets > self._tables.heads.shape[2] or not self._is_linked:
            tables = empty_tables(len(tape.times), buckets, self.stack.order, self._probed_by)
            tables.gone[:] = self._tables.gone
            link_all(tables, tape, self.buffers)
            self._tables, self._is_linked = tables, True

    def fill(self, tape: Tape, found: Found) -> bool:
        """Adds combinations while there is room; whether all arrivals are through."""
        return bew_hash(
            tape, self.conditions, self.arrivals, (self.buffers, self._tables), self.stack, found,
            (self.work, self.trace),
        )  # fmt: skip

    def trim(self, tape: Tape, coming: Numbers) -> None:
        """Drops what lies in front of the buffers and nothing to come can meet."""
        record = (self.work, self.trace)
        drop_first(self._tables, tape, self.reach, coming, self.buffers, record)

    def moved(self, move: Move) -> None:
        """Takes note that the tuples have new positions: they are linked anew."""
        super().moved(move)
        self._tables = self._tables._replace(gone=move.entries(self._tables.gone, 0))
        self._is_linked = False


@kernel
def bew_hash(
    tape: Tape,
    conditions: Conditions,
    arrivals: Arrivals,
    buffered: tuple[Buffers, Tables],
    stack: Stack,
    found: Found,
    record: Record,
) -> bool:
    """Joins arrivals until all are through (True) or no room is left for combinations."""
    work, trace = record
    buffers, tables = buffered
    innermost = len(buffers.head) - 1
    while True:
        level = stack.level[0]
        if level == 0:
            start = take_next(tape, arrivals, buffers, trace)
            if start < 0:
                return True
            stack.chosen[0] = buffers.next[start] - 1
            link(tables, tape, start, stack.chosen[0])
            update_one_bucket(tables, tape, conditions, arrivals, buffers, record)
            _enter(tape, conditions, arrivals, buffered, stack, start, record)
            continue
        start = arrivals.turns[arrivals.taken[0] - 1]
        stream, key = stack.order[start, level], tables.probed_by[start, level]
        at = stack.cursor[level]
        if at == NONE:
            stack.level[0] = level - 1
            continue
        if level == innermost and found.filled[0] == len(found.positions):
            return False
        stack.cursor[level] = _following(buffers, tables, stream, key, at)
        work[TOUCHED] += 1
        note(trace, TOUCH, stream, at)
        time = tape.times[at]
        if not tables.gone[at] and time < stack.horizon[level]:
            drop(tables, buffers, stream, at, record)
        if tables.gone[at]:
            if key != NONE:
                bucket = bucket_of(tables, tape.words[at, key])
                unlink(tables, stream, key, bucket, at, tables.before[level])
            continue
        tables.before[level] = at
        work[WINDOW_TESTS] += 1
        if not stack.low[level] <= time <= stack.high[level]:
            continue
        work[KEY_TESTS] += 1
        if not agrees(tape, conditions, stack, start, level, at):
            continue
        if level < innermost:
            stack.chosen[level] = at
            _enter(tape, conditions, arrivals, buffered, stack, start, record)
            continue
        note(trace, OUTPUT, -1, work[FOUND])
        work[FOUND] += 1
        give(found, stack, start, at)


@kernel
def _enter(
    tape: Tape,
    conditions: Conditions,
    arrivals: Arrivals,
    buffered: tuple[Buffers, Tables],
    stack: Stack,
    start: int,
    record: Record,
) -> None:
    """Goes one level down: the period of its stream, and the first tuple of the key's bucket."""
    work, trace = record
    buffers, tables = buffered
    level = stack.level[0] + 1
    stream, key = stack.order[start, level], tables.probed_by[start, level]
    shrink(tape, conditions.upper, stack, start, level)
    stack.horizon[level] = horizon(conditions.upper, arrivals.coming, stream)
    tables.before[level] = NONE
    if key == NONE:
        stack.cursor[level] = _following(buffers, tables, stream, key, buffers.head[stream] - 1)
    else:
        above = 0
        while not conditions.keyed[stack.order[start, above], key]:
            above += 1
        bucket = bucket_of(tables, tape.words[stack.chosen[above], key])
        tables.was_probed[stream, key, bucket] = True
        stack.cursor[level] = tables.heads[stream, key, bucket]
    stack.level[0] = level
    work[PROBES] += 1
    note(trace, PERIOD, stack.low[level], stack.high[level])


@kernel
def _following(buffers: Buffers, tables: Tables, stream: int, key: int, at: int) -> int:
    """The tuple after one in its list; in the buffer, where there is no key."""
    if key != NONE:
        return int(tables.after[key, at])
    return at + 1 if at + 1 < buffers.next[stream] else NONE
