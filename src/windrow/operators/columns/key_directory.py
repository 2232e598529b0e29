"""Which slot each key has: keys of any columns, to small numbers that index arrays.

    keys (by value)          slot     row of the key table
    ("north", 3)       ->    0   ->   0
    ("south", NULL)    ->    2   ->   4      slot 1 was given up and is the next to be used

Keys are equal as in GROUP BY: NULL equals NULL, NaN equals NaN, -0.0 equals 0.0 and is kept as 0.0.
Words narrow the search; values decide, unless the words are the values.

A slot that is given up is used again, the least first, and slots beyond the last one in use are
forgotten: the directory follows the keys in it, and two directories with the same keys in the same
slots behave the same, whatever came before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.kernels import keys as key_table
from windrow.kernels.jit import writable
from windrow.operators.columns.key_columns import Words, equal_values, key_words

Slots = NDArray[np.int64]

LEAST_CELLS = 16

NEWEST_PART = 8
"""The newest keys are at most this part of all others: one in so many."""


class KeyDirectory:
    """Maps keys to slots 0, 1, ...; keeps the keys of the slots in use.

    Args:
        slots: slots in use from the start, ascending.
        columns: the key of each of those slots, as `keys_of` gave them; none for an empty start.
    """

    def __init__(self, slots: Slots | None = None, columns: Sequence[pa.Array] = ()) -> None:
        self._columns = list(columns)
        self._newest: list[pa.Array] = []  # another list whenever keys come or go
        self._keys_measured: list[pa.Array] | None = None
        self._key_bytes = 0
        self._free: Slots = np.zeros(0, np.int64)
        self._words = np.zeros(0, np.uint64)
        self._row_of = np.zeros(0, np.int64)
        self._cells = np.full(LEAST_CELLS, key_table.EMPTY, np.int64)
        self._used_cells = 0
        self._are_words_exact = True
        self.slot_count = 0
        self.probes = 0
        if slots is not None and len(slots):
            self._fill(slots)

    def __len__(self) -> int:
        return self.slot_count - len(self._free)

    @property
    def nbytes(self) -> int:
        """Bytes of the keys, with a word and a row for each slot."""
        if self._keys_measured is not self._newest:
            columns = (*self._columns, *self._newest)
            self._key_bytes = sum([int(column.nbytes) for column in columns])
            self._keys_measured = self._newest
        return self._key_bytes + 16 * self.slot_count

    @property
    def _rows(self) -> int:
        """Rows of the key table, those of keys that went included."""
        return sum(len(part[0]) for part in (self._columns, self._newest) if part)

    def slots_in_use(self) -> Slots:
        """The slots that have a key, ascending."""
        in_use = np.ones(self.slot_count, np.bool_)
        in_use[self._free] = False
        return np.flatnonzero(in_use)

    def keys_of(self, slots: Slots) -> list[pa.Array]:
        """The keys of slots in use, one array per key column."""
        rows = self._row_of[slots]
        older = len(self._columns[0]) if self._columns else 0
        is_new = rows >= older
        if not self._newest or not is_new.any():
            picked = pa.array(rows)
            return [pc.take(column, picked) for column in self._columns]
        # Those of either part, one after the other, then each to its place.
        places = np.empty(len(rows), np.int64)
        places[np.concatenate([np.flatnonzero(~is_new), np.flatnonzero(is_new)])] = np.arange(
            len(rows)
        )
        found = [pa.array(rows[~is_new]), pa.array(rows[is_new] - older)]
        return [
            pa.concat_arrays([old.take(found[0]), new.take(found[1])]).take(pa.array(places))
            for old, new in zip(self._columns, self._newest, strict=True)
        ]

    def words_of(self, slots: Slots) -> tuple[Words, bool]:
        """The words of the keys of slots in use, and whether words are the values themselves."""
        return self._words[slots], self._are_words_exact

    def slots_of(self, columns: Sequence[pa.Array]) -> Slots:
        """The slot of each row's key; keys that are new get a slot.

        Args:
            columns: the components of the key, one or more, all of one length and of the same
                types at every call.
        """
        keyed = key_words(columns, nulls_match=True)
        words = writable(keyed.words)
        self._are_words_exact = self._are_words_exact and keyed.exact
        self._reserve(len(words))
        search = self._search(words)
        while len(search.rows):
            self._find_or_add(columns, search)
            if self._are_words_exact:
                break
            search = self._further(search, search.rows[self._differ(columns, search)])
        return search.slots

    def find(self, columns: Sequence[pa.Array]) -> Slots:
        """The slot of each row's key, -1 where the key has none; nothing is added."""
        keyed = key_words(columns, nulls_match=True)
        search = self._search(writable(keyed.words))
        while len(search.rows):
            self.probes += len(search.rows)
            key_table.find(self._cells, self._words, search)
            if self._are_words_exact and keyed.exact:
                break
            search = search._replace(rows=search.rows[search.slots[search.rows] >= 0])
            if len(search.rows):
                search = self._further(search, search.rows[self._differ(columns, search)])
        return search.slots

    def _search(self, words: Words) -> key_table.KeySearch:
        """A search for every word, at its beginning."""
        places = key_table.first_places(self._cells, words)
        return key_table.KeySearch(words, np.arange(len(words)), places, np.empty_like(places))

    def _further(self, search: key_table.KeySearch, rows: Slots) -> key_table.KeySearch:
        """The search of some rows, from the place after the one that they have come to."""
        search.places[rows] = (search.places[rows] + 1) & (len(self._cells) - 1)
        return search._replace(rows=rows)

    def release(self, slots: Slots) -> None:
        """Forgets the keys of these slots, each in use and named once."""
        if not len(slots):
            return
        key_table.leave(self._cells, self._words, slots)
        self._row_of[slots] = -1
        free = np.sort(np.concatenate([self._free, slots]))
        # Free slots that run up to slot_count are of the form slot_count - 1, slot_count - 2, ...
        from_end = np.arange(self.slot_count - len(free), self.slot_count)
        is_inside = free != from_end
        kept = int(np.flatnonzero(is_inside)[-1]) + 1 if is_inside.any() else 0
        self.slot_count -= len(free) - kept
        self._free = free[:kept]
        self._compact()

    def _fill(self, slots: Slots) -> None:
        keyed = key_words(self._columns, nulls_match=True)
        self._are_words_exact = keyed.exact
        self.slot_count = int(slots[-1]) + 1
        self._free = np.setdiff1d(np.arange(self.slot_count), slots, assume_unique=True)
        self._words = np.zeros(self.slot_count, np.uint64)
        self._words[slots] = keyed.words
        self._row_of = np.full(self.slot_count, -1, np.int64)
        self._row_of[slots] = np.arange(len(slots))
        self._rebuild(len(slots))

    def _find_or_add(self, columns: Sequence[pa.Array], search: key_table.KeySearch) -> None:
        """One round of a search; keys that find no candidate are added."""
        fresh = max(len(search.rows) - len(self._free), 0)
        unused = np.concatenate([self._free, np.arange(self.slot_count, self.slot_count + fresh)])
        claimants = np.empty(len(search.rows), np.int64)
        self.probes += len(search.rows)
        claimed = key_table.find_or_claim(self._cells, self._words, search, unused, claimants)
        if not claimed:
            return
        added = unused[:claimed]
        self._free = self._free[claimed:]
        self.slot_count = max(self.slot_count, int(added[-1]) + 1)
        self._used_cells += claimed
        first_rows = pa.array(claimants[:claimed])
        self._add_keys(added, [column.take(first_rows) for column in columns])

    def _add_keys(self, slots: Slots, columns: Sequence[pa.Array]) -> None:
        """Appends the keys of slots to the key table.

        The newest keys are apart until they are an eighth of the others: to append to these copies
        all of them.
        """
        columns = [as_shown(column) for column in columns]
        rows = self._rows
        self._row_of[slots] = np.arange(rows, rows + len(slots))
        self._newest = _appended(self._newest, columns)
        if NEWEST_PART * len(self._newest[0]) > rows:
            self._columns, self._newest = _appended(self._columns, self._newest), []

    def _differ(
        self, columns: Sequence[pa.Array], search: key_table.KeySearch
    ) -> NDArray[np.bool_]:
        """Which of the rows searched have another key than the slot they found."""
        same = np.ones(len(search.rows), np.bool_)
        is_first_round = len(search.rows) == len(search.keys)
        found = self.keys_of(search.slots[search.rows])
        for column, key in zip(columns, found, strict=True):
            mine = column if is_first_round else column.take(pa.array(search.rows))
            same &= equal_values(mine, key)
        return ~same

    def _reserve(self, rows: int) -> None:
        """Makes room for so many new keys."""
        if 2 * (self._used_cells + rows + 1) > len(self._cells):
            self._rebuild(len(self) + rows)
        most = self.slot_count + rows
        if most > len(self._words):
            self._words = np.resize(self._words, 2 * most)
            self._row_of = np.resize(self._row_of, 2 * most)

    def _rebuild(self, keys: int) -> None:
        """A new table with room for so many keys, without the marks of those that went."""
        size = max(LEAST_CELLS, 1 << (2 * keys + 2).bit_length())
        self._cells = np.full(size, key_table.EMPTY, np.int64)
        in_use = self.slots_in_use()
        key_table.enter(self._cells, self._words, in_use)
        self._used_cells = len(in_use)

    def _compact(self) -> None:
        """Drops the keys that went, once they are more than those that stay."""
        if self._rows > 2 * len(self) + LEAST_CELLS:
            in_use = self.slots_in_use()
            self._columns, self._newest = self.keys_of(in_use), []
            self._row_of = self._row_of[: self.slot_count].copy()
            self._words = self._words[: self.slot_count].copy()
            self._row_of[in_use] = np.arange(len(in_use))
            self._rebuild(len(in_use))


def _appended(first: list[pa.Array], second: list[pa.Array]) -> list[pa.Array]:
    if not first:
        return second
    return [pa.concat_arrays(pair) for pair in zip(first, second, strict=True)]


def as_shown(column: pa.Array) -> pa.Array:
    """The column with 0.0 for -0.0, inside nested values too."""
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.add(column, pa.scalar(0.0, kind))
    if pa.types.is_struct(kind) and kind.num_fields:
        fields = [as_shown(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=column.is_null())
    if pa.types.is_list(kind):
        # A copy of the offsets: Arrow takes no slice of them together with a mask.
        offsets = pa.array(column.offsets.to_numpy().copy())
        return pa.ListArray.from_arrays(
            offsets, as_shown(column.values), type=kind, mask=column.is_null()
        )
    return column
