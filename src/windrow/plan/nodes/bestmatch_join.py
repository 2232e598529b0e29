"""BESTMATCH JOIN: the pairs that none dominates, for each row that is judged, or now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TypeAlias

from windrow.errors import PlanError, Span
from windrow.plan.functions import BUILT_IN_ORDERS, UserFunction
from windrow.plan.nodes.base import (
    Equality,
    Node,
    PairJoin,
    Predicates,
    SameColumns,
    compared_by,
    reads_only,
    without,
)
from windrow.plan.nodes.filter import Filter, filtered
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.texts import ColumnTexts, show_dimension, show_equalities
from windrow.plan.windows import UNBOUNDED

MINDIST, SUBSET, YOUNGEST = BUILT_IN_ORDERS
"""The orders that dimensions of bestmatch joins have by themselves."""

Limit: TypeAlias = float | int | Decimal
"""The greatest distance of a candidate: a float where distances are."""

JUDGED = {"left outer": (0,), "right outer": (1,), "full outer": (0, 1)}
"""Of each kind of bestmatch join, the inputs whose rows have their best pairs kept."""


@dataclass(frozen=True)
class Dimension:
    """One dimension of a bestmatch join: in which order pairs are better in it.

        MINDIST     |left - right| is less
        YOUNGEST    the later of both event times is later
        SUBSET      left and right, which are arrays, share all that those of the other pair share,
                    and more
        else        the user's `function` says: by a number that is less, or by comparing

    `eps` is the constraint that makes a pair a candidate, in the dimension's own unit (ticks for
    the time dimension), or None. Where `is_time`, the columns are the streams' event times. Where
    `is_wide`, distances are of decimals that no 64 bits hold; where there is a `unit`, of dates or
    timestamps, in ticks of that type. `text` is the dimension as the user wrote it.

    One that `is_condition` stands for a condition of ON about a side whose unmatched rows are kept:
    its columns are 0, or NULL where the condition is not true, so that such rows have no candidate,
    and others are compared as if it were not there.
    """

    left: str
    right: str
    order: str
    eps: Limit | None
    is_time: bool = False
    function: UserFunction | None = None
    text: str = field(default="", compare=False)
    span: Span | None = field(default=None, compare=False)
    is_wide: bool = False
    unit: str | None = None
    is_condition: bool = False

    @property
    def is_measured(self) -> bool:
        """Whether the order is by the distance between both columns."""
        return self.order == MINDIST

    @property
    def has_grid(self) -> bool:
        """Whether its limit cuts values into cells by which candidates are found."""
        return self.is_measured and self.eps is not None and not (self.is_time or self.is_wide)

    @property
    def is_by_value(self) -> bool:
        """Whether pairs are compared by the values of both columns, not by 64 bits of each."""
        return self.function is not None or self.order == SUBSET or self.is_wide

    @property
    def is_partial_order(self) -> bool:
        """Whether the user's function compares one pair with another."""
        return self.function is not None and self.function.is_partial_order

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads. Event time, which every row has beside its columns, is none."""
        return () if self.is_time else (self.left, self.right)


@dataclass(frozen=True)
class BestmatchJoin(PairJoin):
    """For each row of a judged input, its candidate pairs that none of its others dominates.

    Judged are left rows, right rows, or both (each pair of rows once), by `kind`. Candidates:
    every constraint of a dimension, every equality, and the time bound t(right) - t(left) in
    [-lo, hi]. Event time of a pair: the greater of both. `keep_unmatched` adds the rows of judged
    inputs that have no candidate.
    """

    left: Node
    right: Node
    kind: str  # one of JUDGED
    dimensions: tuple[Dimension, ...]
    equalities: tuple[Equality, ...]
    lo: int
    hi: int
    keep_unmatched: bool = False
    span: Span | None = None

    physical = "windrow.optimize.choose.physical_node:bestmatch_join"

    def verify_state(self) -> None:
        """Refuses bounds on time that keep tuples for ever, or that no pair can satisfy."""
        if max(self.lo, self.hi) >= UNBOUNDED:
            raise PlanError(
                "unbounded-state",
                "the bestmatch join keeps tuples forever",
                reason="no bound on time says which tuples may still become a pair",
                hint="bound it, for instance WHERE abs(l.ts - r.ts) <= INTERVAL '10' MINUTES",
            ).at(self.span)
        if self.lo + self.hi < 0:
            raise PlanError(
                "contradicting-windows",
                "no pair of the bestmatch join can satisfy its bounds on time",
                reason="the lower end lies above the upper one",
                hint="widen or drop one of the bounds",
            ).at(self.span)

    @property
    def columns_read(self) -> set[str]:
        """Keys, and what pairs are compared by."""
        compared = (name for dimension in self.dimensions for name in dimension.columns)
        return compared_by(self.equalities).union(compared)

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions on the one side that is judged go into it.

        Pairs are judged among those of one tuple, so that a tuple that is not there takes its own
        pairs with it, and no others:

            l LEFT OUTER BESTMATCH JOIN r WHERE l.x > 1      moves into l: whose pairs are looked for
            l LEFT OUTER BESTMATCH JOIN r WHERE r.x > 1      stays: below, pairs that a pair with
                                                             another tuple of r dominates would come
                                                             up in its place
            l FULL OUTER BESTMATCH JOIN r WHERE l.x > 1      stays: pairs are judged for r as well

        It makes no difference whether unmatched tuples are kept: each is one of the judged side.
        """
        judged = JUDGED[self.kind]
        if len(judged) != 1:
            return self, predicates
        sides = [self.left, self.right]
        moved = tuple(p for p in predicates if reads_only(p, sides[judged[0]]))
        sides[judged[0]] = filtered(sides[judged[0]], moved)
        return replace(self, left=sides[0], right=sides[1]), without(predicates, moved)

    def title(self, time_type: str, show: ColumnTexts) -> str:
        """Kind, dimensions, keys."""
        dimensions = ", ".join(show_dimension(d, time_type, show) for d in self.dimensions)
        keys = f"; {show_equalities(self.equalities, show)}" if self.equalities else ""
        unmatched = ", keep unmatched" if self.keep_unmatched else ""
        return f"BestmatchJoin {self.kind}{unmatched} on {dimensions}{keys}"


