"""As-of join of two streams: each left row with the right row of its key that is nearest in time.

    push       keeps the rows of both sides, by time
    advance    sweeps over what lies below the watermark W, in time order, and forgets

Below W both inputs are complete. One step takes

    1. the left rows below W, which ask, and the right rows below W, which answer;
    2. the left rows that have waited, where their deadline has passed or their key has an answer;
    3. the newest right row of each key that was kept, which answers for all before it.

and leaves, of what is below W, no more than can still matter:

                          t(l) = W
    -----------r----r-------|----->      backward, nearest: of all right rows below W the newest of
          gone ^    ^ kept               each key is the match of a left row to come
    -----l------------------|----?>      forward, nearest: left rows that may yet find a (better)
         ^ kept, to its deadline         match at W or later

So `newest` holds one row per key at most: for ever, or, with a tolerance, until no left row to come
can reach it, t(r) + tolerance < W. A row in `waiting` takes what it has found before it along.

Which right row a left row takes, and until when one without must wait:

                                 t(l)          B
    backward   ...r......r-------|             |        the last one; nothing to come can be better
    forward                      |-------r     |        the first one, if there is one
    forward                      |-------------|--?     none yet: waits, up to t(l) + tolerance
    nearest    ...r----d---------|----d----]   |        what comes is farther away than r: r it is
    nearest    .......r---d------|-------------|--?]    what comes next may be nearer than r: waits

Right rows to come are at the bound B or later. A left row that waits is final as soon as the
watermark is beyond its *deadline*: the last time at which a right row would be a better match than
what it has.

Right rows of one key and time are put into the order of their columns before the sweep, so that
neither arrival nor partitions decide which of them is the last, or the first.

Example: MATCH_CONDITION (l.ts >= r.ts), r at 12:00:10 and 12:00:20, l at 12:00:25. As W passes
12:00:25, l comes out with the r of 12:00:20, and the r of 12:00:10 has gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.kernels.asof import NOTHING, Timed, mark_tied, newest_at
from windrow.kernels.jit import writable
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import POOL, ChangeBatch, concat, no_rows, select
from windrow.operators.columns.chunks import ChunkBuffer, bound_of_step
from windrow.operators.columns.total_order import order_with_tied
from windrow.operators.engine.base import WaitingOp
from windrow.operators.joins.keyed_rows import NO_KEY, FoundRows, KeySlots, rows_with_keys
from windrow.schema import MAX_TICK, MIN_TICK, Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windrow.physical.nodes.asof_sweep import AsofSweep
    from windrow.plan.nodes.asof_join import AsofMatch

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEFT, RIGHT = 0, 1

STEP_ROWS = 1 << 18
"""About how many rows of a chunk are swept at once: their arrays then stay in the cache."""

EARLIER = "$earlier"
"""The column of waiting rows that holds the time of the match before each; NULL where none is."""

NEVER = MAX_TICK - 1
"""The deadline of a row that waits for as long as there is input: the last time that a row has."""


class AsofSweepOp(WaitingOp):
    """The state and the steps of one as-of join; ports: 0 left, 1 right."""

    kind = "asof-join"

    def __init__(self, node: AsofSweep) -> None:
        self._node = node
        self._keys = tuple(
            tuple(str(one.columns[port]) for one in node.classes) for port in (LEFT, RIGHT)
        )
        self._asks = tuple(dict.fromkeys([*node.keep[LEFT], *self._keys[LEFT]]))
        self._answers = tuple(dict.fromkeys([*node.keep[RIGHT], *self._keys[RIGHT]]))
        own, other = node.left.schema.fields, node.right.schema.fields
        self._left_schema = _schema(self._asks, own)
        self._right_schema = _schema(node.right.schema.names, other)
        self._shown = _schema(node.keep[RIGHT], other)
        self._before_schema = self._shown.append(pa.field(EARLIER, pa.int64()))
        self._looks_back = node.match.direction != "forward"
        self._looks_ahead = node.match.direction != "backward"
        # A left row is final at t < W; where right rows of its own time are no match, at t <= W.
        is_strict = node.match.is_strict and not self._looks_ahead
        self._final_at = 0 if is_strict else 1
        self._key_slots = KeySlots(node.classes)
        self._left, self._right = ChunkBuffer(), ChunkBuffer()
        self._newest, self._waiting = ChunkBuffer(), ChunkBuffer("end")
        buffers = (self._left, self._right, self._newest, self._waiting)
        super().__init__(dict(zip(("left", "right", "newest", "waiting"), buffers, strict=True)))

    def _admit(self, port: int, batch: ChangeBatch) -> None:
        """Keeps the rows; all right columns say which of several rows of one time is the last."""
        buffer, schema = ((self._left, self._left_schema), (self._right, self._right_schema))[port]
        buffer.append(ChangeBatch(select(batch.columns, schema.names), batch.times))

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Gives the matches of the left rows that are final, then forgets."""
        bound = MIN_TICK
        while bound < watermark and self.due() <= watermark:
            bound = bound_of_step((self._left, self._right), watermark, STEP_ROWS)
            before = self.counters.stored
            results = self._step(bound)
            self._measure()
            self.counters.drops += before - self.counters.stored
            self.counters.rows_out += sum(map(len, results))
            yield from results

    def due(self) -> int:
        """When the first row that waits for the watermark, or for its deadline, is passed."""
        dues = [self._left.first + self._final_at, self._right.first + 1, self._waiting.first + 1]
        if self._node.match.tolerance is not None:
            dues.append(self._newest.first + self._node.match.tolerance + 1)
        return min(*dues, MAX_TICK)

    def _step(self, bound: int) -> list[ChangeBatch]:
        """Matches what lies below the bound; the numbers are those of the head of this file."""
        keys = self._key_slots
        answers = self._taken_answers(bound)
        asking = self._taken_asking(bound, answers.slots)
        wanted = keys.wanted(answers.slots, asking.slots)
        kept = rows_with_keys(self._newest, self._keys[RIGHT], wanted)
        whole = self._candidates(answers, kept, asking.before)
        newest = np.full(len(keys) + 1, NOTHING)  # the last is for rows without a key
        newest[kept.owners] = len(answers) + np.arange(len(kept))
        matches = find_matches(
            self._node.match,
            Timed(writable(asking.times), np.where(asking.slots < 0, len(keys), asking.slots)),
            Candidates(
                Timed(writable(answers.times), answers.slots),
                np.append(whole.times, MIN_TICK),
                newest,
            ),
            asking.waited(len(answers) + len(kept)),
        )
        self.counters.probes += len(asking.times)
        self.counters.comparisons += len(whole)
        if self._looks_back:
            self._keep_newest(answers, newest[:-1], kept, bound)
        is_final = self._keep_waiting(asking, whole, matches, bound)
        keys.forget(len(wanted))
        return self._results(asking, whole, matches.places, is_final)

    def _taken_answers(self, bound: int) -> _Answers:
        """The right rows below the bound that can match, in time order, ties by their columns."""
        parts, slots = [], [np.empty(0, np.int64)]
        for rows in self._right.pop_parts_below(bound):
            own = self._key_slots.slots_of(RIGHT, rows)
            usable = np.flatnonzero(own != NO_KEY)
            is_whole = len(usable) == len(rows)
            parts.append(rows if is_whole else rows.take(usable))
            slots.append(own if is_whole else own[usable])
        answers = _Answers(parts, writable(np.concatenate(slots)))
        if bool(np.any(answers.times[1:] == answers.times[:-1])):
            is_tied = np.zeros(len(answers), np.bool_)
            timed = Timed(writable(answers.times), answers.slots)
            mark_tied(timed, np.full(len(self._key_slots), NOTHING), is_tied)
            if is_tied.any():
                rows = concat(parts)
                order = order_with_tied(rows, np.flatnonzero(is_tied))
                return _Answers([rows.take(order)], writable(answers.slots[order]))
        return answers

    def _taken_asking(self, bound: int, answers: Rows) -> _Asking:
        """The left rows below the bound, and of those that wait the ones that are now final.

        `answers` are the slots of the keys of the right rows that have come.
        """
        keys = self._key_slots
        waited = []
        if self._looks_ahead:
            if (expired := self._waiting.pop_below(bound)) is not None:
                waited.append(expired)
            # Whatever answers now lies behind all that has waited: each is final.
            found = rows_with_keys(self._waiting, self._keys[LEFT], keys.wanted(answers))
            if len(found):
                waited.append(found.batch())
                self._waiting.drop(found.rows)
        came = self._left.pop_parts_below(min(bound + 1 - self._final_at, MAX_TICK))
        if not waited:
            slots = [np.empty(0, np.int64), *(keys.slots_of(LEFT, rows) for rows in came)]
            nothing = np.full(sum(map(len, came)), NOTHING)
            return _Asking(came, np.concatenate(slots), nothing, no_rows(self._before_schema))
        before = concat(waited)
        asks = ChangeBatch(select(before.columns, self._left_schema.names), before.times)
        rows = concat([*came, asks])
        numbers = np.concatenate([np.full(len(rows) - len(asks), NOTHING), np.arange(len(asks))])
        order = np.argsort(rows.times, kind="stable")
        rows = rows.take(order)
        found_before = ChangeBatch(select(before.columns, self._before_schema.names), before.times)
        return _Asking([rows], keys.slots_of(LEFT, rows), numbers[order], found_before)

    def _candidates(self, answers: _Answers, kept: FoundRows, before: ChangeBatch) -> ChangeBatch:
        """The shown columns of all that may be a match, in the places by which they are called."""
        parts = [*answers.parts]
        if len(kept):
            parts.append(kept.batch())
        if len(before) or not parts:
            earlier = before.columns.column(EARLIER).fill_null(MIN_TICK).to_numpy()
            parts.append(ChangeBatch(before.columns, earlier))
        names = self._shown.names
        return concat([ChangeBatch(select(part.columns, names), part.times) for part in parts])

    def _keep_newest(self, answers: _Answers, newest: Rows, kept: FoundRows, bound: int) -> None:
        """The last answer of each key takes the place of the one that was kept."""
        is_new = (newest != NOTHING) & (newest < len(answers))
        if not is_new.any():
            self._drop_unreached(bound)
            return
        self._newest.drop(kept.only(is_new))
        self._drop_unreached(bound)
        last = answers.only(np.sort(newest[is_new]), self._answers)
        self._newest.append(last.where(last.times >= self._reached(bound)))

    def _drop_unreached(self, bound: int) -> None:
        """Forgets the newest rows that no left row to come can reach."""
        if self._node.match.tolerance is not None:
            self._newest.drop_below(self._reached(bound))

    def _reached(self, bound: int) -> int:
        """The earliest time that left rows to come can reach."""
        tolerance = self._node.match.tolerance
        return MIN_TICK if tolerance is None else max(bound - tolerance, MIN_TICK)

    def _keep_waiting(
        self, asking: _Asking, whole: ChangeBatch, matches: Matches, bound: int
    ) -> Flags:
        """Keeps the left rows for which a better match may come; gives which are final."""
        if matches.deadlines is None:
            return np.ones(len(asking.times), np.bool_)
        waits = (matches.deadlines >= bound) & (asking.slots != NO_KEY)
        rows = np.flatnonzero(waits)
        if len(rows):
            columns = concat(asking.parts).take(rows).columns
            places = matches.places[rows]
            found = [*_taken(whole.columns, places), pa.array(whole.times).take(_indices(places))]
            names = [*columns.schema.names, *self._shown.names, EARLIER]
            stored = pa.RecordBatch.from_arrays([*columns.columns, *found], names=names)
            ends = matches.deadlines[rows]
            self._waiting.append(ChangeBatch(stored, asking.times[rows], ends))
        is_final: Flags = ~waits
        return is_final

    def _results(
        self,
        asking: _Asking,
        whole: ChangeBatch,
        places: Rows,
        is_final: Flags,
    ) -> list[ChangeBatch]:
        """The rows of the answer, in the order of their left rows, part by part."""
        is_shown = is_final if self._node.gives_unmatched else is_final & (places != NOTHING)
        times = np.append(whole.times, MIN_TICK)
        results, start = [], 0
        for part in asking.parts:
            own = slice(start, start + len(part))
            start = own.stop
            shown = ChangeBatch(select(part.columns, self._node.keep[LEFT]), part.times)
            found = places[own]
            if not is_shown[own].all():
                rows = np.flatnonzero(is_shown[own])
                shown, found = shown.take(rows), found[rows]
            columns = [*shown.columns.columns, *_taken(whole.columns, found)]
            answer = pa.RecordBatch.from_arrays(columns, names=list(self._node.schema.names))
            results.append(ChangeBatch(answer, np.maximum(shown.times, times[found])))
        return [result for result in results if len(result)]


