"""The join of two streams that sheds, each window looked up in a structure of its own.

A join of two streams is two one-way joins (Kang, Naughton and Viglas, section 4). What is kept of
each window is inserted into its structure, whether it probes or not, and arrivals drawn to probe
are looked up in the other one:

    A   kept      insert      structure of A    buffer, hash, B+tree or T-tree
        drawn     probe  ->   structure of B    any of the four

A pane is joined as a whole: its arrivals are inserted first, and a probe takes of them those that
come before it in the order of time, and of input at one time. Who is drawn, and what is found, is
what it is without structures; so is the state, which structures are made from. Where memory is in
bytes each tuple counts with its place in a structure, and a structure that is larger yet, for it has
room to spare, is let go of between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial as with_first

import numpy as np

from windrow.kernels._jit import writable
from windrow.kernels.bew_period import (
    FILLED,
    LOOKUPS,
    PROBE,
    TOUCHED,
    before_start,
    no_progress,
)
from windrow.kernels.structures.sample import Asked
from windrow.operators.base import Counters, Snapshot
from windrow.operators.bew_search import MOST_FOUND, START_ROWS, Numbers, Partial, Search
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow, key_of
from windrow.operators.changes import ChangeBatch
from windrow.operators.gather import ROW_BITS, ROW_MASK, Places
from windrow.operators.shedding.join import ShedJoinOp
from windrow.operators.shedding.search import NOT_DRAWN
from windrow.operators.shedding.search import PROBE as PROBE_DRAW
from windrow.operators.shedding.structured_window import StructuredWindow, sample_of
from windrow.operators.theta import Predicates
from windrow.operators.tuple_at_a_time.structure_words import HIGH, KEY, LOW, range_of, range_words
from windrow.physical.nodes.shedding_join import SheddingJoin


class StructuredShedJoinOp(ShedJoinOp):
    """Joins two inputs of inserts, as far as memory and processor go, by the structures of a spec."""

    def __init__(self, spec: SheddingJoin) -> None:
        super().__init__(spec)
        self._structures = [StructuredWindow(n, spec.sizes.of(n)) for n in spec.structures]

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
            self._spec, windows, self.counters, self._predicates, self._structures
        )

    def _count_state(self) -> None:
        super()._count_state()
        self.counters.state_bytes += sum(structure.nbytes for structure in self._structures)


class StructuredSearch(Search):
    """Pairs that start with rows drawn to probe, found in the structure of the other window.

    Args:
        spec: the join.
        windows: per input, the rows stored and the new ones.
        counters: where probes and comparisons are counted.
        predicates: those of the join.
        structures: per input, what its window is kept in; they are brought up to date.
    """

    def __init__(
        self,
        spec: SheddingJoin,
        windows: Sequence[JoinWindow],
        counters: Counters,
        predicates: Predicates,
        structures: Sequence[StructuredWindow],
    ) -> None:
        super().__init__(spec, windows, counters, predicates)
        self._structures = structures
        self._range = range_of(spec)
        self._ranges: dict[tuple[int, int], Numbers] = {}
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
        asked = Asked(*self._asked_keys(partial, route), low, high)
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

    def _asked_keys(self, partial: Partial, route: Route) -> tuple[Numbers, Numbers]:
        """The least and the greatest key of the other window that each row asks for."""
        if self._range is not None:
            words = self._range_words(route.start, self._windows[route.start].stored)
            rows = partial.places[0] & ROW_MASK
            return writable(words[rows, LOW]), writable(words[rows, HIGH])
        classes = route.steps[0].classes
        keys = key_of([partial.words[key] for key in classes], len(partial)).view(np.int64)
        return keys, keys

    def _keys(self, port: int, places: Numbers) -> Numbers:
        """By what the rows of an input at some places are kept."""
        window = self._windows[port]
        if self._range is not None:
            return Places(places).numbers(lambda at: self._range_words(port, at)[:, KEY])
        columns = self._columns(port, tuple(range(len(self._spec.classes))))
        words = [window.words(column, Places(places)) for column in columns]
        return key_of(words, len(places)).view(np.int64)

    def _range_words(self, port: int, at: int) -> Numbers:
        """Per row of a chunk, its key and the range of keys that it asks for."""
        assert self._range is not None
        if (port, at) not in self._ranges:
            rows = self._windows[port].slices[at].chunk.batch
            self._ranges[port, at] = range_words(self._range, port, rows).view(np.int64)
        return self._ranges[port, at]
