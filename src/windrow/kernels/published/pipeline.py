"""What the left-deep pipelines share: how tuples climb, and how a level keeps them.

A pipeline of binary joins over streams a, b, c, d (figure 4 of the 2002 paper):

    level 3            [abc] x [d]         ->  results
                         ^
    level 2        [ab] x [c]                  left: m-tuples from the level below
                     ^
    level 1      [a] x [b]                     right: always a source stream

An m-tuple carries the time stamps of all its tuples. Its period is where the next tuple may lie,

    low  = max over i of t(i) - upper[right][i]        [TSmax - w, TSmin + w] for one window w
    high = min over i of t(i) + upper[i][right]

Where every window joins two streams that follow one another in the pipeline (a path), only the
last tuple bounds the next: its period is propagated alone, [t, t + w] if the window is directed.

Tuples climb in blocks. Each is tagged with the number of the arrival that completed it, and a
level merges its two sides by those numbers, so that every level does the same steps in the same
order as if one tuple climbed at a time.

A buffer is a set of slots, linked into lists in order of arrival: one list, or one per bucket.

    heads   [ s0 | s4 | NONE ]        s0 -> s2 -> s7 -> NONE          tails [ s7 | s4 | NONE ]
    free      s5 -> s1 -> NONE        slots that tuples left, the first to be left taken first
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from windrow.kernels._jit import kernel
from windrow.kernels.bew_period import LEAST, MOST, minus, plus
from windrow.kernels.published.tape import ADMIT, DROP, Numbers, Trace, note

NONE = -1

Words = NDArray[np.uint64]


class Entries(NamedTuple):
    """Tuples in order of arrival: of one stream, or m-tuples of m streams in pipeline order.

    Attributes:
        numbers: the arrival that completed each; ascending.
        places: per stream, where the tuple is.
        times: the same tuples' time stamps.
        words: one word per key class; unused where none of the streams has it.
    """

    numbers: Numbers
    places: Numbers
    times: Numbers
    words: Words


class Store(NamedTuple):
    """The buffer of one side of a level.

    Attributes:
        places: as in `Entries`, a line per slot.
        times: likewise.
        words: likewise.
        low: the first tick of a left tuple's period.
        high: the last tick of it.
        links: the slot that follows in its list.
        heads: the first slot of each list.
        tails: the last slot of each list.
        free: the first free slot, the last, and how many slots are taken.
    """

    places: Numbers
    times: Numbers
    words: Words
    low: Numbers
    high: Numbers
    links: Numbers
    heads: Numbers
    tails: Numbers
    free: Numbers


FIRST_FREE, LAST_FREE, HELD = range(3)


class Level(NamedTuple):
    """One binary join.

    Attributes:
        left: the buffer of m-tuples.
        right: the buffer of the source stream.
        streams: the streams of an m-tuple in pipeline order, then the right one.
        reach_back: per stream i of an m-tuple, upper[right][i].
        reach_on: per stream i of an m-tuple, upper[i][right].
        bounding: the first of the m-tuple's streams that its period is made from.
        shared: per key class, whether both sides have it.
        from_left: per key class, whether an m-tuple has it.
        is_last: whether what comes out is a result.
    """

    left: Store
    right: Store
    streams: Numbers
    reach_back: Numbers
    reach_on: Numbers
    bounding: int
    shared: NDArray[np.bool_]
    from_left: NDArray[np.bool_]
    is_last: bool


class Flow(NamedTuple):
    """What a level works on: its two inputs, and the time stamps that decide about removal.

    Attributes:
        left: the next block of m-tuples.
        right: the source stream's tuples of this push.
        until: the arrivals before this number are complete; right tuples from it on must wait.
        newest: per stream, the least time stamp that may still come (V_left and V_right).
        arrivals: per arrival its stream and time stamp, which move `newest` on; none: it stays.
        first: the number of the first of them.
        stores_only: whether tuples are only put into the buffers, and none are joined.
    """

    left: Entries
    right: Entries
    until: int
    newest: Numbers
    arrivals: Numbers
    first: int
    stores_only: bool


NEXT_LEFT, NEXT_RIGHT, SIDE, SLOT, AT, BEFORE, NUMBER, SEEN, FILLED = range(9)
"""How far a level came, an array of nine numbers that its kernel updates.

