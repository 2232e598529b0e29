"""One output column of an aggregate, computed for every version of every group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.kernels.versions import mark_changed


@dataclass(frozen=True)
class Answers:
    """A value per version, and where it is NULL.

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
