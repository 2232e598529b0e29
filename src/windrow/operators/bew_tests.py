"""What a step of a window join asks of its candidates, beyond windows and keys.

A step adds a row of one input to combinations of others. The predicates that this makes testable
fall into two kinds:

    compared    comparisons of a column of the added input with one of an input chosen before:
                tested by rank, inside the loop that scans the period, or on what a hash found
    rest        anything else: tested on blocks of candidates (`theta`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from windrow.kernels.bew_scan import Wanted
from windrow.operators.bew_steps import Route
from windrow.operators.bew_window import JoinWindow
from windrow.operators.gather import Places
from windrow.operators.ranks import Flags, Ranked, compare, ranked_sides
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.plan.exprs import Comparison
from windrow.schema import MAX_TICK, MIN_TICK

Numbers = NDArray[np.int64]

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "<>": "<>"}


@dataclass(frozen=True)
class Asked:
    """`added operator chosen`: the added row's value against that of a row chosen before.

    Attributes:
        added: the column of the added input, as a line of ranks.
        operator: how it is compared.
        chosen: the other column.
        source: which of the inputs chosen has it (position in the route's order).
    """

    added: Ranked
    operator: str
    chosen: Ranked
    source: int


@dataclass(frozen=True)
class StepTests:
    """The tests of one step, in the order in which they are made."""

    compared: tuple[Asked, ...]
    rest: tuple[int, ...]

    @property
    def lines(self) -> tuple[Ranked, ...]:
        """The added input's values that a scan compares: one line per test.

        Comparisons of one column that ask for a range make one test together.
        """
        ranges = dict.fromkeys(asked.added for asked in self.compared if asked.operator != "<>")
        return (*ranges, *(asked.added for asked in self.compared if asked.operator == "<>"))


def step_tests(
    spec: MultiJoin, windows: Sequence[JoinWindow], route: Route, at: int, numbers: Sequence[int]
) -> StepTests:
    """Sorts the predicates that step `at` of a route makes testable."""
    compared: list[Asked] = []
    rest: list[int] = []
    for number in numbers:
        found = [_asked(c, windows, route, at) for c in spec.predicates[number].comparisons]
        known = [asked for asked in found if asked is not None]
        if known and len(known) == len(found):
            compared += known
        else:
            rest.append(number)
    return StepTests(tuple(compared), tuple(rest))


def _asked(
    comparison: Comparison, windows: Sequence[JoinWindow], route: Route, at: int
) -> Asked | None:
    """The comparison as the step sees it; None where ranks cannot answer it."""
    added = route.order[at + 1]
    left, right = ranked_sides(comparison)
    operator = comparison.operator
    if windows[added].has(right.side.column):
        left, right, operator = right, left, _MIRRORED[operator]
    if not windows[added].has(left.side.column):
        return None
    for source, port in enumerate(route.order[: at + 1]):
        if windows[port].has(right.side.column):
            can_rank = windows[added].has_ranks(left) and windows[port].has_ranks(right)
            return Asked(left, operator, right, source) if can_rank else None
    return None


def scan_tests(
    tests: StepTests, windows: Sequence[JoinWindow], route: Route, places: Sequence[Numbers]
) -> tuple[Wanted, Flags | None]:
    """What each combination asks of a scanned row, and which may ask at all (None for all).

    A combination with a NULL among the values compared finds nothing.

    Args:
        tests: those of the step.
        windows: the inputs.
        route: whose step it is.
        places: where the rows chosen so far are.
    """
    lines, rows = tests.lines, len(places[0])
    least = np.full((len(lines), rows), MIN_TICK, np.int64)
    most = np.full((len(lines), rows), MAX_TICK, np.int64)
    is_outside = np.zeros(len(lines), np.bool_)
    is_valid: Flags | None = None
    outside = len(lines) - sum(asked.operator == "<>" for asked in tests.compared)
    for asked in tests.compared:
        chosen = windows[route.order[asked.source]]
        values, valid = chosen.ranked(asked.chosen, Places(places[asked.source]))
        if valid is not None:
            is_valid = valid if is_valid is None else is_valid & valid
        if asked.operator == "<>":
            line, outside = outside, outside + 1
            is_outside[line] = True
        else:
            line = lines.index(asked.added)
        _narrow(least[line], most[line], asked.operator, values)
    return Wanted(least, most, is_outside), is_valid


def compared_rows(
    tests: StepTests, windows: Sequence[JoinWindow], route: Route, places: Sequence[Numbers]
) -> Flags:
    """For which combinations every comparison is true; the added input's places come last."""
    holds = np.ones(len(places[-1]), np.bool_)
    added = windows[route.order[len(places) - 1]]
    for asked in tests.compared:
        chosen = windows[route.order[asked.source]]
        left, left_valid = added.ranked(asked.added, Places(places[-1]))
        right, right_valid = chosen.ranked(asked.chosen, Places(places[asked.source]))
        holds &= compare(asked.operator, left, right)
        for is_valid in (left_valid, right_valid):
            if is_valid is not None:
                holds &= is_valid
    return holds


def _narrow(least: Numbers, most: Numbers, operator: str, values: Numbers) -> None:
    """Cuts the ranges [least, most] down to what compares so with the values.

    Strict bounds are one rank tighter; beyond the last rank there is nothing: an empty range.
    """
    if operator in {"<", "<="}:
        edge = values if operator == "<=" else values - (values != MIN_TICK)
        np.minimum(most, edge, out=most)
        nothing = values == MIN_TICK
    elif operator in {">", ">="}:
        edge = values if operator == ">=" else values + (values != MAX_TICK)
        np.maximum(least, edge, out=least)
        nothing = values == MAX_TICK
    else:
        least[:] = most[:] = values
        return
    if operator in {"<", ">"} and nothing.any():
        least[nothing], most[nothing] = MAX_TICK, MIN_TICK
