"""The estimates of one argument column with their intervals, version by version."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.sliding_margins import AVERAGE, COUNT, SUM, Margins
from windrow.operators.answers import Answers

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Totals:
    """The estimates of one argument column, per version.

    Attributes:
        found: how many combinations were found in which it is not NULL.
        counts: how many there are.
        sums: of its values; of nothing where they are not added.
        means: the exact average of those found, weighted; right where none has a weight.
    """

    found: NDArray[np.int64]
    counts: Floats
    sums: Floats
    means: Floats

    @property
    def averages(self) -> Floats:
        """The estimated averages; 0 where nothing was found."""
        return np.divide(self.sums, self.counts, out=np.zeros_like(self.sums), where=self.found > 0)

    def shown(
        self, function: str, margins: Margins, place: int, is_known: Flags, in_doubt: Flags
    ) -> list[Answers]:
        """The estimate and the ends of its interval.

        Args:
            function: "count", "sum" or "avg".
            margins: of all columns.
            place: which of them this one is.
            is_known: whether nothing of the group was shed.
            in_doubt: whether something of any group may have been, of which nothing was found.
        """
        if function == "count":
            return self._count(margins.totals[:, place, COUNT], is_known, in_doubt)
        if function == "sum":
            return self._interval(self.sums, margins.totals[:, place, SUM], in_doubt)
        averages = np.where(is_known, self.means, self.averages)
        scales = np.where(self.found > 0, self.counts, 1.0)
        return self._interval(averages, margins.totals[:, place, AVERAGE] / scales, in_doubt)

    def _count(self, margins: Floats, is_known: Flags, in_doubt: Flags) -> list[Answers]:
        """At least as many as were found.

        With none found, or none that tells of others, nobody knows how many at most.
        """
        low = np.maximum(self.counts - margins, self.found)
        high = np.maximum(self.counts + margins, self.found)
        has_most = ((self.found > 0) | is_known) & ~(in_doubt & (margins == 0))
        return [_answers(self.counts), _answers(low), _answers(high, has_most)]

    def _interval(self, values: Floats, margins: Floats, in_doubt: Flags) -> list[Answers]:
        """NULL without a value; ends are NULL too where the margin cannot be told.

        A margin of 0, where something may be missing, is that of what was found alone.
        """
        is_value = self.found > 0
        has_ends = is_value & ~np.isnan(margins) & ~(in_doubt & (margins == 0))
        with np.errstate(invalid="ignore"):
            ends = [values - margins, values + margins]
        return [_answers(values, is_value), *(_answers(end, has_ends) for end in ends)]


def _answers(values: Floats, valid: Flags | None = None) -> Answers:
    """Values whose equal ones have equal bits."""
    shown = np.where(np.isnan(values), np.nan, values + 0.0)
    if valid is not None:
        shown = np.where(valid, shown, 0.0)
    return Answers(shown, valid, pa.float64())
