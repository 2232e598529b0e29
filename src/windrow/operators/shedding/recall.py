"""How much of all combinations a join that sheds finds: expected, and estimated.

Of a pane, per input i that probes last:

    found      sum of 1 / chance over those found      where i probes and all others are kept
    model      arrivals of i x the others' full windows

An input that gets no probes, or that meets a window of which nothing is kept, finds nothing whatever
there is: what it would have found is taken from the others, by the model's ratio.

    estimated  =  sum of found, over the inputs that can find,  x  model of all / model of these
    expected   =  estimated  x  model with the probes and windows given / model of all
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
    ) -> None:
        """Ends a pane.

        Args:
            counters: what is added to.
            division: what the inputs got in the pane.
            kept: tuples of each window that are kept, expected.
        """
        model = np.array(division.arrived) * products_of_others(list(map(float, division.full)))
        reached = np.array(division.probes) * products_of_others(list(map(float, kept)))
        rooms = products_of_others([float(most > 0) for most in division.windows])
        can_find = (np.array(division.probes) > 0) & (np.array(rooms) > 0)
        counters.shed_found += int(self._found.sum())
        of_these = float(model[can_find].sum())
        if of_these > 0:
            there_are = float(self._weights.sum()) * float(model.sum()) / of_these
            share = min(1.0, float(reached[can_find].sum()) / float(model.sum()))
            counters.shed_estimated += round(there_are * THOUSANDTHS)
            counters.shed_expected += round(there_are * share * THOUSANDTHS)
        self._found[:] = 0
        self._weights[:] = 0
