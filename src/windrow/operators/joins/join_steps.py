"""The steps by which a new tuple of a window join meets the other inputs, and what each tests.

**The route.** Starting at input s, each step adds the input that narrows combinations most
(`next_input`). The step probes by all classes that the input shares with those chosen, and tests
the predicates that it makes testable.

    a.x = b.x AND b.y = c.y, starting at c:    b by y (from c), then a by x (from b)

**Conditions on times**, t(right) - t(left) in [-lo, hi]: a join by time looks rows up by them.
Where rows are looked up by something else (their numbers, their ends), the conditions are tested on
what is found.

**Predicates** are tested on blocks of candidates. A candidate is a combination of rows, complete or
not, that the windows and the keys allow. Joins propose candidates in blocks of bounded size, gather
the columns that the predicates read, and keep those for which all are true. Which way a predicate
is tested depends on what it is:

    a.x < b.x + 5           comparisons of numbers and times: as 64-bit ranks (`total_order.py`), or as
                            whole numbers of any size where sums take more
    similar(a.o, b.o)       the user's function, once per block
    anything else           DuckDB, on the columns it reads

Of some values a predicate cannot be computed: a division by zero, a cast that fails, a function
that raises. Whether a query then fails must not depend on which candidates a plan looks at, nor in
which order it asks. A combination of all inputs has an error exactly if no predicate that can be
computed for it rejects it, and one cannot. So predicates that raise are asked again, of those alone
that the others leave; and of combinations that are not complete they decide nothing yet, but are
asked once more when these are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.errors import DataError
from windrow.operators.columns.changes import take_columns
from windrow.operators.columns.total_order import (
    compare,
    ranked_sides,
    ranks_of,
    valid_rows,
    wide_sums,
)
from windrow.operators.expressions.evaluate import Evaluator
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.probe_orders import first_ready, next_input, predicate_inputs
from windrow.plan.windows import UNBOUNDED, Bound, WindowGraph
from windrow.schema import MAX_TICK

if TYPE_CHECKING:
    from windrow.plan.exprs import Comparison, Expr

    Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Step:
    """One input to add.

    Attributes:
        input: the input.
        classes: the key classes to probe by.
        sources: per class, which of the inputs chosen so far gives the key (position in order).
        reach_back: per input i chosen so far, the largest t(i) - t(this).
        reach_on: per input i chosen so far, the largest t(this) - t(i).
        is_strict: of rows that came in the same push, only those before the start tuple count;
            whether equal times are after it (see `BewJoinOp`).
        predicates: those that can be tested once the input is there (by number).
    """

    input: int
    classes: tuple[int, ...]
    sources: tuple[int, ...]
    reach_back: NDArray[np.int64]
    reach_on: NDArray[np.int64]
    is_strict: bool
    predicates: tuple[int, ...] = ()


@dataclass(frozen=True)
class Route:
    """The steps from one start input.

    Attributes:
        start: the input whose new tuples are extended.
        steps: the other inputs, one after the other.
        keys: per input chosen, the classes that later steps take from it.
        predicates: those that can be tested on the start tuple alone (by number).
        leaves_out: windows whose combinations other routes give (EITHER WAY), to be left out here.
    """

    start: int
    steps: tuple[Step, ...]
    keys: tuple[tuple[int, ...], ...]
    leaves_out: WindowGraph | None = None
    predicates: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The inputs as they are chosen, the start first."""
        return (self.start, *(step.input for step in self.steps))


def routes_of(node: MultiJoin) -> list[Route]:
    """A route from every input; under EITHER WAY one for each way.

    Tuples at one instant may meet the windows both ways. Such combinations come by the first way;
    the routes of the second leave them out.
    """
    starts = range(len(node.inputs))
    routes = [route_from(node, start) for start in starts]
    if node.alternative is None:
        return routes
    turned = replace(node, graph=node.alternative)
    others = [route_from(turned, start) for start in starts]
    return routes + [replace(route, leaves_out=node.graph) for route in others]


