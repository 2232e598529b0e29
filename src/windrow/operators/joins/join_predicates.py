"""The predicates of a window join, tested on blocks of candidates.

A candidate is a combination of rows, complete or not, that the windows and the keys allow. Joins
propose candidates in blocks of bounded size, gather the columns that the predicates read, and keep
those for which all are true. Which way a predicate is tested depends on what it is:

    a.x < b.x + 5           comparisons of numbers and times: as 64-bit ranks (`ranks.py`), or as
                            whole numbers of any size where sums take more
    similar(a.o, b.o)       the user's function, once per block
    anything else           DuckDB, on the columns it reads

Of some values a predicate cannot be computed: a division by zero, a cast that fails, a function that
raises. Whether a query then fails must not depend on which candidates a plan looks at, nor in which
order it asks. A combination of all inputs has an error exactly if no predicate that can be computed
for it rejects it, and one cannot. So predicates that raise are asked again, of those alone that the
others leave; and of combinations that are not complete they decide nothing yet, but are asked once more
when these are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.errors import DataError
from windrow.operators.columns.changes import take_columns
from windrow.operators.columns.ranks import compare, ranked_sides, ranks_of, valid_rows, wide_sums
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.routes import first_ready, predicate_inputs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from windrow.physical.nodes.multi_join import MultiJoin
    from windrow.plan.exprs import Comparison, Expr

    Mask = NDArray[np.bool_]


class Predicates:
    """The predicates of a join by their number, as `node.predicates` lists them.

    Examples:
        >>> predicates = Predicates(node)  # a.x < b.x AND similar(b.o, c.o)  # doctest: +SKIP
        >>> predicates.first_ready(chosen=[0], added=1)  # doctest: +SKIP
        (0,)
        >>> predicates.mask(
        ...     (0,), {"a.x": left, "b.x": right}, rows=1000, inputs=2
        ... )  # doctest: +SKIP
    """

    def __init__(self, node: MultiJoin) -> None:
        self._node = node
        self._predicates = node.predicates
        self._inputs = predicate_inputs(node)
        self._owner = {
            name: port for port, child in enumerate(node.inputs) for name in child.schema.names
        }
        self._evaluator = Evaluator()
        self._undecided: set[int] = set()

    def __len__(self) -> int:
        return len(self._predicates)

    def inputs(self, number: int) -> frozenset[int]:
        """The inputs that a predicate reads."""
        return self._inputs[number]

    def first_ready(self, chosen: Collection[int], added: int) -> tuple[int, ...]:
        """The predicates that can be tested once `added` joins `chosen`, and could not before.

        One that reads no input can be tested from the first one on.
        """
        return first_ready(self._node, chosen, added)

    def columns(self, numbers: Iterable[int], port: int | None = None) -> tuple[str, ...]:
        """The columns that some predicates read, each once; of one input or of all."""
        read = dict.fromkeys(name for n in numbers for name in self._predicates[n].columns)
        return tuple(name for name in read if port is None or self._owner[name] == port)

    def asked(self, numbers: Sequence[int], inputs: int) -> Sequence[int]:
        """The predicates to ask of combinations of so many inputs, where some have become testable.

        Complete ones are asked also those that could not be computed for what they began as.
        """
        if not self._undecided or inputs < len(self._node.inputs):
            return numbers
        return sorted(self._undecided.union(numbers))

    def mask(
        self, numbers: Sequence[int], columns: Mapping[str, pa.Array], rows: int, inputs: int
    ) -> Mask:
        """For which candidates all of some predicates are true; NULL counts as false.

        Args:
            numbers: the predicates, as `asked` gave them.
            columns: the columns that they read, a value per candidate.
            rows: how many candidates there are.
            inputs: how many inputs a candidate has rows of.

        Raises:
            DataError: a value cannot be computed, or a user's function fails, for a combination of
                all inputs that nothing else rejects.
        """
        holds: Mask | None = None
        rest: list[int] = []
        # What costs least is asked first; it raises no error.
        for number in numbers:
            verdict = _compared(self._predicates[number], columns)
            if verdict is None:
                rest.append(number)
            else:
                holds = verdict if holds is None else holds & verdict
        if not rest:
            return np.ones(rows, np.bool_) if holds is None else holds
        names = self.columns(rest)
        table = pa.RecordBatch.from_arrays([columns[name] for name in names], names=list(names))
        is_complete = inputs == len(self._node.inputs)
        if holds is None:
            return self._verdicts(rest, table, rows, is_complete=is_complete)
        asked = np.flatnonzero(holds)
        if len(asked):
            own = take_columns(table, asked)
            holds[asked] = self._verdicts(rest, own, len(asked), is_complete=is_complete)
        return holds

    def _verdicts(
        self, numbers: Sequence[int], table: pa.RecordBatch, rows: int, *, is_complete: bool
    ) -> Mask:
        """For which candidates predicates that may raise are true, or not decided yet."""
        try:
            together = tuple(self._predicates[number] for number in numbers)
            return self._evaluator.verdicts(together, table, rows)
        except DataError:
            holds, errors = self._one_by_one(numbers, table, rows)
        if not errors:
            return holds
        if not is_complete:
            self._undecided.update(errors)
            return holds
        left = np.flatnonzero(holds)
        if len(errors) == 1 or len(left) == 1:
            raise next(iter(errors.values()))
        # What one of them cannot be computed for, another one may reject: fewer at a time will tell.
        for part in np.array_split(left, 2):
            own = take_columns(table, part)
            holds[part] = self._verdicts(list(errors), own, len(part), is_complete=True)
        return holds

    def _one_by_one(
        self, numbers: Sequence[int], table: pa.RecordBatch, rows: int
    ) -> tuple[Mask, dict[int, DataError]]:
        """What the predicates that can be computed leave, and the errors of the others there."""
        holds = np.ones(rows, np.bool_)
        errors: dict[int, DataError] = {}
        left = list(numbers)
        while left:
            errors = {}
            for number in left:
                asked = np.flatnonzero(holds)
                if not len(asked):
                    return holds, {}
                own = take_columns(table, asked)
                predicate = (self._predicates[number],)
                try:
                    holds[asked] = self._evaluator.verdicts(predicate, own, len(asked))
                except DataError as error:
                    errors[number] = error
            if len(errors) == len(left):
                break
            left = list(errors)  # asked of fewer now, they may have a value for all
        return holds, errors

    def close(self) -> None:
        """Lets go of the expression engine."""
        self._evaluator.close()


def _compared(predicate: Expr, columns: Mapping[str, pa.Array]) -> Mask | None:
    """The verdict on a predicate of comparisons alone; None where it takes DuckDB."""
    verdict: Mask | None = None
    for comparison in predicate.comparisons:
        own = _holds(comparison, columns)
        verdict = own if verdict is None else verdict & own
    return verdict


def _holds(comparison: Comparison, columns: Mapping[str, pa.Array]) -> Mask:
    """For which candidates a comparison is true: exactly, whatever its sums come to."""
    sides = ranked_sides(comparison)
    values = [columns[ranked.side.column] for ranked in sides]
    left, right = map(ranks_of, values, sides)
    if left is None or right is None:
        wide = [wide_sums(*one) for one in zip(values, (s.side for s in sides), strict=True)]
        holds = compare(comparison.operator, *wide)
    else:
        holds = compare(comparison.operator, left, right)
    for column in values:
        if column.null_count:
            holds &= valid_rows(column)
    return holds