@dataclass(frozen=True)
class _Swept:
    """Rows in time order, in parts, and the slot of each one's key."""

    parts: Sequence[ChangeBatch]
    slots: Rows

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def times(self) -> Rows:
        """Of all rows."""
        return np.concatenate([np.empty(0, np.int64), *(part.times for part in self.parts)])


class _Answers(_Swept):
    """Right rows."""

    def only(self, rows: Rows, names: Sequence[str]) -> ChangeBatch:
        """Some columns of some rows, at least one, in the order of their places."""
        starts = np.cumsum([len(part) for part in self.parts])
        first, taken = 0, []
        for part, own in zip(
            self.parts, np.split(rows, np.searchsorted(rows, starts)), strict=False
        ):
            if len(own):
                taken.append(ChangeBatch(select(part.columns, names), part.times).take(own - first))
            first += len(part)
        return concat(taken)


@dataclass(frozen=True)
class _Asking(_Swept):
    """Left rows.

    `numbers` says of a row that has waited which of `before` it is, NOTHING of the others; those
    hold the match before each, with its time in the column EARLIER.
    """

    numbers: Rows
    before: ChangeBatch

    def waited(self, first: int) -> Waited:
        """Which rows have waited; the matches they have are called by places from `first` on."""
        has_waited = self.numbers != NOTHING
        if not len(self.before):
            return Waited(has_waited, self.numbers)
        has_match = self.before.columns.column(EARLIER).is_valid().to_numpy(zero_copy_only=False)
        is_matched = has_waited & has_match[self.numbers]
        return Waited(has_waited, np.where(is_matched, first + self.numbers, NOTHING))