def route_from(node: MultiJoin, start: int) -> Route:
    """The steps that complete a combination from a tuple of input `start`."""
    chosen = [start]
    steps = []
    while len(chosen) < len(node.inputs):
        step = _step(node, chosen)
        steps.append(step)
        chosen.append(step.input)
    taken = {
        (source, key)
        for step in steps
        for key, source in zip(step.classes, step.sources, strict=True)
    }
    keys = [
        tuple(sorted(key for source, key in taken if source == position))
        for position in range(len(chosen))
    ]
    return Route(start, tuple(steps), tuple(keys), predicates=first_ready(node, (), start))


def _step(node: MultiJoin, chosen: list[int]) -> Step:
    upper = node.graph.upper
    added = next_input(node, chosen)
    classes = tuple(
        at
        for at, key in enumerate(node.classes)
        if added in key.inputs and any(i in key.inputs for i in chosen)
    )
    return Step(
        input=added,
        classes=classes,
        sources=tuple(
            next(at for at, i in enumerate(chosen) if i in node.classes[key].inputs)
            for key in classes
        ),
        reach_back=_ticks([upper[added][i] for i in chosen]),
        reach_on=_ticks([upper[i][added] for i in chosen]),
        is_strict=added > chosen[0],
        predicates=first_ready(node, chosen, added),
    )


def _ticks(bounds: list[int]) -> NDArray[np.int64]:
    return np.array([max(-MAX_TICK, min(MAX_TICK, bound)) for bound in bounds], np.int64)


def only_one_way(route: Route, times: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Which complete combinations are the route's to give; None for all.

    `times` has one line per input, in the order of the route.
    """
    if route.leaves_out is None:
        return None
    lines = dict(zip(route.order, times, strict=True))
    meets = meets_all(route.leaves_out.stated, lines, times.shape[1])
    return None if not meets.any() else np.flatnonzero(~meets)


def meets_all(
    bounds: Sequence[Bound], times: Mapping[int, NDArray[np.int64]], rows: int
) -> NDArray[np.bool_]:
    """For which combinations all bounds hold between inputs whose times are given.

    They come of a search by closed bounds, which have kept every difference in reach.
    """
    meets = np.ones(rows, np.bool_)
    for bound in bounds:
        if bound.left in times and bound.right in times:
            distance = times[bound.right] - times[bound.left]
            meets &= (distance >= -bound.lo) & (distance <= bound.hi)
    return meets


Int64s = NDArray[np.int64]


def within_windows(
    bounds: Sequence[Bound], route: Route, at: int, times_of: Callable[[int], Int64s]
) -> NDArray[np.bool_] | None:
    """For which matches of step `at` the conditions that it completes hold; None: there are none.

    `times_of` gives the times of the matches' rows of the input at a position of the route's order.
    """
    added = route.steps[at].input
    chosen = route.order[: at + 1]
    holds: NDArray[np.bool_] | None = None
    for bound in bounds:
        other = bound.left if bound.right == added else bound.right
        if added not in {bound.left, bound.right} or other not in chosen:
            continue
        lo, hi = (bound.lo, bound.hi) if bound.right == added else (bound.hi, bound.lo)
        own = _lies_within(times_of(chosen.index(other)), times_of(at + 1), lo, hi)
        holds = both(holds, own)
    return holds


def both(
    first: NDArray[np.bool_] | None, second: NDArray[np.bool_] | None
) -> NDArray[np.bool_] | None:
    """Where both hold; None stands for everywhere."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _lies_within(start: Int64s, time: Int64s, lo: int, hi: int) -> NDArray[np.bool_]:
    """Whether time - start lies in [-lo, hi]; differences beyond 64 bits count as the greatest."""
    ahead = time >= start
    # As unsigned numbers, differences of any two times are exact.
    distance = np.where(ahead, time.view(np.uint64) - start.view(np.uint64), 0)
    behind = np.where(ahead, 0, start.view(np.uint64) - time.view(np.uint64))
    within: NDArray[np.bool_] = _at_most(distance, behind, hi) & _at_most(behind, distance, lo)
    return within


def _at_most(
    distance: NDArray[np.uint64], back: NDArray[np.uint64], most: int
) -> NDArray[np.bool_]:
    """Whether distance - back, one of which is zero, is at most a number of either sign."""
    if most >= UNBOUNDED:
        return np.ones(len(distance), np.bool_)
    if most >= 0:
        return distance <= np.uint64(most)
    return back >= np.uint64(-most)


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

        `inputs` is how many inputs a candidate has rows of; `numbers` are as `asked` gave them.

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
