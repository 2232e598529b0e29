"""Tree nodes for the clauses that Windrow adds to SQL."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class StreamWindow(exp.Expression):
    """`[RANGE w]`, `[ROWS n]` or `[PARTITION BY k ROWS n]` after a stream."""

    arg_types: ClassVar = {"kind": True, "this": True, "partition": False}


class UniformWindow(exp.Expression):
    """`WINDOW = w`: one window for every pair of streams."""

    arg_types: ClassVar = {"this": True, "rows": False, "either_way": False}


class PairWindow(exp.Expression):
    """`WINDOW (left, right) = w`, the same with BETWEEN, or `DWINDOW (left, right) = w`."""

    arg_types: ClassVar = {
        "left": True,
        "right": True,
        "directed": False,
        "this": False,
        "first": False,
        "is_first_before": False,
        "last": False,
        "is_last_before": False,
        "rows": False,
        "either_way": False,
    }


class MatchOrder(exp.Expression):
    """`left order right [WITHIN eps]`: one dimension of a bestmatch join."""

    arg_types: ClassVar = {"this": True, "expression": False, "order": True, "within": False}


class AsofCondition(exp.Expression):
    """`left >= right [TOLERANCE w]`: which times an as-of join matches.

    `operator` is >=, >, <=, < or NEAREST; `apart` the `left <> right` that may follow the last.
    """

    arg_types: ClassVar = {
        "this": True,
        "expression": True,
        "operator": True,
        "apart": False,
        "tolerance": False,
    }


class RangeWindow(exp.Expression):
    """`RANGE BETWEEN first PRECEDING AND last FOLLOWING`: which rows a WINDOW JOIN counts."""

    arg_types: ClassVar = {
        "first": True,
        "is_first_before": True,
        "last": True,
        "is_last_before": True,
    }


class AggregateCall(exp.Expression, exp.AggFunc):
    """A call of an aggregate that Windrow computes; `function` is its name in the registry.

    `this` is the first argument, or DISTINCT with some or all of them; `expressions` are the others.
    """

    arg_types: ClassVar = {"function": True, "this": False, "expressions": False}

    @property
    def is_distinct(self) -> bool:
        """Whether DISTINCT stands before the arguments."""
        return isinstance(self.this, exp.Distinct)

    @property
    def arguments(self) -> list[exp.Expr]:
        """The arguments, with DISTINCT before them or without."""
        if self.this is None:
            return []
        first = self.this.expressions if self.is_distinct else [self.this]
        return [*first, *self.expressions]


class OtherAggregate(exp.Expression, exp.AggFunc):
    """A call of an aggregate that Windrow does not compute and sqlglot has no node for."""

    arg_types: ClassVar = {"this": False, "expressions": False}


class HintText(exp.Expression):
    """The text between `/*+` and `*/`."""

    arg_types: ClassVar = {"this": True}


WindowClause = UniformWindow | PairWindow