@dataclass(frozen=True)
class BestPairs(SameColumns):
    """The pairs of its input that no other pair alive dominates, as a changelog.

    A bestmatch join that says what is best now: over windows of its own, or plain. The input is a
    window join of two inputs.

    Attributes:
        kind: "plain", or "left outer", "right outer", "full outer".
        dimensions: what pairs are compared by.
        groups: lists of columns. A pair is judged among those with equal values in one of them, and
            is in the answer while one list says so. An empty list: all pairs together.
        spread_by: the columns that keep every group together in one place; empty where none do.
        marks: per side, a column that is NULL where a row has no tuple of that side, and only
            there. Such a row is in the answer while no pair of its tuple is alive (KEEP UNMATCHED).
            () where all rows are pairs.
        spread_else: what keeps groups together in rows that have NULLs for `spread_by`; () where
            none do.
    """

    input: Node
    kind: str
    dimensions: tuple[Dimension, ...]
    groups: tuple[tuple[str, ...], ...]
    spread_by: tuple[str, ...] = ()
    span: Span | None = None
    marks: tuple[str, ...] = ()
    spread_else: tuple[str, ...] = ()

    is_stateful = True
    rows_end = True  # by being taken back
    physical = "windrow.physical.nodes.bestmatch:SlidingSkyline.of"

    @property
    def columns_read(self) -> set[str]:
        """What pairs are compared, grouped and spread by."""
        compared = {name for dimension in self.dimensions for name in dimension.columns}
        return compared.union(self.spread_by, self.spread_else, self.marks, *self.groups)

    def push_filter(self, predicates: Predicates) -> tuple[Node, Predicates]:
        """Conditions on the one side that is judged go below, as of any bestmatch join.

        Of a plain one none does: all pairs are judged together.
        """
        judged = JUDGED.get(self.kind, ())
        pairs = self.input
        while isinstance(pairs, Filter):
            pairs = pairs.input
        if len(judged) != 1 or not isinstance(pairs, WindowJoin):
            return self, predicates
        moved = tuple(p for p in predicates if reads_only(p, pairs.inputs[judged[0]]))
        return replace(self, input=filtered(self.input, moved)), without(predicates, moved)

    def title(self, time_type: str, show: ColumnTexts) -> str:
        """Kind and dimensions."""
        dimensions = ", ".join(show_dimension(d, time_type, show) for d in self.dimensions)
        unmatched = ", keep unmatched" if self.marks else ""
        return f"BestPairs {self.kind}{unmatched} on {dimensions}"