def _schema(names: Sequence[str], fields: Sequence[Field]) -> pa.Schema:
    types = {field.name: arrow_type(field.type) for field in fields}
    return pa.schema([(name, types[name]) for name in names])


def _indices(places: Rows) -> pa.Array:
    return pa.array(places, mask=places == NOTHING)


def _taken(columns: pa.RecordBatch, places: Rows) -> list[pa.Array]:
    """The rows at the places, NULLs where that is NOTHING."""
    indices = _indices(places)
    return [pc.take(column, indices, memory_pool=POOL) for column in columns.columns]


@dataclass(frozen=True)
class Candidates:
    """Right rows that may be matches, in the places by which they are called.

    Attributes:
        swept: those that came since the last step, in time order: places 0, 1, ..
        times: the time of every candidate, swept ones first, and one more, which NOTHING reads.
        newest: per slot, the place of the last one that came before, or NOTHING; once matches are
            found, the last of all.
    """

    swept: Timed
    times: Rows
    newest: Rows


@dataclass(frozen=True)
class Waited:
    """Which left rows have waited, and per row the place of its match before it, or NOTHING.

    That match was found as the row began to wait. Rows that came since are after it.
    """

    is_waiting: Flags
    earlier: Rows


@dataclass(frozen=True)
class Matches:
    """Per left row the place of its match, or NOTHING, and until when it waits for a better one.

    `deadlines` is None where no row waits for anything.
    """

    places: Rows
    deadlines: Rows | None


