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


class OtherAggregate(exp.Expression, exp.AggFunc):
    """A call of an aggregate that sqlglot has no node for."""

    arg_types: ClassVar = {"this": False, "expressions": False}


class HintText(exp.Expression):
    """The text between `/*+` and `*/`."""

    arg_types: ClassVar = {"this": True}


WindowClause = UniformWindow | PairWindow
