"""A window of a join that sheds, kept in a structure of its own beside its rows.

The rows lie in chunks, as those of every window join do; what is held, stored and restored are
these. The structure follows them, pane by pane: what has come is inserted, in the order of time,
and what has gone is let go of, from its front; what was drawn out of its middle is marked:

    rows held before    a  b  c  d  e
    rows held now             c     e  f  g          a, b are old; d is not in the sample any more
    structure                 c (d) e  f  g          built anew where too many are marked

So a structure has at most a quarter more entries than the window has rows. It is built anew too
where those that come find no room, with room for as many as it may have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from windrow.kernels.bew_period import Found, Progress
from windrow.kernels.structures.room import empty_store
from windrow.kernels.structures.sample import (
    Asked,
    Entries,
    expire_some,
    keys_held,
    probe_sample,
    still_there,
    with_newest,
)
from windrow.kernels.structures.store import Numbers, Store, nbytes
from windrow.kernels.structures.window import STRUCTURES
from windrow.operators.bew_window import JoinWindow
from windrow.operators.gather import ROW_BITS
from windrow.operators.shedding.draws import Draws
from windrow.operators.shedding.search import KEEP, NOT_DRAWN

MOST_GONE = 0.25
"""How many entries may be marked, as a share of those that are held, before it is built anew."""


class Sample(NamedTuple):
    """The rows of a window that are kept, in the order of time."""

    times: Numbers
    draws: Draws
    places: Numbers

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
    """The structure of one window.

    Args:
        name: which, one of `physical.structures.NAMES`.
        size: of its buckets or nodes.
    """

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

    def follow(self, sample: Sample, keys_of: Callable[[Numbers], Numbers]) -> None:
        """Holds these rows from now on.

        Args:
            sample: all rows that are kept.
            keys_of: the keys of the rows at some places.
        """
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

    def probe(self, asked: Asked, found: Found, progress: Progress) -> None:
        """Looks probes up, as the other windows of a join do."""
        assert self._store is not None, "rows are followed before they are looked up"
        probe_sample(self._store, self._entries, asked, found, progress)

    def _expire(self, places: Numbers, count: int) -> None:
        """Lets the oldest entries go; the rest are where they are told."""
        assert self._store is not None
        expire_some(self._store, count)
        first, times, _ = self._entries
        self._entries = Entries(first + count, times[count:], places[count:])
        self._draws = self._draws[count:]

    def _insert(self, new: Sample, keys_of: Callable[[Numbers], Numbers]) -> None:
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

        Args:
            room: entries that it is to hold before it must grow; at least for those there are.
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