def find_matches(match: AsofMatch, left: Timed, candidates: Candidates, waited: Waited) -> Matches:
    """The matches of left rows in time order."""
    if match.direction == "backward":
        before = newest_at(left, candidates.swept, candidates.newest, match.is_strict)
        return Matches(_within(match, left, candidates, before), None)
    after = _first_after(
        left, candidates, is_strict=match.direction != "forward" or match.is_strict
    )
    after = _within(match, left, candidates, after)
    if match.direction == "forward":
        waits = np.full(len(after), NEVER if match.tolerance is None else match.tolerance)
        return Matches(after, _until(left.times, waits, after != NOTHING))
    before = newest_at(left, candidates.swept, candidates.newest, match.is_strict)
    before = np.where(waited.is_waiting, waited.earlier, before)
    before = _within(match, left, candidates, before)
    return _nearest(match, left, candidates, before, after)


def _first_after(left: Timed, candidates: Candidates, *, is_strict: bool) -> Rows:
    """Per left row, the first swept row at or after it: the last one, with time turned around."""
    swept = candidates.swept
    nothing = np.full(len(candidates.newest), NOTHING)
    found = newest_at(_turned(left), _turned(swept), nothing, is_strict)[::-1]
    return np.where(found == NOTHING, NOTHING, len(swept.times) - 1 - found)


def _turned(rows: Timed) -> Timed:
    return Timed(writable(-rows.times[::-1]), writable(rows.slots[::-1]))


def _nearest(
    match: AsofMatch, left: Timed, candidates: Candidates, before: Rows, after: Rows
) -> Matches:
    """Of the matches before and after a row the nearer one, the earlier of two equally far."""
    back = np.where(before == NOTHING, MAX_TICK, _gaps(left.times, candidates.times[before]))
    ahead = np.where(after == NOTHING, MAX_TICK, _gaps(candidates.times[after], left.times))
    places = np.where(back <= ahead, before, after)
    # What comes must be nearer than the one before: one tick less far at least.
    waits = np.minimum(back - 1, NEVER if match.tolerance is None else match.tolerance)
    return Matches(places, _until(left.times, waits, after != NOTHING))


def _within(match: AsofMatch, left: Timed, candidates: Candidates, found: Rows) -> Rows:
    """The matches that are not farther away than the tolerance."""
    if match.tolerance is None:
        return found
    times = candidates.times[found]
    gaps = _gaps(np.maximum(times, left.times), np.minimum(times, left.times))
    return np.where((found != NOTHING) & (gaps <= match.tolerance), found, NOTHING)


def _until(times: Rows, waits: Rows, is_final: Flags) -> Rows:
    """The times so many ticks later, NEVER at most; of a row that is final, its own time."""
    room = _gaps(np.full(len(times), NEVER), np.minimum(times, NEVER))
    return np.where(is_final, times, times + np.minimum(np.maximum(waits, 0), room))


def _gaps(later: Rows, earlier: Rows) -> Rows:
    """Later - earlier, which may take 64 bits: MAX_TICK where it does."""
    gaps = later.view(np.uint64) - earlier.view(np.uint64)
    return np.minimum(gaps, np.uint64(MAX_TICK)).astype(np.int64)
