"""COUNT, SUM, AVG and VARIANCE of distinct values: an accumulator that is given each value once.

How many copies of a value a group holds is kept in a hash table (`kernels/distinct_values.py`). It
lets through the events by which a first copy comes and a last one goes; what they add up to, the
accumulator inside keeps, and stores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import distinct_values as kernels
from windrow.kernels.jit import writable
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    Accumulator,
    AliveRows,
    Flags,
    Numbers,
    ValueKeeper,
    fitted,
    nothing_to_delete,
    validity,
)
from windrow.operators.aggregates.answers import Answers
from windrow.operators.columns.key_columns import column_words, is_exact, plain
from windrow.operators.columns.key_directory import KeyDirectory


class DistinctValues(ValueKeeper):
    """An accumulator of the distinct values of a column."""

    def __init__(self, inside: Accumulator) -> None:
        self.inside = inside
        self._meta: Numbers = np.zeros(2, np.int64)
        self.begin(None)

    def begin(self, lifetime: int | None) -> None:  # noqa: ARG002
        """Forgets how many copies there are; what they add up to stays."""
        self._cells: Numbers = np.zeros((0, kernels.CELL_PARTS), np.int64)
        self._meta = np.array([0, self.work])
        self._values = _Words()

    @property
    def work(self) -> int:
        """Cells looked at so far."""
        return int(self._meta[kernels.PROBES])

    @property
    def nbytes(self) -> int:
        """Bytes of the copies' table, of values that are no words, and of what they add up to."""
        return self._cells.nbytes + self._values.nbytes + self.inside.nbytes

    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """The answers of the accumulator inside, copies counted once."""
        words, valid = self._values.of(column)
        found, self._cells = kernels.distinct_versions(
            versions, words, valid, self._cells, self._meta
        )
        if not found.is_whole:
            raise nothing_to_delete()
        rows, signs = versions.event_rows, versions.event_signs
        self._values.use(words[rows[valid[rows]]], signs[valid[rows]])
        return self.inside.slide(found.versions, column)

    def enter(self, rows: AliveRows, column: pa.Array) -> None:
        """Counts the copies in rows that are alive."""
        words, valid = self._values.of(column)
        self._cells = kernels.count_all(
            rows.slots, words, valid, rows.signs, self._cells, self._meta
        )
        self._values.use(words[valid], rows.signs[valid])

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.inside.fit(slots)

    def clear(self, slots: Numbers) -> None:
        """Forgets what these slots held."""
        self.inside.clear(slots)

    def state(self, slots: Numbers) -> tuple[int, list[pa.Array]]:
        """What the values of some slots add up to."""
        return self.inside.state(slots)

    def load(self, slots: Numbers, low: int, columns: Sequence[pa.Array]) -> None:
        """Puts back what `state` gave, into an accumulator that holds nothing yet."""
        self.inside.load(slots, low, columns)


class _Words:
    """Values as words, equal ones alike: the value itself, or an id while some row has it."""

    def __init__(self) -> None:
        self._directory = KeyDirectory()
        self._uses: Numbers = np.zeros(0, np.int64)
        self._is_exact = True

    @property
    def nbytes(self) -> int:
        return self._directory.nbytes + self._uses.nbytes

    def of(self, column: pa.Array) -> tuple[Numbers, Flags]:
        """The words of a column, and where it is not NULL."""
        column = plain(column)
        valid = validity(column)
        self._is_exact = is_exact(column.type)
        if self._is_exact:
            return writable(column_words(column).words.view(np.int64)), valid
        words = np.zeros(len(column), np.int64)
        if valid.any():
            words[valid] = self._directory.slots_of([column.filter(pa.array(valid))])
        self._uses = fitted(self._uses, self._directory.slot_count)
        return words, valid

    def use(self, words: Numbers, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; values that no row has any more lose their id."""
        if self._is_exact:
            return
        np.add.at(self._uses, words, signs)
        touched = np.unique(words)
        self._directory.release(touched[self._uses[touched] == 0])
