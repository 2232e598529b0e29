"""From combinations of positions to the rows of the answer.

A machine gives one position per input and combination. Of these are left, in this order:

1. those that one of the graphs of windows allows, where there are two (EITHER WAY);
2. those whose keys are equal by value, where words are hashes;
3. those for which all predicates are true.

Their rows are gathered from the chunks, side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.kernels.published.tape import Numbers
from windrow.operators.changes import ChangeBatch
from windrow.operators.gather import Places
from windrow.operators.keys import equal_values
from windrow.operators.published.lanes import Lanes
from windrow.operators.published.rows import LaneRows
from windrow.operators.theta import Predicates
from windrow.physical.specs import WJoin

Flags = NDArray[np.bool_]


class JoinResults:
    """Makes the rows of a join's answer.

    Args:
        spec: the join.
        lanes: the tuples.
        rows: the rows behind them, per input.
    """

    def __init__(self, spec: WJoin, lanes: Lanes, rows: Sequence[LaneRows]) -> None:
        self._spec = spec
        self._lanes = lanes
        self._rows = rows
        self._predicates = Predicates(spec) if spec.predicates else None

    def batch(self, positions: Numbers) -> ChangeBatch | None:
        """The answers among some combinations; None for none."""
        if self._spec.alternative is not None:
            positions = positions[self._meets_a_graph(self._lanes.tape.times[positions])]
        for test in (self._has_equal_keys, self._meets_predicates):
            if len(positions):
                passed = test(positions)
                positions = positions if passed is None else positions[passed]
        return self._gathered(positions) if len(positions) else None

    def _meets_a_graph(self, times: Numbers) -> Flags:
        """Whether combinations meet all bounds of one of the graphs."""
        answer = np.zeros(len(times), np.bool_)
        for graph in self._spec.ways:
            meets = np.ones(len(times), np.bool_)
            for bound in graph.stated:
                # No overflow: the machine's bounds have kept every difference in reach.
                distance = times[:, bound.right] - times[:, bound.left]
                meets &= (distance >= -bound.lo) & (distance <= bound.hi)
            answer |= meets
        return answer

    def _has_equal_keys(self, positions: Numbers) -> Flags | None:
        """Whether keys are equal by value; None where words have proven it."""
        same: Flags | None = None
        for key in self._spec.classes:
            names = {port: name for port, name in enumerate(key.columns) if name is not None}
            if all(self._rows[port].is_exact(name) for port, name in names.items()):
                continue
            values = [self._columns(positions, port, [name])[0] for port, name in names.items()]
            for other in values[1:]:
                equal = equal_values(values[0], other)
                same = equal if same is None else same & equal
        return same

    def _meets_predicates(self, positions: Numbers) -> Flags | None:
        if self._predicates is None:
            return None
        numbers = range(len(self._predicates))
        columns: dict[str, pa.Array] = {}
        for port in range(len(self._rows)):
            names = self._predicates.columns(numbers, port)
            columns |= zip(names, self._columns(positions, port, names), strict=True)
        return self._predicates.mask(numbers, columns, len(positions))

    def _gathered(self, positions: Numbers) -> ChangeBatch:
        arrays: list[pa.Array] = []
        ends: Numbers | None = None
        for port, rows in enumerate(self._rows):
            arrays += self._columns(positions, port, self._spec.keep[port])
            if rows.has_ends:
                own = rows.ends(self._places(positions, port))
                ends = own if ends is None else np.minimum(ends, own)
        columns = pa.RecordBatch.from_arrays(arrays, names=list(self._spec.schema.names))
        return ChangeBatch(columns, self._lanes.tape.times[positions].max(axis=1), ends)

    def _columns(self, positions: Numbers, port: int, names: Sequence[str]) -> list[pa.Array]:
        if not names:
            return []
        return self._rows[port].columns(names, self._places(positions, port))

    def _places(self, positions: Numbers, port: int) -> Places:
        return Places(self._lanes.places[positions[:, port]])
