"""MIN, MAX and MEDIAN, MIN_BY and MAX_BY: the values alive, in order.

Where all rows live equally long, what comes later leaves later: MIN and MAX then keep only values
that may still be the answer (`kernels/extremes.py`). Else, and for MEDIAN, all values are kept, in
trees (`kernels/ordered_values.py`).

MIN_BY and MAX_BY give x of the pair (x, y) that comes first, or last, in the order of y. Pairs with
equal y are in the order of x, so that the answer does not depend on which came first. NULL as x comes
last where the first is asked for, and first where the last is. The values are pairs, as words that
kernels compare:

    y is a word             word: y;                      id: x, in the order of its bytes
    y is a text, or wide    word: the first eight bytes;  id: (x, y), in the order of y's bytes and x's
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from windrow.kernels import extremes
from windrow.kernels.extremes import GREATEST, LEAST, LOWER, UPPER, Coded
from windrow.kernels.jit import writable
from windrow.kernels.ordered_values import COMPARED, NODE_CELLS
from windrow.kernels.versions import Versions
from windrow.operators.accumulators.base import (
    Answers,
    Flags,
    Int64s,
    SlotRows,
    ValueKeeper,
    as_doubles,
    fitted,
    nothing_to_delete,
    validity,
)
from windrow.operators.accumulators.codes import (
    CodedAnswers,
    Codes,
    Identified,
    Numeric,
    codes_of,
    spelled,
)
from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.key_columns import fixed_bytes, is_exact, plain
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.plan.nodes.window_aggregate import Aggregate

_TURNS = {LEAST: 1, GREATEST: -1}
_MIDDLE = (LOWER, UPPER)

Places = Mapping[str, tuple[int, ...]]
"""Per function, which of the values in order it takes: one end, or the two in the middle."""


class Deques:
    """What may still be the least values, and the greatest ones, of every slot."""

    def __init__(self, places: Places, lifetime: int) -> None:
        self.lifetime = lifetime
        self.turns = {function: _TURNS[end] for function, (end,) in places.items()}
        self.cells = {f: np.zeros((0, extremes.CELL_PARTS), np.int64) for f in places}
        self.meta = {function: np.zeros(3, np.int64) for function in places}
        self.sides = {function: np.zeros((0, 2), np.int64) for function in places}

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return sum(a.nbytes for part in (self.cells, self.sides) for a in part.values())

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return sum(int(meta[COMPARED]) for meta in self.meta.values())

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.sides = {function: fitted(own, slots) for function, own in self.sides.items()}

    def enter(self, rows: SlotRows, values: Coded) -> None:
        """Takes up rows, in the order of their times."""
        ends = rows.times + self.lifetime
        for name, turn in self.turns.items():
            self.cells[name] = extremes.enter_all(
                values, rows.slots, ends, self.cells[name], self.meta[name],
                self.sides[name], turn,
            )  # fmt: skip

    def slide(self, versions: Versions, values: Coded, codes: Codes) -> dict[str, Answers]:
        """Applies the events; gives the answers by function name."""
        answers: dict[str, Answers] = {}
        for name in self.cells:
            found, self.cells[name] = extremes.slide_extremes(
                versions, values, self.cells[name], self.meta[name], self.sides[name],
                self.lifetime, self.turns[name],
            )  # fmt: skip
            answers[name] = codes.answers(found.words, found.ids, found.valid)
        return answers


class Trees:
    """All values of every slot, in order."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.asked = np.zeros(4, np.bool_)
        self.asked[[which for own in places.values() for which in own]] = True
        self.nodes = np.zeros((0, NODE_CELLS), np.int64)
        self.meta = np.zeros(3, np.int64)
        self.roots = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes of all slots."""
        return self.nodes.nbytes + self.roots.nbytes

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return int(self.meta[COMPARED])

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self.roots = fitted(self.roots, slots)

    def enter(self, rows: SlotRows, values: Coded) -> None:
        """Takes up rows, in the order of their times."""
        self.nodes = extremes.add_all(
            values, rows.slots, rows.signs, self.nodes, self.meta, self.roots
        )

    def slide(self, versions: Versions, values: Coded, codes: Codes) -> dict[str, Answers]:
        """Applies the events; gives the answers by function name."""
        found, self.nodes = extremes.slide_order(
            versions, values, self.nodes, self.meta, self.roots, self.asked
        )
        if not found.is_whole:
            raise nothing_to_delete()
        has_value = found.counts > 0
        answers: dict[str, Answers] = {}
        for name, places in self.places.items():
            if places == _MIDDLE:
                answers[name] = Answers(_medians(found, codes), has_value, pa.float64())
                continue
            words, ids = (
                np.ascontiguousarray(part[:, places[0]]) for part in (found.words, found.ids)
            )
            answers[name] = codes.answers(words, ids, has_value)
        return answers


def _medians(found: extremes.Picked, codes: Codes) -> NDArray[np.float64]:
    """The middle value, or what lies halfway between the two, as Spark computes it; 0 for none."""
    rows = np.flatnonzero(found.counts)
    lower, upper = (
        as_doubles(codes.values(found.words[rows, which], found.ids[rows, which]))
        for which in (LOWER, UPPER)
    )
    is_one = (found.words[rows, LOWER] == found.words[rows, UPPER]) & (
        found.ids[rows, LOWER] == found.ids[rows, UPPER]
    )
    # Of an infinity no number, of doubles as far apart as they can be an infinity.
    with np.errstate(invalid="ignore", over="ignore"):
        halves = lower + 0.5 * (upper - lower)
    medians = np.zeros(len(found.counts))
    medians[rows] = np.where(is_one, lower, halves) + 0.0
    medians[np.isnan(medians)] = np.nan  # of the many NaNs the one that is positive
    return medians


class Ordered(ValueKeeper):
    """The values of one column, in order as far as they may be asked for."""

    takes: ClassVar[Places] = {"min": (LEAST,), "max": (GREATEST,), "median": _MIDDLE}
    """Per function, what it takes of the values in order."""

    def __init__(self, aggregates: Sequence[Aggregate]) -> None:
        self.functions = list(dict.fromkeys(aggregate.function for aggregate in aggregates))
        argument = aggregates[0].argument
        assert argument is not None, "only COUNT has no argument"
        self.codes = self._codes_of(arrow_type(argument.type))
        self._places = {function: self.takes[function] for function in self.functions}
        self._room = 0
        self._worked = 0
        self.kept_values: Deques | Trees = Trees(self._places)

    def _codes_of(self, kind: pa.DataType) -> Codes:
        """How values of the argument's type are put in order."""
        return codes_of(kind)

    @property
    def work(self) -> int:
        """Comparisons made so far."""
        return self._worked + self.kept_values.work

    @property
    def nbytes(self) -> int:
        """Bytes of the values."""
        return self.kept_values.nbytes + self.codes.nbytes

    def begin(self, lifetime: int | None) -> None:
        """Forgets all values; from now on all rows live so long, or, by None, as they like."""
        self._worked = self.work
        if lifetime is None or _MIDDLE in self._places.values():
            self.kept_values = Trees(self._places)
        else:
            self.kept_values = Deques(self._places, lifetime)
        self.codes.forget()
        self.kept_values.fit(self._room)

    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots."""
        self._room = slots
        self.kept_values.fit(slots)

    def enter(self, rows: SlotRows, column: pa.Array) -> None:
        """Takes up rows that are alive, in the order of their times."""
        values = self.codes.of(column)
        self.kept_values.enter(rows, values)
        self.codes.use(values, np.arange(len(rows.slots)), rows.signs)

    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """What is asked for of MIN, MAX and MEDIAN."""
        values = self.codes.of(column)
        answers = self.kept_values.slide(versions, values, self.codes)
        self.codes.use(values, versions.event_rows, versions.event_signs)
        return answers


_SIGN_BIT = np.uint64(1 << 63)


class MaxBy(Ordered):
    """The x of the pair with the greatest y."""

    takes: ClassVar[Mapping[str, tuple[int, ...]]] = {"max_by": (GREATEST,)}

    def _codes_of(self, kind: pa.DataType) -> Codes:
        return Pairs(kind, is_null_least=True)


class MinBy(Ordered):
    """The x of the pair with the least y."""

    takes: ClassVar[Mapping[str, tuple[int, ...]]] = {"min_by": (LEAST,)}

    def _codes_of(self, kind: pa.DataType) -> Codes:
        return Pairs(kind, is_null_least=False)


class Pairs(Identified):
    """Pairs (x, y) in the order of y, then of x; their values are x."""

    def __init__(self, kind: pa.StructType, *, is_null_least: bool) -> None:
        self._kind = kind.field(0).type
        self._has_words = is_exact(kind.field(1).type)
        self._null_mark = b"\x00" if is_null_least else b"\x01"
        self._mark = b"\x01" if is_null_least else b"\x00"
        super().__init__()

    def of(self, column: pa.Array) -> Coded:
        """The words and ids of a column of pairs."""
        valid = validity(column)
        x, y = (plain(field) for field in column.flatten())
        ids = self._ids([x] if self._has_words else [x, y], valid)
        if not self._has_words:
            return Coded(self._table.words_of(ids), ids, valid, self._table.texts)
        words = writable(np.where(valid, Numeric.words(y), 0))
        return Coded(words, ids, valid, self._table.texts)

    def values(self, words: Int64s, ids: Int64s) -> pa.Array:  # noqa: ARG002
        """The x of the pairs that have these ids; all in use."""
        return self._directory.keys_of(ids)[0] if len(ids) else pa.array([], self._kind)

    def answers(self, words: Int64s, ids: Int64s, valid: Flags) -> Answers:
        """The x of each version: NULL where there is no pair, and where x is."""
        shown = np.flatnonzero(valid)
        told = np.zeros(len(ids), np.int64)
        has_value = np.zeros(len(ids), np.bool_)
        if len(shown):
            x = self.values(words[shown], ids[shown])
            has_value[shown] = validity(x)
            same = ids[shown] if self._has_words else KeyDirectory().slots_of([x])
            told[shown] = np.where(has_value[shown], same, 0)
        return FirstOfPairs(told, has_value, pa.int64(), ids, self)

    def _bytes(self, keys: Sequence[pa.Array]) -> pa.Array:
        marks = pc.if_else(keys[0].is_null(), self._null_mark, self._mark)
        of_x = _joined(marks.cast(pa.large_binary()), _bytes_of(keys[0]))
        if self._has_words:
            return of_x
        # A zero byte inside of y is not its end: what ends comes before what goes on.
        y = pc.replace_substring(_bytes_of(keys[1]), b"\x00", b"\x00\xff")
        return _joined(y, of_x, by=b"\x00\x00")


@dataclass(frozen=True)
class FirstOfPairs(CodedAnswers):
    """Answers of which `values` tell the versions apart, and ids lead to what is shown."""

    def mark_changed(self, previous: Int64s, changed: Flags) -> None:
        """Marks the versions that differ here from the version before."""
        Answers(self.values, self.valid, pa.int64()).mark_changed(previous, changed)


def _joined(first: pa.Array, second: pa.Array, by: bytes = b"") -> pa.Array:
    return pc.binary_join_element_wise(first, second, pa.scalar(by, pa.large_binary()))


def _bytes_of(column: pa.Array) -> pa.Array:
    """Values of any type that has an order, as bytes in their order; nothing where they are NULL."""
    if not is_exact(column.type):
        return spelled(column).fill_null(b"")
    words = np.where(validity(column), Numeric.words(column), 0)
    high_first = (words.view(np.uint64) ^ _SIGN_BIT).astype(">u8")
    return fixed_bytes(high_first.view(np.uint8).reshape(-1, 8))
