"""Aggregates over a join that sheds become estimates, each with the ends of its interval.

    SELECT k, COUNT(*) AS n ..         k, n  ->  k, n, n_low, n_high

An estimate may be shown under any name. What computes with it, or decides by it, is refused: the
interval of the result would not follow from that of the estimate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NoReturn

from windrow.errors import PlanError, Span, UnsupportedError
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.plan.explain import show_aggregate
from windrow.plan.exprs import Expr, Named, column
from windrow.schema import Field, Schema

LOW, HIGH = "_low", "_high"
ENDS = {LOW: "low end of", HIGH: "high end of"}

MOST_INPUTS = 5
"""Of a join whose totals are estimated: each set of its inputs takes part in the variance."""


def with_estimates(root: PhysicalNode) -> PhysicalNode:
    """The plan with estimates where an aggregate reads a join that sheds; else the same.

    Raises:
        UnsupportedError: something other than showing it is done with an estimate.
        PlanError: the name of an interval's end is taken.
    """
    return _with_estimates(root)[0]


def _with_estimates(spec: PhysicalNode) -> tuple[PhysicalNode, frozenset[str]]:
    """The spec, and which of its columns are estimates."""
    if isinstance(spec, SlidingAggregate):
        join = _join_below(spec.input)
        if join is not None and join.shedding is not None and join.shedding.is_estimated:
            return _estimating(spec, len(join.inputs))
    if not isinstance(spec, FilterRows | ProjectRows | RangeRows):
        return spec, frozenset()
    below, estimates = _with_estimates(spec.input)
    if not estimates:
        return spec, estimates
    if isinstance(spec, ProjectRows):
        return _shown(replace(spec, input=below), estimates)
    if isinstance(spec, FilterRows):
        for predicate in spec.predicates:
            if estimates.intersection(predicate.columns):
                _refuse(f"the condition {predicate.text} decides by an estimate", predicate.span)
    return replace(spec, input=below), estimates


def _join_below(spec: PhysicalNode) -> MultiJoin | None:
    """The join whose combinations are the rows of a spec, some of them or all."""
    while isinstance(spec, FilterRows | ProjectRows | RangeRows):
        spec = spec.input
    return spec if isinstance(spec, MultiJoin) else None


def _estimating(spec: SlidingAggregate, inputs: int) -> tuple[PhysicalNode, frozenset[str]]:
    if not spec.aggregates:
        return spec, frozenset()
    for aggregate in spec.aggregates:
        if not aggregate.definition.estimated_by or aggregate.is_distinct:
            argument = aggregate.argument
            raise UnsupportedError(
                "unsupported-estimate",
                f"{show_aggregate(aggregate)} cannot be estimated: the join below it sheds",
                reason="COUNT, SUM and AVG can be told from some of the rows, others not",
                hint="select COUNT, SUM and AVG, or let the query fail or spill",
                span=argument.span if argument else None,
            )
    if inputs > MOST_INPUTS:
        raise UnsupportedError(
            "unsupported-estimate",
            f"{show_aggregate(spec.aggregates[0])} is to be estimated over a join of {inputs}"
            " streams that sheds",
            reason="every set of streams takes part in how far it may be off, and there are"
            f" {2**inputs - 1}",
            hint=f"join {MOST_INPUTS} streams at most, or let the query fail or spill",
        )
    ends = [
        Field(name, "double")
        for aggregate in spec.aggregates
        for name in (aggregate.name, aggregate.name + LOW, aggregate.name + HIGH)
    ]
    keys = spec.schema.fields[: len(spec.keys)]
    aggregates = tuple(replace(aggregate, type="double") for aggregate in spec.aggregates)
    estimating = replace(
        spec, aggregates=aggregates, schema=Schema((*keys, *ends)), estimated_from=inputs
    )
    return estimating, frozenset(aggregate.name for aggregate in aggregates)


def _shown(spec: ProjectRows, estimates: frozenset[str]) -> tuple[PhysicalNode, frozenset[str]]:
    """A projection that shows the ends of each estimate that it shows."""
    items: list[Named] = []
    ends: list[Named] = []
    shown = set()
    for item in spec.items:
        expr = item.expr
        if not estimates.intersection(expr.columns):
            items.append(item)
            continue
        if not expr.is_column:
            _refuse(f"{expr.text} computes with an estimate", expr.span)
        shown.add(item.name)
        items.append(Named(item.name, replace(expr, type="double")))
        own = [Named(item.name + end, _end_of(expr, end)) for end in ENDS]
        items += own
        ends += own
    _check_names(items, ends)
    schema = Schema(tuple(Field(item.name, item.expr.type) for item in items))
    return replace(spec, items=tuple(items), schema=schema), frozenset(shown)


def _end_of(expr: Expr, end: str) -> Expr:
    own = column(expr.columns[0] + end, "double")
    return replace(own, text=f"{ENDS[end]} {expr.text}", span=expr.span)


def _check_names(items: list[Named], ends: list[Named]) -> None:
    """Refuses an end of an interval that has the name of another column."""
    names = [item.name.lower() for item in items]
    for end in ends:
        if names.count(end.name.lower()) > 1:
            raise PlanError(
                "estimate-name-taken",
                f"two columns of the answer are called {end.name!r}",
                reason=f"one of them is the {end.expr.text}, which comes with the estimate",
                hint="give one of the columns another name with AS",
                span=end.expr.span,
            )


def _refuse(what: str, span: Span | None) -> NoReturn:
    raise UnsupportedError(
        "unsupported-estimate",
        f"{what}: the join below it sheds",
        reason="COUNT, SUM and AVG over such a join come with an interval, which what is computed"
        " from them would lack",
        hint="select COUNT, SUM and AVG as they are, or let the query fail or spill",
        span=span,
    )
