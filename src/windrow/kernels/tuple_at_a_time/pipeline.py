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

The buffer of a side has slots, linked into lists in order of arrival. One list, or one per bucket:

    heads   [ s0 | s4 | NONE ]        s0 -> s2 -> s7 -> NONE          tails [ s7 | s4 | NONE ]
    free      s5 -> s1 -> NONE        slots that tuples left, the first to be left taken first

What a loop over tuples calls takes arrays, not tuples of arrays: to hand on a tuple means to copy it
and to count a reference per array, which costs more than what the loops do.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_period import LEAST, MOST, minus, plus
from windrow.kernels.jit import kernel, kernel_part
from windrow.kernels.tuple_at_a_time.tape import FOUND, Int64s

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

    numbers: Int64s
    places: Int64s
    times: Int64s
    words: Words


class LevelStore(NamedTuple):
    """The buffer of one side of a level.

    Attributes:
        places: as in `Entries`, a line per slot.
        times: likewise.
        words: likewise.
        low: the first tick of an m-tuple's period; of a right tuple, its own time.
        high: the last tick of the period; of a right tuple, its own time.
        links: the slot that follows in its list.
        heads: the first slot of each list.
        tails: the last slot of each list.
        free: the first free slot, the last, and how many slots are taken.
    """

    places: Int64s
    times: Int64s
    words: Words
    low: Int64s
    high: Int64s
    links: Int64s
    heads: Int64s
    tails: Int64s
    free: Int64s


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

    left: LevelStore
    right: LevelStore
    streams: Int64s
    reach_back: Int64s
    reach_on: Int64s
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
    newest: Int64s
    arrivals: Int64s
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


class LevelLoops(Protocol):
    """How one level of a pipeline joins its two sides; made anew for each level.

    Attributes:
        is_hashed: whether each buffer is a list per bucket, by the keys that both sides have.
        cleans_itself: whether what nothing to come can meet stays until `join` removes it.
    """

    is_hashed: bool
    cleans_itself: bool

    def join(
        self,
        level: Level,
        flow: Flow,
        out: Entries,
        progress: Int64s,
        work: Int64s,
    ) -> None:
        """Joins the tuples of a block, until it is through or no room is left.

        Args:
            level: the buffers and the conditions between them.
            flow: what arrives.
            out: room for the tuples that climb.
            progress: where to go on; see there. It is through when SIDE is NONE.
            work: the work done, added to.
        """

    def resized(self, buckets: int) -> None:
        """Takes note that buffers have been laid out anew, with so many lists at most."""


@kernel_part
def append(links: Int64s, heads: Int64s, tails: Int64s, bucket: int, slot: int) -> None:
    """Adds a slot to the end of a list."""
    links[slot] = NONE
    if heads[bucket] == NONE:
        heads[bucket] = slot
    else:
        links[tails[bucket]] = slot
    tails[bucket] = slot


@kernel_part
def remove(
    links: Int64s, heads: Int64s, tails: Int64s, free: Int64s, bucket: int, before: int, slot: int
) -> None:  # fmt: skip
    """Takes a tuple out of its list; `before` is the one in front of it, or NONE."""
    if before == NONE:
        heads[bucket] = links[slot]
    else:
        links[before] = links[slot]
    if tails[bucket] == slot:
        tails[bucket] = before
    links[slot] = NONE
    if free[FIRST_FREE] == NONE:
        free[FIRST_FREE] = slot
    else:
        links[free[LAST_FREE]] = slot
    free[LAST_FREE] = slot
    free[HELD] -= 1


@kernel_part
def bucket_of(words: Words, n: int, shared: NDArray[np.bool_], buckets: int) -> int:
    """The list of a tuple: by its words in the shared key classes."""
    mixed = np.uint64(0)
    for key in range(len(shared)):
        if shared[key]:
            # Words are spread over all bits already; the odd factor tells (x, y) from (y, x).
            mixed = mixed * np.uint64(0x9E3779B97F4A7C15) + words[n, key]
    return int(mixed & np.uint64(buckets - 1))


@kernel
def in_list_order(store: LevelStore) -> Int64s:
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
def relink(store: LevelStore, shared: NDArray[np.bool_], held: int) -> None:
    """Links the first `held` slots into lists, in their order, and the others as free ones."""
    for bucket in range(len(store.heads)):
        store.heads[bucket] = store.tails[bucket] = NONE
    for slot in range(held):
        bucket = bucket_of(store.words, slot, shared, len(store.heads))
        append(store.links, store.heads, store.tails, bucket, slot)
    room = len(store.links)
    for slot in range(held, room):
        store.links[slot] = slot + 1 if slot + 1 < room else NONE
    store.free[FIRST_FREE] = held if held < room else NONE
    store.free[LAST_FREE] = room - 1 if held < room else NONE
    store.free[HELD] = held


@kernel_part
def next_side(left: Int64s, right: Int64s, until: int, progress: Int64s) -> int:
    """Which side's tuple comes next, by its number; NONE when this block is through."""
    has_left = progress[NEXT_LEFT] < len(left)
    has_right = progress[NEXT_RIGHT] < len(right) and right[progress[NEXT_RIGHT]] < until
    if has_left and has_right:
        # No two are equal: an arrival belongs to one stream, below this level or beside it.
        is_left = left[progress[NEXT_LEFT]] < right[progress[NEXT_RIGHT]]
        return LEFT if is_left else RIGHT
    if has_left:
        return LEFT
    return RIGHT if has_right else NONE


