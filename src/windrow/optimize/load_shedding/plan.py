"""Where a query sheds, or is refused: its window join is limited, its aggregates become estimates.

The one window join is told what it may hold and do. Where an aggregate stands above, the join's
results carry which draws made them and by which chances (`limits.hidden_fields` of
`physical.load_shedding`), and what lies between hands those on.

An aggregate over it becomes an estimate, with the ends of its interval.

    SELECT k, COUNT(*) AS n ..         k, n  ->  k, n, n_low, n_high

An estimate may be shown under any name. What computes with it, or decides by it, is refused: the
interval of the result would not follow from that of the estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from windrow.allocation.strategies import ROUNDING
from windrow.errors import PlanError, Span, UnsupportedError, nearest
from windrow.physical.load_shedding.enough import check_enough
from windrow.physical.load_shedding.limits import (
    BEST,
    PANES_PER_WINDOW,
    PANES_WHERE_MEMORY_IS,
    Least,
    Shedding,
    StatedLimit,
    hidden_fields,
    least_said,
    panes_for_totals,
    rate_said,
)
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.nodes.sliding_aggregate import EstimatingAggregate, SlidingAggregate
from windrow.physical.nodes.stateless import FilterRows, ProjectRows, RangeRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.options import Options
from windrow.plan.catalog import USUAL_UNIT, ticks_per_unit
from windrow.plan.exprs import Expr, Named, column
from windrow.plan.texts import show_aggregate
from windrow.schema import Field, Schema


def per_tick(said: StatedLimit, time_type: str) -> float:
    """A rate in tuples per tick.

    Raises:
        PlanError: event time does not know the unit.
    """
    unit = said.unit or USUAL_UNIT[time_type]
    ticks = ticks_per_unit(unit, time_type)
    if ticks is None:
        usual = USUAL_UNIT[time_type]
        raise PlanError(
            "bad-option",
            f"a rate per {unit} does not fit streams whose time is {time_type}",
            hint=f"say it per {usual}, for instance '1000 per {usual}'",
        )
    return said.amount / ticks


def least_of(
    name: str, given: object, aliases: Sequence[str], time_type: str | None
) -> tuple[Least, ...]:
    """Per stream of a join, what it gets at least; nothing where the option names others alone.

    Raises:
        PlanError: the option names a stream that is not joined.
    """
    said = least_said(name, given)
    known = {alias.lower() for alias in aliases}
    unknown = [stream for stream in said if stream and stream not in known]
    if unknown:
        raise PlanError(
            "shed-least-of-other-streams",
            f"{name} names {unknown[0]!r}, which is not a stream of the join of {', '.join(aliases)}",
            hint=f"one of {nearest(unknown[0], tuple(aliases))}, as the query calls it",
        )
    nothing = StatedLimit(0.0)
    return tuple(
        _least(said.get(alias.lower(), said.get("", nothing)), time_type) for alias in aliases
    )


def _least(said: StatedLimit, time_type: str | None) -> Least:
    """As a minimum; of a rate, per tick of a type of time."""
    if said.is_share or time_type is None:
        return Least(said.amount, said.is_share)
    return Least(per_tick(said, time_type))


NEED_ALL_ROWS = (
    "a join with a changelog",
    "a bestmatch join",
    "DISTINCT or a set operation",
    "EMIT CHANGES, or a GROUP BY key that it does not show",
    "an aggregate of an aggregate",
)
"""What nodes say of themselves (`needs_all_rows`); what a query is told first, stands first."""

LEAST_FOR_TOTALS = Least(0.1, is_share=True)
"""What every stream gets where totals are estimated and the user requires nothing."""


def with_shedding(root: PhysicalNode, options: Options) -> PhysicalNode:
    """The plan, its window join shedding as the options say, and aggregates over it estimating.

    Raises:
        UnsupportedError: a join of this kind does not shed, or something other than showing it is
            done with an estimate.
        PlanError: what every stream is to get at least is more than there is, or too little for
            totals; the name of an interval's end is taken.
    """
    join = _shedding_join(root, options)
    has_totals = options.sheds and any(node.has_totals for node in root.walk())
    shedding = _shedding(join, options, is_estimated=has_totals)
    shed = _rewritten(root, shedding)
    return _with_estimates(shed)[0] if has_totals else shed


def _shedding_join(root: PhysicalNode, options: Options) -> MultiJoin:
    """The one window join of a query, if it can shed."""
    found = [node for node in root.walk() if node.is_join]
    needs_all = {node.needs_all_rows for node in root.walk()}
    if not found:
        raise _not_shed(
            options,
            "the query joins no streams by windows",
            reason="what is shed are tuples of a join's windows, and probes of them",
            hint="leave it out",
        )
    if len(found) > 1:
        raise _not_shed(
            options,
            "the query has more than one join",
            reason="the others could not tell rows that one of them shed from rows that never were",
            hint="join all streams in one FROM, or leave it out",
        )
    for beside in NEED_ALL_ROWS:
        if beside in needs_all:
            raise _not_shed(
                options,
                f"the query has {beside}",
                reason="results from a sample come with a confidence interval, which such a"
                " query cannot carry",
                hint="leave one of the two out",
            )
    (join,) = found
    what = join.cannot_shed(options.asked_algorithm)
    if what:
        raise _not_shed(
            options,
            what,
            reason="inner joins by time windows shed, by the algorithms bew and, of two streams,"
            " asymmetric",
            hint="leave one of the two out"
            if options.asked_algorithm
            else "leave it out, or ask with an inner join by time",
        )
    return join.window_joins[0]


def _not_shed(options: Options, what: str, *, reason: str, hint: str) -> UnsupportedError:
    asked = "on_memory = 'shed'" if options.sheds_memory else "service_rate"
    said = f"{asked} is set, and {what}"
    return UnsupportedError("unsupported-shedding", said, reason=reason, hint=hint)


def _shedding(join: MultiJoin, options: Options, *, is_estimated: bool) -> Shedding:
    time_type = join.scans[0].time_type
    memory = options.memory_amount if options.sheds_memory else None
    rate = None if options.service_rate is None else rate_said(options.service_rate)
    service_rate = None if rate is None else per_tick(rate, time_type)
    usual = (LEAST_FOR_TOTALS if is_estimated else Least(0.0),) * len(join.inputs)
    windows = rates = usual
    if options.shed_least is not None:
        windows = least_of("shed_least", options.shed_least, join.aliases, None)
    if options.shed_least_rate is not None:
        rates = least_of("shed_least_rate", options.shed_least_rate, join.aliases, time_type)
    shedding = Shedding(
        memory=None if memory is None else float(memory.count),
        is_in_bytes=memory is not None and not memory.is_tuples,
        service_rate=service_rate,
        may_skip=options.sheds_probes,
        strategy=options.shed_strategy or BEST,
        least_windows=windows,
        least_rates=rates,
        seed=options.seed or 0,
        is_estimated=is_estimated,
        panes=PANES_PER_WINDOW if memory is None else PANES_WHERE_MEMORY_IS,
    )
    if options.sheds_memory:
        _check_least(join, "shed_least", windows, None if shedding.is_in_bytes else shedding.memory)
    if options.sheds_probes:
        _check_least(join, "shed_least_rate", rates, service_rate)
    if is_estimated:
        for name, least in (("shed_least", windows), ("shed_least_rate", rates)):
            _check_totals(join, name, least)
    if is_estimated and service_rate is not None:
        each = service_rate / (len(join.inputs) * (options.buckets or 1))
        return replace(shedding, panes=panes_for_totals(join.shortest, each, shedding.panes))
    return shedding


def _check_least(
    join: MultiJoin, name: str, least: tuple[Least, ...], there_is: float | None
) -> None:
    """Refuses minima that are more than there is, as far as that can be told."""
    shares = [
        one.amount if one.is_share else one.amount / there_is if there_is is not None else 0.0
        for one in least
    ]
    if sum(shares) > 1 + ROUNDING:
        raise PlanError(
            "shed-least-too-much",
            f"{name} requires {100 * sum(shares):.4g}% of what there is for {', '.join(join.aliases)}",
            reason="every stream gets its minimum before anything else is divided",
            hint="lower it, or allow more",
        )


def _check_totals(join: MultiJoin, name: str, least: tuple[Least, ...]) -> None:
    """Refuses a stream that gets nothing where totals are estimated."""
    for alias, one in zip(join.aliases, least, strict=True):
        if one.amount == 0:
            raise PlanError(
                "shed-least-nothing",
                f"{name} lets {alias} have nothing, but totals are to be estimated",
                reason="combinations that are never found cannot be counted",
                hint=f"leave {name} out for 10% each, or give every stream some",
            )


def _rewritten(node: PhysicalNode, shedding: Shedding) -> PhysicalNode:
    """The plan with the join's shedding, and its hidden columns up to the aggregate."""
    if isinstance(node, TimeJoin):
        hidden = hidden_fields(len(node.inputs)) if shedding.is_estimated else ()
        join = SheddingJoin.of(node, shedding, Schema((*node.schema.fields, *hidden)))
        check_enough(join)
        return join
    own = node.with_inputs([_rewritten(child, shedding) for child in node.inputs])
    return own.handing_on_draws() if shedding.is_estimated else own


