"""What every accumulator is: arrays indexed by slot, changed by events, read once per version.

Two kinds. Those that *add up* hold a few numbers per slot, which are the state and are stored with
the groups. Those that *keep values* hold what can be made again from the rows alive: of that they
store nothing, and are given those rows after a restart (`begin`, then `enter`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.kernels.jit import writable
from windrow.kernels.versions import Versions, mark_changed
from windrow.operators.columns.key_columns import fixed_values

Flags = NDArray[np.bool_]
Int64s = NDArray[np.int64]


class SlotRows(NamedTuple):
    """Rows that are alive, in the order of their times: of which slot, from when, and their sign."""

    slots: Int64s
    times: Int64s
    signs: NDArray[np.int8]


@dataclass(frozen=True)
class Answers:
    """One output column of an aggregate: a value per version of every group, and where it is NULL.

    Attributes:
        values: int64, float64, or two int64 words per version for decimals. Equal values have
            equal bits: sums are 0.0, never -0.0, and there is one NaN.
        valid: False where the value is NULL; None where it never is.
        type: the Arrow type to show.
        fits: False where the value is none of the type; None where all are.
        misfit: what to say of a version that is shown and does not fit.
    """

    values: NDArray[Any]
    valid: NDArray[np.bool_] | None
    type: pa.DataType
    fits: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    misfit: DataError | None = field(default=None, kw_only=True)

    def check(self, versions: NDArray[np.int64] | None = None) -> None:
        """Refuses values that do not fit, among all versions or the given ones."""
        if self.fits is None or self.misfit is None or self.fits.all():
            return
        if versions is None or not self.fits[versions].all():
            raise self.misfit

    def mark_changed(self, previous: NDArray[np.int64], changed: NDArray[np.bool_]) -> None:
        """Marks the versions that differ here from the version before."""
        words = self.values.view(np.int64)
        for part in words.T if words.ndim == 2 else [words]:
            mark_changed(np.ascontiguousarray(part), previous, changed)
        if self.valid is not None:
            mark_changed(self.valid, previous, changed)

    def take(self, versions: NDArray[np.int64]) -> pa.Array:
        """The values of the given versions."""
        values = self.values[versions]
        is_valid = None if self.valid is None else self.valid[versions]
        bitmap, nulls = None, 0
        if is_valid is not None and not is_valid.all():
            bitmap = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
            nulls = len(is_valid) - int(np.count_nonzero(is_valid))
        return pa.Array.from_buffers(
            self.type, len(values), [bitmap, pa.py_buffer(values)], null_count=nulls
        )


class Accumulator(ABC):
    """The accumulators of one argument column, one per slot."""

    def kept(self, column: pa.Array) -> pa.Array:
        """What must be stored of the argument to take its rows back later."""
        return column

    @abstractmethod
    def slide(self, versions: Versions, column: pa.Array) -> dict[str, Answers]:
        """Applies the events of the versions; gives the answers by function name.

        `column` has the argument of every row, as `kept` gave it, NULL included.
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of all slots."""

    @abstractmethod
    def fit(self, slots: int) -> None:
        """Makes room for at least so many slots, or gives room back if much too large."""

    @abstractmethod
    def clear(self, slots: Int64s) -> None:
        """Forgets what these slots held."""

    @abstractmethod
    def state(self, slots: Int64s) -> tuple[int, list[pa.Array]]:
        """What is stored of some slots: a number, and columns."""

    @abstractmethod
    def load(self, slots: Int64s, low: int, columns: Sequence[pa.Array]) -> None:
        """Puts back what `state` gave, into an accumulator that holds nothing yet."""


class ValueKeeper(Accumulator):
    """An accumulator that must be given the rows alive before it slides: of these it stores nothing."""

    def clear(self, slots: Int64s) -> None:
        """Values went with their rows."""

    def state(self, slots: Int64s) -> tuple[int, list[pa.Array]]:  # noqa: ARG002
        """Nothing: it is made from the rows alive."""
        return 0, []

    def load(self, slots: Int64s, low: int, columns: Sequence[pa.Array]) -> None:
        """Nothing to put back."""

    @property
    @abstractmethod
    def work(self) -> int:
        """Comparisons and probes made so far, beyond one per event."""

    @abstractmethod
    def begin(self, lifetime: int | None) -> None:
        """Forgets all values; from now on all rows live so long, or, by None, as they like."""

    @abstractmethod
    def enter(self, rows: SlotRows, column: pa.Array) -> None:
        """Takes up rows that are alive, with their arguments as `kept` gave them."""


def validity(column: pa.Array) -> Flags:
    """False where the column is NULL."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    valid: Flags = column.is_valid().to_numpy(zero_copy_only=False)
    return writable(valid)


def resized(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """The array with so many rows: the first ones as they are, new ones zero."""
    new = np.zeros((rows, *array.shape[1:]), array.dtype)
    kept = min(rows, len(array))
    new[:kept] = array[:kept]
    return new


def fitted(array: NDArray[Any], slots: int) -> NDArray[Any]:
    """The array, with room for so many slots and not for many more."""
    room = len(array)
    return resized(array, 2 * slots) if room < slots or room > 4 * slots + 64 else array


def nothing_to_delete() -> DataError:
    """The error for a delete that no insert came before."""
    return DataError(
        "delete-without-row",
        "a change deletes a row that the stream does not hold",
        reason="a delete must follow the insert of an equal row, at its instant or later",
        hint="check that the changelog is complete and starts with its inserts, that none of them "
        "was kept aside, and that a database logs whole rows and not only their keys "
        "(PostgreSQL: REPLICA IDENTITY FULL)",
    )


_EXACT_DIGITS, _EXACT_SCALE = 15, 22
"""Whole numbers of so many digits, and powers of ten so great, are doubles themselves."""


def as_doubles(column: pa.Array) -> NDArray[np.float64]:
    """The values as doubles; where the column is NULL, any finite number."""
    kind = column.type
    if not pa.types.is_decimal(kind):
        numbers = column.cast(pa.float64(), safe=False)
        return _without_nulls(numbers, fixed_values(numbers, "<f8"))
    if kind.precision <= _EXACT_DIGITS and kind.scale <= _EXACT_SCALE:
        # One division of two exact doubles is rounded once. Arrow's cast is off by a bit at times.
        whole = fixed_values(column, "<i8")[::2].astype(np.float64)
        return _without_nulls(column, whole / 10.0**kind.scale)
    return np.array([0.0 if v is None else float(v) for v in column.to_pylist()], np.float64)


def _without_nulls(column: pa.Array, values: NDArray[np.float64]) -> NDArray[np.float64]:
    if not column.null_count:
        return values
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), values, 0.0)
