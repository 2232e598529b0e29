"""How much of all combinations a join that sheds finds: expected, and estimated.

Of a pane, per input i that probes last:

    found      sum of 1 / chance over those found
    all        arrivals of i x the others' full windows         how many there are, by the model
    possible   0 without probes, else arrivals of i x the others' tuples that had a chance
    reached    probes of i x the others' tuples that are kept

What had no chance is never found, whatever there is: how much that would have been is taken from the
others, by the model's ratio.

    estimated  =  sum of found  x  all / possible               each summed over the inputs
    expected   =  estimated  x  reached / all
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.allocation.output import products_of_others
from windrow.operators.base import Counters
from windrow.operators.shedding.control import Division

THOUSANDTHS = 1_000


class Recall:
    """Counts what a pane has found, and then what it should have.

    Args:
        inputs: how many the join has.
    """

    def __init__(self, inputs: int) -> None:
        self._found = np.zeros(inputs, np.int64)
        self._weights = np.zeros(inputs)

    def found(self, start: int, chances: NDArray[np.float64]) -> None:
        """Takes combinations that end with an input, and the chances of their draws by input."""
        self._found[start] += chances.shape[1]
        self._weights[start] += float(np.sum(1 / np.prod(chances, axis=0)))

    def count(
        self,
        counters: Counters,
        division: Division,
        kept: Sequence[float],
        possible: Sequence[float],
    ) -> None:
        """Ends a pane.

        Args:
            counters: what is added to.
            division: what the inputs got in the pane.
            kept: tuples of each window that are kept, expected.
            possible: tuples of each window that had a chance to be kept.
        """
        arrived, probes = np.array(division.arrived), np.array(division.probes)
        there_are = float(arrived @ products_of_others(list(map(float, division.full))))
        can_find = float((arrived * (probes > 0)) @ products_of_others(possible))
        reached = float(probes @ products_of_others(kept))
        counters.shed_found += int(self._found.sum())
        if can_find > 0:
            estimated = float(self._weights.sum()) * there_are / can_find
            counters.shed_estimated += round(estimated * THOUSANDTHS)
            share = min(1.0, reached / there_are)
            counters.shed_expected += round(estimated * share * THOUSANDTHS)
        self._found[:] = 0
        self._weights[:] = 0
