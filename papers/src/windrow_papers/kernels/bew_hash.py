"""BEW-join as published, by hash: as by nested loop, but each level goes through one bucket.

2003, section 3.1. The buffers are hash tables; scanning a buffer is replaced by probing the bucket
of the key, which is updated as the buffer was: what no tuple to come can meet is taken out of it.
Rarely probed buckets have an update routine of their own (`tables.py`).

A level whose stream shares no key with those above it has no bucket to probe: it goes through the
whole buffer.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.tuple_at_a_time.machine import Move
from windrow.kernels.tuple_at_a_time.tape import (
    KEY_TESTS,
    TOUCHED,
    WINDOW_TESTS,
    Buffers,
    FoundCombinations,
    Int64s,
    Tape,
    TupleConditions,
    Tuples,
)
from windrow_papers.kernels.loop_machine import LoopMachine, Stack, horizon
from windrow_papers.kernels.loops import agrees, begin_with, give, go_down, shrink, take_next
from windrow_papers.kernels.tables import (
    NONE,
    TUPLES_PER_BUCKET,
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
from windrow_papers.kernels.trace import TOUCH, Record, Trace, note


class BewHash(LoopMachine):
    """BEW-join whose loops go through the buckets of keys."""

    def __init__(
        self, conditions: TupleConditions, first: Int64s, order: Int64s, trace: Trace | None = None
    ) -> None:
        super().__init__(conditions, first, order, trace)
        self._probed_by = keys_of_levels(conditions.keyed, order)
        self._tables = empty_tables(int(first[-1]), buckets_for(0), order, self._probed_by)
        self._is_linked = True  # whether every buffered tuple is in the tables

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in self._tables)

    def adopt(self, tape: Tape, turns: Int64s) -> None:
        """Takes tuples whose combinations were all given before."""
        super().adopt(tape, turns)
        self._is_linked = False

    def begin(self, tape: Tape, turns: Int64s, coming: Int64s | None = None) -> None:
        """Hands over the next arrivals."""
        super().begin(tape, turns, coming)
        if not self._is_linked:
            self._link_buffered(tape)

    def fill(self, tape: Tape, found: FoundCombinations) -> bool:
        """Adds combinations while there is room; whether all arrivals are through.

        Between two arrivals the tables grow with what is buffered.
        """
        while True:
            is_through = bew_hash(
                tape, self.conditions, self.arrivals, (self.buffers, self._tables), self.stack,
                found, (self.work, self.trace),
            )  # fmt: skip
            if is_through or self.stack.level[0] > 0:
                return is_through
            self._link_buffered(tape)

    def _link_buffered(self, tape: Tape) -> None:
        """Makes tables for what is buffered; buckets only ever become more."""
        held = self.buffers.next - self.buffers.head
        buckets = max(self._tables.heads.shape[2], buckets_for(int(held.max())))
        tables = empty_tables(len(tape.times), buckets, self.stack.order, self._probed_by)
        tables.gone[:] = self._tables.gone
        link_all(tables, tape, self.buffers)
        self._tables, self._is_linked = tables, True

    def trim(self, tape: Tape, coming: Int64s) -> None:
        """Drops what lies in front of the buffers and nothing to come can meet."""
        if not self._is_linked:
            self._link_buffered(tape)
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
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: tuple[Buffers, Tables],
    stack: Stack,
    found: FoundCombinations,
    record: Record,
) -> bool:
    """Joins arrivals until all are through (True) or no room is left for combinations.

    It also stops before an arrival for which the tables are too full, on level 0.
    """
    work, trace = record
    buffers, tables = buffered
    innermost = len(stack.streams) - 1
    most_held = TUPLES_PER_BUCKET * tables.heads.shape[2]
    while True:
        if stack.level[0] == 0:
            last = stack.streams[0]  # no other stream has become longer
            if buffers.next[last] - buffers.head[last] >= most_held:
                return False
            start = take_next(tape, arrivals, buffers, trace)
            if start < 0:
                return True
            begin_with(stack, start, buffers.next[start] - 1)
            link(tables, tape, start, stack.chosen[0])
            update_one_bucket(tables, tape, conditions, arrivals, buffers, record)
            _enter(tape, conditions, arrivals, buffered, stack, record)
        level = stack.level[0]
        stream, key = stack.streams[level], tables.probed_by[stack.streams[0], level]
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
        if not agrees(tape, conditions, stack, at):
            continue
        stack.chosen[level] = at
        if level < innermost:
            _enter(tape, conditions, arrivals, buffered, stack, record)
        else:
            give(found, stack, record)


@kernel
def _enter(
    tape: Tape,
    conditions: TupleConditions,
    arrivals: Tuples,
    buffered: tuple[Buffers, Tables],
    stack: Stack,
    record: Record,
) -> None:
    """Goes one level down: the period of its stream, and the first tuple of the key's bucket."""
    buffers, tables = buffered
    below = stack.level[0] + 1
    stream, key = stack.streams[below], tables.probed_by[stack.streams[0], below]
    shrink(tape, conditions.upper, stack)
    stack.horizon[below] = horizon(conditions.upper, arrivals.coming, stream)
    tables.before[below] = NONE
    if key == NONE:
        first = _following(buffers, tables, stream, key, buffers.head[stream] - 1)
    else:
        above = 0
        while not conditions.keyed[stack.streams[above], key]:
            above += 1
        bucket = bucket_of(tables, tape.words[stack.chosen[above], key])
        tables.was_probed[stream, key, bucket] = True
        first = tables.heads[stream, key, bucket]
    go_down(stack, first, record)


@kernel
def _following(buffers: Buffers, tables: Tables, stream: int, key: int, at: int) -> int:
    """The tuple after one in its list; in the buffer, where there is no key."""
    if key != NONE:
        return int(tables.after[key, at])
    return at + 1 if at + 1 < buffers.next[stream] else NONE
