"""Which accumulators serve a list of aggregates: one per argument column and way of keeping it.

An aggregate's definition names its accumulator (`plan/aggregates`); those that name the same one
and read the same column share it.

    COUNT, SUM, AVG            sums.py        counts, and exact sums
    VAR_*, STDDEV_*            variances.py   exact sums of values and of squares
    MIN, MAX, MEDIAN           ordered.py     the values alive, in order
    MIN_BY, MAX_BY             ordered.py     pairs of values, in the order of the second
    COUNT(DISTINCT x), ..      here           how many copies of each value, around one of the above
    those that others add      plain.py       the values alive, for a function in Python

Of distinct values, how many copies of each a group holds is kept in a hash table
(`kernels/distinct_values.py`). It lets through the events by which a first copy comes and a last
one goes; what they add up to, the accumulator inside keeps, and stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels import distinct_values as kernels
from windrow.kernels.jit import writable
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    Accumulator,
    Answers,
    Flags,
    Int64s,
    SlotRows,
    ValueKeeper,
    fitted,
    nothing_to_delete,
    validity,
)
from windrow.operators.columns.key_columns import column_words, is_exact, plain
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.nodes.window_aggregate import Aggregate
from windrow.registry import load


class DistinctValues(ValueKeeper):
    """An accumulator of the distinct values of a column."""

    def __init__(self, inside: Accumulator) -> None:
        self.inside = inside
        self._meta: Int64s = np.zeros(2, np.int64)
        self.begin(None)

    def begin(self, lifetime: int | None) -> None:  # noqa: ARG002
        """Forgets how many copies there are; what they add up to stays."""
        self._cells: Int64s = np.zeros((0, kernels.CELL_PARTS), np.int64)
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

    def enter(self, rows: SlotRows, column: pa.Array) -> None:
        """Counts the copies in rows that are alive."""
        words, valid = self._values.of(column)
        self._cells = kernels.count_all(
            rows.slots, words, valid, rows.signs, self._cells, self._meta
        )
        self._values.use(words[valid], rows.signs[valid])

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.inside.fit(slots)

    def clear(self, slots: Int64s) -> None:
        """Forgets what these slots held."""
        self.inside.clear(slots)

    def state(self, slots: Int64s) -> tuple[int, list[pa.Array]]:
        """What the values of some slots add up to."""
        return self.inside.state(slots)

    def load(self, slots: Int64s, low: int, columns: Sequence[pa.Array]) -> None:
        """Puts back what `state` gave, into an accumulator that holds nothing yet."""
        self.inside.load(slots, low, columns)


class _Words:
    """Values as words, equal ones alike: the value itself, or an id while some row has it."""

    def __init__(self) -> None:
        self._directory = KeyDirectory()
        self._uses: Int64s = np.zeros(0, np.int64)
        self._is_exact = True

    @property
    def nbytes(self) -> int:
        return self._directory.nbytes + self._uses.nbytes

    def of(self, column: pa.Array) -> tuple[Int64s, Flags]:
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

    def use(self, words: Int64s, signs: NDArray[np.int8]) -> None:
        """Counts rows that come and go; values that no row has any more lose their id."""
        if self._is_exact:
            return
        np.add.at(self._uses, words, signs)
        touched = np.unique(words)
        self._directory.release(touched[self._uses[touched] == 0])


def key_of(aggregate: Aggregate) -> str | None:
    """The name of the accumulator that answers an aggregate; None for COUNT(*)."""
    if aggregate.argument is None:
        return None
    distinct = "distinct " if aggregate.is_distinct else ""
    return f"{aggregate.definition.accumulator} of {distinct}{aggregate.argument.columns[0]}"


def argument_columns(aggregates: Sequence[Aggregate]) -> list[str]:
    """The columns that aggregates read, each once."""
    return list(dict.fromkeys(a.argument.columns[0] for a in aggregates if a.argument))


def readers(
    aggregates: Sequence[Aggregate], accumulators: Mapping[str, Accumulator]
) -> dict[str, list[Accumulator]]:
    """Which of the accumulators read each column."""
    found: dict[str, list[Accumulator]] = {name: [] for name in argument_columns(aggregates)}
    served = ((str(key_of(a)), a.argument.columns[0]) for a in aggregates if a.argument)
    for key, column in dict.fromkeys(served):
        if key in accumulators:
            found[column].append(accumulators[key])
    return found


def accumulators_of(aggregates: Sequence[Aggregate]) -> dict[str, Accumulator]:
    """The accumulators of all aggregates, by their names.

    Raises:
        UnsupportedError: an argument's type has no sum.
    """
    served: dict[str, list[Aggregate]] = {}
    for aggregate in aggregates:
        key = key_of(aggregate)
        if key is not None:
            served.setdefault(key, []).append(aggregate)
    return {key: _accumulator(own) for key, own in served.items()}


def _accumulator(aggregates: Sequence[Aggregate]) -> Accumulator:
    """One accumulator for aggregates of one name; a worker loads, and compiles, those of its own."""
    made: Accumulator = load(aggregates[0].definition.accumulator)(aggregates)
    return DistinctValues(made) if aggregates[0].is_distinct else made