@kernel_part
def update_vector(
    newest: Int64s, arrivals: Int64s, first: int, number: int, progress: Int64s
) -> None:
    """Moves the newest time stamps on to those of all arrivals up to one."""
    while progress[SEEN] < len(arrivals) and first + progress[SEEN] <= number:
        stream, time = arrivals[progress[SEEN], 0], arrivals[progress[SEEN], 1]
        newest[stream] = max(newest[stream], time)
        progress[SEEN] += 1


@kernel_part
def needed_from(newest: Int64s, streams: Int64s, reach_back: Int64s, side: int) -> int:
    """The least tick that a side's tuples must reach to be met once more (else IsOut).

    An m-tuple must reach the right stream's newest time stamp. A right tuple is out when it lies
    out of reach of every time stamp of the vector, not of one alone: a later m-tuple may hold a
    new tuple of a slow stream beside old ones of the others.
    """
    if side == LEFT:
        return int(newest[streams[-1]])
    needed = MOST
    for i in range(len(reach_back)):
        needed = min(needed, minus(newest[streams[i]], reach_back[i]))
    return needed


@kernel_part
def take(level: Level, side: int, flow: Flow, progress: Int64s) -> None:
    """Takes the next tuple of a side: into its own buffer, then to its list in the other's.

    The buffer has a free slot. The tuple's period is made as it is put there.
    """
    is_left = side == LEFT
    entries = flow.left if is_left else flow.right
    store = level.left if is_left else level.right
    counter = NEXT_LEFT if is_left else NEXT_RIGHT
    n = progress[counter]
    progress[counter] = n + 1
    progress[NUMBER] = entries.numbers[n]
    update_vector(flow.newest, flow.arrivals, flow.first, entries.numbers[n], progress)
    slot = store.free[FIRST_FREE]
    progress[SIDE], progress[SLOT] = side, slot
    store.free[FIRST_FREE] = store.links[slot]
    if store.free[FIRST_FREE] == NONE:
        store.free[LAST_FREE] = NONE
    store.free[HELD] += 1
    for i in range(entries.places.shape[1]):
        store.places[slot, i] = entries.places[n, i]
        store.times[slot, i] = entries.times[n, i]
    for key in range(entries.words.shape[1]):
        store.words[slot, key] = entries.words[n, key]
    low = high = store.times[slot, 0]
    if is_left:
        low, high = LEAST, MOST
        for i in range(level.bounding, len(level.reach_on)):
            low = max(low, minus(store.times[slot, i], level.reach_back[i]))
            high = min(high, plus(store.times[slot, i], level.reach_on[i]))
    store.low[slot], store.high[slot] = low, high
    append(
        store.links, store.heads, store.tails,
        bucket_of(store.words, slot, level.shared, len(store.heads)), slot,
    )  # fmt: skip
    progress[AT], progress[BEFORE] = NONE, NONE
    if not flow.stores_only:
        heads = level.right.heads if is_left else level.left.heads
        progress[AT] = heads[bucket_of(store.words, slot, level.shared, len(heads))]


@kernel_part
def same_words(
    words: Words, slot: int, others: Words, other_slot: int, shared: NDArray[np.bool_]
) -> bool:
    """Whether two tuples agree in every key class that both sides have."""
    for key in range(len(shared)):
        if shared[key] and words[slot, key] != others[other_slot, key]:
            return False
    return True


@kernel_part
def climb(level: Level, out: Entries, filled: int, progress: Int64s, work: Int64s) -> None:
    """Writes the lines of the tuple being joined and those it has met, up to `filled`.

    Their slots in the other side's buffer are where the arrivals' numbers will be: a loop that
    meets a tuple has that one array to write to.
    """
    left, right, last = level.left, level.right, level.left.places.shape[1]
    slot, number = progress[SLOT], progress[NUMBER]
    for line in range(progress[FILLED], filled):
        met = out.numbers[line]
        left_slot, right_slot = (slot, met) if progress[SIDE] == LEFT else (met, slot)
        out.numbers[line] = number
        for i in range(last):
            out.places[line, i] = left.places[left_slot, i]
            out.times[line, i] = left.times[left_slot, i]
        out.places[line, last] = right.places[right_slot, 0]
        out.times[line, last] = right.times[right_slot, 0]
        for key in range(len(level.from_left)):
            if level.from_left[key]:
                out.words[line, key] = left.words[left_slot, key]
            else:
                out.words[line, key] = right.words[right_slot, key]
    if level.is_last:
        work[FOUND] += filled - progress[FILLED]
    progress[FILLED] = filled


@kernel_part
def remove_old(level: Level, side: int, bucket: int, needed: int) -> tuple[int, int]:
    """Goes through one list of a side and removes what does not reach `needed`.

    Gives how many tuples were looked at, and how many removed.
    """
    store = level.left if side == LEFT else level.right
    highs, links, free = store.high, store.links, store.free
    heads, tails = store.heads, store.tails
    touched, removed = 0, 0
    at, before = heads[bucket], NONE
    while at != NONE:
        following = links[at]
        touched += 1
        if highs[at] < needed:
            remove(links, heads, tails, free, bucket, before, at)
            removed += 1
        else:
            before = at
        at = following
    return touched, removed


@kernel
def remove_all_old(level: Level, newest: Int64s) -> tuple[int, int]:
    """Goes through both buffers and removes what is out of reach; counts as `remove_old`."""
    touched, removed = 0, 0
    for side in range(2):
        lists = len(level.left.heads) if side == LEFT else len(level.right.heads)
        needed = needed_from(newest, level.streams, level.reach_back, side)
        for bucket in range(lists):
            seen, gone = remove_old(level, side, bucket, needed)
            touched += seen
            removed += gone
    return touched, removed
