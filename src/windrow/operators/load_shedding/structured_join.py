"""The join of two streams that sheds, each window looked up in a structure of its own.

**The join** of two streams is two one-way joins (Kang, Naughton and Viglas, section 4). What is
kept of each window is inserted into its structure, whether it probes or not, and arrivals drawn
to probe are looked up in the other one:

    A   kept      insert      structure of A    buffer, hash, B+tree or T-tree
        drawn     probe  ->   structure of B    any of the four

A pane is joined as a whole: its arrivals are inserted first, and a probe takes of them those that
come before it in the order of time, and of input at one time. Who is drawn, and what is found, is
what it is without structures; so is the state, which structures are made from. Where memory is in
bytes each tuple counts with its place in a structure, and a structure that is larger yet, for it
has room to spare, is let go of between two steps.

**A window** has its structure beside its rows. The rows lie in chunks, as those of every window
join do; what is held, stored and restored are these. The structure follows them, pane by pane: what
has come is inserted, in the order of time, and what has gone is let go of, from its front; what was
drawn out of its middle is marked:

    rows held before    a  b  c  d  e
    rows held now             c     e  f  g          a, b are old; d is not in the sample any more
    structure                 c (d) e  f  g          built anew where too many are marked

So a structure has at most a quarter more entries than the window has rows. It is built anew too
where those that come find no room, with room for as many as it may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial as with_first
from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import (
    FILLED,
    LOOKUPS,
    PROBE,
    TOUCHED,
    FoundMatches,
    Progress,
    before_start,
    no_progress,
)
from windrow.kernels.jit import writable
from windrow.kernels.structures.sample import (
    Entries,
    ProbeRanges,
    expire_some,
    keys_held,
    probe_sample,
    still_there,
)
from windrow.kernels.structures.store import Store, nbytes
from windrow.kernels.structures.window import STRUCTURES, empty_store, with_newest
from windrow.operators.columns.changes import ROW_BITS, ROW_MASK, ChangeBatch, Places
from windrow.operators.engine.base import Counters, Snapshot
from windrow.operators.joins.bew_search import MOST_FOUND, START_ROWS, Int64s, Partial, Search
from windrow.operators.joins.bew_window import JoinWindow, key_of
from windrow.operators.joins.join_steps import Predicates, Route
from windrow.operators.joins.tuple_at_a_time.tuple_words import (
    HIGH,
    KEY,
    LOW,
    range_of,
    range_words,
)
from windrow.operators.load_shedding.draws import KEEP, NOT_DRAWN, Draws
from windrow.operators.load_shedding.draws import PROBE as PROBE_DRAW
from windrow.operators.load_shedding.join import ShedJoinOp
from windrow.physical.nodes.shedding_join import SheddingJoin

MOST_GONE = 0.25
"""How many entries may be marked, as a share of those that are held, before it is built anew."""


class Sample(NamedTuple):
    """The rows of a window that are kept, in the order of time."""

    times: Int64s
    draws: Draws
    places: Int64s

    def since(self, start: int) -> Sample:
        """The rows from one on."""
        return Sample(self.times[start:], self.draws[start:], self.places[start:])


def sample_of(window: JoinWindow) -> Sample:
    """The rows of an input that are kept, those of this push included."""
    times, draws, places = [np.zeros(0, np.int64)], [np.zeros(0)], [np.zeros(0, np.int64)]
    for at, part in enumerate(window.slices):
        assert not part.gone, "what is not kept is taken out of its chunk"
        own = part.chunk.batch.columns.column(KEEP).to_numpy()[part.skip :]
        kept = np.flatnonzero(own < NOT_DRAWN)
        times.append(part.chunk.keys[part.skip + kept])
        draws.append(own[kept])
        places.append((at << ROW_BITS) + part.skip + kept)
    return Sample(np.concatenate(times), np.concatenate(draws), np.concatenate(places))


class StructuredWindow:
    """The structure of one window, one of `physical.structures.NAMES`, by the size of its parts."""

    def __init__(self, name: str, size: int) -> None:
        self._kind, self._size = STRUCTURES[name], size
        self.clear()

    @property
    def nbytes(self) -> int:
        """Bytes of the structure and of what is known of its entries."""
        known = (self._entries.times, self._entries.places, self._draws)
        in_store = 0 if self._store is None else nbytes(self._store)
        return in_store + sum(array.nbytes for array in known)

    @property
    def entries(self) -> int:
        """How many entries it has, those marked included."""
        return len(self._draws)

    def clear(self) -> None:
        """Lets go of all, its room included."""
        self._store: Store | None = None
        self._entries = Entries(0, np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._draws: Draws = np.zeros(0)

    def follow(self, sample: Sample, keys_of: Callable[[Int64s], Int64s]) -> None:
        """Holds these rows from now on; `keys_of` gives the keys of those at some places."""
        most = int((1 + MOST_GONE) * len(sample.times))
        self._store = self._store or empty_store(self._kind, self._size, most)
        entries = self._entries
        alive = np.flatnonzero(entries.places >= 0)
        times, draws = entries.times[alive], self._draws[alive]
        alive = alive[still_there(times, draws, sample.times, sample.draws)]
        places = np.full(len(entries.places), -1, np.int64)
        places[alive] = sample.places[: len(alive)]
        self._expire(places, int(alive[0]) if len(alive) else len(places))
        new = sample.since(len(alive))
        if self.entries + len(new.times) > min(most, len(self._store.queue)):
            self.build_anew(most)
        self._insert(new, keys_of)

    def probe(self, asked: ProbeRanges, found: FoundMatches, progress: Progress) -> None:
        """Looks probes up, as the other windows of a join do."""
        assert self._store is not None, "rows are followed before they are looked up"
        probe_sample(self._store, self._entries, asked, found, progress)

    def _expire(self, places: Int64s, count: int) -> None:
        """Lets the oldest entries go; the rest are where they are told."""
        assert self._store is not None
        expire_some(self._store, count)
        first, times, _ = self._entries
        self._entries = Entries(first + count, times[count:], places[count:])
        self._draws = self._draws[count:]

    def _insert(self, new: Sample, keys_of: Callable[[Int64s], Int64s]) -> None:
        first, times, places = self._entries
        assert self._store is not None
        if len(new.places):
            self._store = with_newest(self._store, keys_of(new.places), first + len(times))
        self._entries = Entries(
            first, np.concatenate([times, new.times]), np.concatenate([places, new.places])
        )
        self._draws = np.concatenate([self._draws, new.draws])

    def build_anew(self, room: int = 0) -> None:
        """Puts the entries that are not gone into a new structure, as if no others had come.

        It holds so many entries, or at least those there are, before it must grow.
        """
        if self._store is None:
            return
        kept = np.flatnonzero(self._entries.places >= 0)
        keys = keys_held(self._store)[kept]
        empty = empty_store(self._kind, self._size, max(room, len(kept) + 1))
        self._store = with_newest(empty, keys, 0)
        _, times, places = self._entries
        self._entries = Entries(0, times[kept], places[kept])
        self._draws = self._draws[kept]


class StructuredShedJoinOp(ShedJoinOp):
    """Joins two inputs of inserts, as far as memory and processor go, by the structures of a node."""

    def __init__(self, node: SheddingJoin) -> None:
        super().__init__(node)
        self._structures = [StructuredWindow(n, node.sizes.of(n)) for n in node.structures]

    def advance(self, watermark: int) -> Iterator[ChangeBatch]:
        """Decides the panes that are over, and joins those drawn."""
        yield from super().advance(watermark)
        for buffer, structure in zip(self._buffers, self._structures, strict=True):
            if not buffer.rows:
                structure.clear()
        self._count_state()

    def settle(self) -> Iterator[ChangeBatch]:
        """Holds no more than memory allows, structures included."""
        yield from super().settle()
        if self._shedding.is_in_bytes and self._shedding.memory is not None:
            self._fit_structures(self._shedding.memory)
            self._count_state()

    def _fit_structures(self, memory: float) -> None:
        """Leaves of the structures what there is room for beside the rows, smaller or not at all.

        One that is gone is made from its window at the next pane.
        """
        chunks = {id(part.chunk): part.chunk for own in self.buffers() for part in own.slices}
        room = memory - sum(chunk.memory_bytes for chunk in chunks.values())
        for smaller in (StructuredWindow.build_anew, StructuredWindow.clear):
            for structure in sorted(self._structures, key=lambda own: -own.nbytes):
                if sum(own.nbytes for own in self._structures) > room:
                    smaller(structure)

    def restore(self, snapshot: Snapshot) -> None:
        """Puts a state back; the structures are made from it at the next pane."""
        for structure in self._structures:
            structure.clear()
        super().restore(snapshot)

    def _search(self, windows: Sequence[JoinWindow]) -> Search:
        return StructuredSearch(
            self._node, windows, self.counters, self._predicates, self._structures
        )

    def _count_state(self) -> None:
        super()._count_state()
        self.counters.state_bytes += sum(structure.nbytes for structure in self._structures)


class StructuredSearch(Search):
    """Pairs that start with rows drawn to probe, found in the structure of the other window.

    Structures are brought up to date before that.
    """

    def __init__(
        self,
        node: SheddingJoin,
        windows: Sequence[JoinWindow],
        counters: Counters,
        predicates: Predicates,
        structures: Sequence[StructuredWindow],
    ) -> None:
        super().__init__(node, windows, counters, predicates)
        self._structures = structures
        self._range = range_of(node)
        self._ranges: dict[tuple[int, int], Int64s] = {}
        for port, structure in enumerate(structures):
            structure.follow(sample_of(windows[port]), with_first(self._keys, port))

    def _starts(self, route: Route) -> Iterator[Partial]:
        window = self._windows[route.start]
        assert window.new is not None
        draws = window.new.batch.columns.column(PROBE_DRAW).to_numpy()
        drawn = np.flatnonzero(draws < NOT_DRAWN)
        for start in range(0, len(drawn), START_ROWS):
            rows = drawn[start : start + START_ROWS]
            places = (window.stored << ROW_BITS) + rows
            times = writable(window.new.keys[rows]).reshape(1, -1)
            yield Partial((places,), times, self._words(route, 0, places))

    def _extended(self, partial: Partial, route: Route, at: int) -> Iterator[Partial]:
        step = route.steps[at]
        low, high = self._period(partial, route, at)
        # Rows stored are older than all new ones: what comes before a new row, they do too.
        high = before_start(high, partial.times[0], step.is_strict)
        asked = ProbeRanges(*self._asked_keys(partial, route), low, high)
        found, progress = self._room(at), no_progress(0)
        while progress[PROBE] < len(partial):
            if progress[FILLED] == MOST_FOUND:
                yield from self._taken(partial, route, at, MOST_FOUND)
                progress[FILLED] = 0
            self._structures[step.input].probe(asked, found, progress)
        self._counters.probes += int(progress[LOOKUPS])
        self._counters.comparisons += int(progress[TOUCHED])
        if progress[FILLED]:
            yield from self._taken(partial, route, at, int(progress[FILLED]))

    def _is_hashed(self, route: Route, at: int) -> bool:  # noqa: ARG002
        return True  # as by hash, comparisons are left to those that have been found

    def _asked_keys(self, partial: Partial, route: Route) -> tuple[Int64s, Int64s]:
        """The least and the greatest key of the other window that each row asks for."""
        if self._range is not None:
            words = self._range_words(route.start, self._windows[route.start].stored)
            rows = partial.places[0] & ROW_MASK
            return writable(words[rows, LOW]), writable(words[rows, HIGH])
        classes = route.steps[0].classes
        keys = key_of([partial.words[key] for key in classes], len(partial)).view(np.int64)
        return keys, keys

    def _keys(self, port: int, places: Int64s) -> Int64s:
        """By what the rows of an input at some places are kept."""
        window = self._windows[port]
        if self._range is not None:
            return Places(places).numbers(lambda at: self._range_words(port, at)[:, KEY])
        columns = self._columns(port, tuple(range(len(self._node.classes))))
        words = [window.words(column, Places(places)) for column in columns]
        return key_of(words, len(places)).view(np.int64)

    def _range_words(self, port: int, at: int) -> Int64s:
        """Per row of a chunk, its key and the range of keys that it asks for."""
        assert self._range is not None
        if (port, at) not in self._ranges:
            rows = self._windows[port].slices[at].chunk.batch
            self._ranges[port, at] = range_words(self._range, port, rows).view(np.int64)
        return self._ranges[port, at]