NEXT_LEFT    the next m-tuple of the block
NEXT_RIGHT   the next right tuple
SIDE         which side's tuple is being joined; NONE between two tuples
SLOT         where that tuple was put
AT, BEFORE   the slot of the other side to look at next, and the one before it in its list
NUMBER       the arrival that is being processed
SEEN         how many arrivals have moved the vector
FILLED       how many lines of the output are filled
"""

LEFT, RIGHT = 0, 1


@kernel
def next_side(flow: Flow, progress: Numbers) -> int:
    """Which side's tuple comes next; NONE when this block is through."""
    left, right = flow.left.numbers, flow.right.numbers
    has_left = progress[NEXT_LEFT] < len(left)
    has_right = progress[NEXT_RIGHT] < len(right) and right[progress[NEXT_RIGHT]] < flow.until
    if has_left and has_right:
        # No two are equal: an arrival belongs to one stream, below this level or beside it.
        is_left = left[progress[NEXT_LEFT]] < right[progress[NEXT_RIGHT]]
        return LEFT if is_left else RIGHT
    if has_left:
        return LEFT
    return RIGHT if has_right else NONE


@kernel
def update_vector(flow: Flow, number: int, progress: Numbers) -> None:
    """Moves the newest time stamps on to those of all arrivals up to one."""
    while progress[SEEN] < len(flow.arrivals) and flow.first + progress[SEEN] <= number:
        stream, time = flow.arrivals[progress[SEEN]]
        flow.newest[stream] = max(flow.newest[stream], time)
        progress[SEEN] += 1


@kernel
def needed_from(level: Level, newest: Numbers) -> int:
    """The least time of a right tuple that some m-tuple to come may reach.

    It is out when it lies out of reach of every time stamp of the vector, not of one alone: a
    later m-tuple may hold a new tuple of a slow stream beside old ones of the others.
    """
    needed = MOST
    for i in range(len(level.reach_back)):
        needed = min(needed, minus(newest[level.streams[i]], level.reach_back[i]))
    return needed


@kernel
def take(level: Level, side: int, flow: Flow, progress: Numbers, trace: Trace) -> None:
    """Takes the next tuple of a side: into its own buffer, then to its list in the other's."""
    entries = flow.left if side == LEFT else flow.right
    counter = NEXT_LEFT if side == LEFT else NEXT_RIGHT
    n = progress[counter]
    progress[counter] = n + 1
    progress[NUMBER] = entries.numbers[n]
    update_vector(flow, entries.numbers[n], progress)
    _put(level, side, entries, n, progress, trace)
    progress[AT], progress[BEFORE] = NONE, NONE
    if not flow.stores_only:
        other = level.right if side == LEFT else level.left
        progress[AT] = other.heads[bucket_of(entries.words, n, level.shared, len(other.heads))]


@kernel
def _put(
    level: Level, side: int, entries: Entries, n: int, progress: Numbers, trace: Trace
) -> None:
    """Appends a tuple to its side's buffer (which has a free slot) and makes its period."""
    store = level.left if side == LEFT else level.right
    bucket = bucket_of(entries.words, n, level.shared, len(store.heads))
    slot = store.free[FIRST_FREE]
    store.free[FIRST_FREE] = store.links[slot]
    if store.free[FIRST_FREE] == NONE:
        store.free[LAST_FREE] = NONE
    store.free[HELD] += 1
    for i in range(entries.places.shape[1]):
        store.places[slot, i] = entries.places[n, i]
        store.times[slot, i] = entries.times[n, i]
    for key in range(entries.words.shape[1]):
        store.words[slot, key] = entries.words[n, key]
    if side == LEFT:
        low, high = LEAST, MOST
        for i in range(level.bounding, len(level.reach_on)):
            low = max(low, minus(store.times[slot, i], level.reach_back[i]))
            high = min(high, plus(store.times[slot, i], level.reach_on[i]))
        store.low[slot], store.high[slot] = low, high
    store.links[slot] = NONE
    if store.heads[bucket] == NONE:
        store.heads[bucket] = slot
    else:
        store.links[store.tails[bucket]] = slot
    store.tails[bucket] = slot
    progress[SIDE], progress[SLOT] = side, slot
    note_tuple(trace, ADMIT, level, side, slot)


@kernel
def remove(level: Level, side: int, bucket: int, before: int, slot: int, trace: Trace) -> None:
    """Takes a tuple out of its list; `before` is the one in front of it, or NONE."""
    store = level.left if side == LEFT else level.right
    note_tuple(trace, DROP, level, side, slot)
    if before == NONE:
        store.heads[bucket] = store.links[slot]
    else:
        store.links[before] = store.links[slot]
    if store.tails[bucket] == slot:
        store.tails[bucket] = before
    store.links[slot] = NONE
    if store.free[FIRST_FREE] == NONE:
        store.free[FIRST_FREE] = slot
    else:
        store.links[store.free[LAST_FREE]] = slot
    store.free[LAST_FREE] = slot
    store.free[HELD] -= 1