LOW, HIGH = "_low", "_high"
ENDS = {LOW: "low end of", HIGH: "high end of"}

MOST_INPUTS = 5
"""Of a join whose totals are estimated: each set of its inputs takes part in the variance."""


def _with_estimates(node: PhysicalNode) -> tuple[PhysicalNode, frozenset[str]]:
    """The node, and which of its columns are estimates: where an aggregate reads the join."""
    if isinstance(node, SlidingAggregate):
        join = _join_below(node.input)
        if join is not None:
            return _estimating(node, len(join.inputs))
    if not isinstance(node, FilterRows | ProjectRows | RangeRows):
        return node, frozenset()
    below, estimates = _with_estimates(node.input)
    if not estimates:
        return node, estimates
    if isinstance(node, ProjectRows):
        return _shown(replace(node, input=below), estimates)
    if isinstance(node, FilterRows):
        for predicate in node.predicates:
            if estimates.intersection(predicate.columns):
                _refuse(f"the condition {predicate.text} decides by an estimate", predicate.span)
    return replace(node, input=below), estimates


def _join_below(node: PhysicalNode) -> MultiJoin | None:
    """The join whose combinations are the rows of a node, some of them or all."""
    while isinstance(node, FilterRows | ProjectRows | RangeRows):
        node = node.input
    return node if isinstance(node, MultiJoin) else None