@kernel
def is_out(level: Level, side: int, slot: int, needed: int) -> bool:
    """Whether nothing to come on the other side can meet a stored tuple.

    `needed` is `needed_from` for right tuples, the right stream's newest time stamp for left ones.
    """
    if side == LEFT:
        return bool(level.left.high[slot] < needed)
    return bool(level.right.times[slot, 0] < needed)


@kernel
def same_words(level: Level, left_slot: int, right_slot: int) -> bool:
    """Whether both sides agree in every key class that both have."""
    for key in range(len(level.shared)):
        if (
            level.shared[key]
            and level.left.words[left_slot, key] != level.right.words[right_slot, key]
        ):
            return False
    return True


@kernel
def emit(level: Level, left_slot: int, right_slot: int, out: Entries, progress: Numbers) -> None:
    """Writes the (m+1)-tuple of two stored tuples to the output, which has room."""
    line, last = progress[FILLED], len(level.reach_on)
    out.numbers[line] = progress[NUMBER]
    for i in range(last):
        out.places[line, i] = level.left.places[left_slot, i]
        out.times[line, i] = level.left.times[left_slot, i]
    out.places[line, last] = level.right.places[right_slot, 0]
    out.times[line, last] = level.right.times[right_slot, 0]
    for key in range(len(level.from_left)):
        if level.from_left[key]:
            out.words[line, key] = level.left.words[left_slot, key]
        else:
            out.words[line, key] = level.right.words[right_slot, key]
    progress[FILLED] = line + 1


@kernel
def note_tuple(trace: Trace, event: int, level: Level, side: int, slot: int) -> None:
    """Records an event of a stored tuple; an m-tuple by its tuples, one after the other."""
    if len(trace.events) == 0:
        return
    if side == RIGHT:
        note(trace, event, level.streams[-1], level.right.places[slot, 0])
        return
    for i in range(len(level.reach_on)):
        note(trace, event, level.streams[i], level.left.places[slot, i])


@kernel
def bucket_of(words: Words, n: int, shared: NDArray[np.bool_], buckets: int) -> int:
    """The list of a tuple: by its words in the shared key classes."""
    mixed = np.uint64(0)
    for key in range(len(shared)):
        if shared[key]:
            # Words are spread over all bits already; the odd factor tells (x, y) from (y, x).
            mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + words[n, key]
    return int(mixed & np.uint64(buckets - 1))


@kernel
def in_list_order(store: Store) -> Numbers:
    """The slots that are taken, list after list."""
    slots = np.empty(store.free[HELD], np.int64)
    filled = 0
    for bucket in range(len(store.heads)):
        at = store.heads[bucket]
        while at != NONE:
            slots[filled] = at
            filled += 1
            at = store.links[at]
    return slots


@kernel
def relink(store: Store, shared: NDArray[np.bool_], held: int) -> None:
    """Links the first `held` slots into lists, in their order, and the others as free ones."""
    for bucket in range(len(store.heads)):
        store.heads[bucket] = store.tails[bucket] = NONE
    for slot in range(held):
        bucket = bucket_of(store.words, slot, shared, len(store.heads))
        store.links[slot] = NONE
        if store.heads[bucket] == NONE:
            store.heads[bucket] = slot
        else:
            store.links[store.tails[bucket]] = slot
        store.tails[bucket] = slot
    room = len(store.links)
    for slot in range(held, room):
        store.links[slot] = slot + 1 if slot + 1 < room else NONE
    store.free[FIRST_FREE] = held if held < room else NONE
    store.free[LAST_FREE] = room - 1 if held < room else NONE
    store.free[HELD] = held


@kernel
def sweep(level: Level, newest: Numbers) -> int:
    """Removes everything that is out of reach from both sides; gives how many tuples that were."""
    removed = 0
    no_trace = Trace(np.empty((0, 3), np.int64), np.zeros(1, np.int64))
    for side in range(2):
        store = level.left if side == LEFT else level.right
        needed = newest[level.streams[-1]] if side == LEFT else needed_from(level, newest)
        for bucket in range(len(store.heads)):
            at, before = store.heads[bucket], NONE
            while at != NONE:
                following = store.links[at]
                if is_out(level, side, at, needed):
                    remove(level, side, bucket, before, at, no_trace)
                    removed += 1
                else:
                    before = at
                at = following
    return removed