def _estimating(node: SlidingAggregate, inputs: int) -> tuple[PhysicalNode, frozenset[str]]:
    if not node.aggregates:
        return node, frozenset()
    for aggregate in node.aggregates:
        if not aggregate.definition.estimated_by or aggregate.is_distinct:
            argument = aggregate.argument
            raise UnsupportedError(
                "unsupported-estimate",
                f"{show_aggregate(aggregate)} cannot be estimated: the join below it sheds",
                reason="only COUNT, SUM and AVG can be estimated from a sample of the rows",
                hint="select COUNT, SUM and AVG, or let the query fail or spill",
                span=argument.span if argument else None,
            )
    if inputs > MOST_INPUTS:
        raise UnsupportedError(
            "unsupported-estimate",
            f"{show_aggregate(node.aggregates[0])} is to be estimated over a join of {inputs}"
            " streams that sheds",
            reason=f"its error has a term for every set of streams, and there are {2**inputs - 1}",
            hint=f"join {MOST_INPUTS} streams at most, or let the query fail or spill",
        )
    ends = [
        Field(name, "double")
        for aggregate in node.aggregates
        for name in (aggregate.name, aggregate.name + LOW, aggregate.name + HIGH)
    ]
    keys = node.schema.fields[: len(node.keys)]
    aggregates = tuple(replace(aggregate, type="double") for aggregate in node.aggregates)
    estimating = EstimatingAggregate.over(node, inputs, aggregates, Schema((*keys, *ends)))
    return estimating, frozenset(aggregate.name for aggregate in aggregates)


def _shown(node: ProjectRows, estimates: frozenset[str]) -> tuple[PhysicalNode, frozenset[str]]:
    """A projection that shows the ends of each estimate that it shows."""
    items: list[Named] = []
    ends: list[Named] = []
    shown = set()
    for item in node.items:
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
    return replace(node, items=tuple(items), schema=schema), frozenset(shown)


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
        reason="COUNT, SUM and AVG over such a join come with an interval, which anything"
        " computed from them would lack",
        hint="select COUNT, SUM and AVG as they are, or let the query fail or spill",
        span=span,
    )
