"""Where a query sheds: its one window join is told what it may hold and do, or it is refused.

Where an aggregate stands above, the join's results carry which draws made them and by which chances
(`physical.shedding.hidden_fields`), and what lies between hands those on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.allocation.dividing import ROUNDING
from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.shed_options import least_of, per_tick
from windrow.physical.algorithms import ASYMMETRIC, DEFAULT
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.pair_join import PairJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.shedding_join import SheddingJoin
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.sliding_skyline import SlidingSkyline
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.nodes.union_rows import UnionRows
from windrow.physical.options import Options
from windrow.physical.shed_errors import too_little
from windrow.physical.shed_values import rate_said
from windrow.physical.shedding import (
    BEST,
    PANES_PER_WINDOW,
    PANES_WHERE_MEMORY_IS,
    Least,
    Shedding,
    chance_column,
    hidden_fields,
    is_hidden,
    panes_for_totals,
)
from windrow.plan.exprs import Named, column, quote_duckdb, quote_spark
from windrow.plan.nodes import KIND_NAMES
from windrow.schema import Schema

LEAST_FOR_TOTALS = Least(0.1, is_share=True)
"""What every stream gets where totals are estimated and the user requires nothing."""


def with_shedding(root: PhysicalNode, options: Options) -> PhysicalNode:
    """The plan, its window join shedding as the options say; the same where they say nothing.

    Raises:
        UnsupportedError: a join of this kind does not shed.
        PlanError: what every stream is to get at least is more than there is, or too little for
            totals.
    """
    if not options.sheds_memory and options.service_rate is None:
        return root
    join = _shedding_join(root, options)
    has_totals = options.sheds and _has_totals(root)
    shedding = _shedding(join, options, is_estimated=has_totals)
    return _rewritten(root, shedding)


def _shedding_join(root: PhysicalNode, options: Options) -> MultiJoin:
    """The one window join of a query, if it can shed."""
    found = _joins(root)
    asked = "on_memory = 'shed'" if options.sheds_memory else "service_rate"
    if not found:
        raise UnsupportedError(
            "unsupported-shedding",
            f"{asked} is set, and the query joins no streams by windows",
            reason="what is shed are tuples of a join's windows, and probes of them",
            hint="leave it out",
        )
    if len(found) > 1:
        raise UnsupportedError(
            "unsupported-shedding",
            f"{asked} is set, and the query has more than one join",
            reason="what one of them sheds the others could not tell from what never was",
            hint="join all streams in one FROM, or leave it out",
        )
    beside = _beside(root)
    if beside:
        raise UnsupportedError(
            "unsupported-shedding",
            f"{asked} is set, and the query has {beside}",
            reason="what is computed from a part of the rows comes with an interval, which such a"
            " query would lack",
            hint="leave one of the two out",
        )
    (join,) = found
    what = _unable(join, options)
    if what:
        raise UnsupportedError(
            "unsupported-shedding",
            f"{asked} is set, and {what}",
            reason="inner joins by time windows shed, by the algorithms bew and, of two streams,"
            " asymmetric",
            hint="leave one of the two out"
            if options.asked_algorithm
            else "leave it out, or ask with an inner join by time",
        )
    assert isinstance(join, MultiJoin)
    return join


def _beside(root: PhysicalNode) -> str:
    """What a query has that cannot be estimated from a part of its rows; "" for nothing."""
    specs = list(_parts(root))
    if any(isinstance(spec, SnapshotJoin) for spec in specs):
        return "a join with a changelog"
    if any(isinstance(spec, SlidingSkyline) for spec in specs):
        return "a bestmatch join"
    sets = [spec for spec in specs if isinstance(spec, SetOp | UnionRows)]
    if sets:
        counts_rows = all(isinstance(spec, SetOp) and spec.kind == "changes" for spec in sets)
        return (
            "EMIT CHANGES, or a GROUP BY key that it does not show"
            if counts_rows
            else "DISTINCT or a set operation"
        )
    if sum(isinstance(spec, SlidingAggregate) for spec in specs) > 1:
        return "an aggregate of an aggregate"
    return ""


def _parts(spec: PhysicalNode) -> Iterator[PhysicalNode]:
    yield spec
    for child in spec.inputs:
        yield from _parts(child)


def _unable(join: MultiJoin | PairJoin, options: Options) -> str:
    """Why a join cannot shed; "" where it can."""
    if not isinstance(join, MultiJoin):
        return f"the query's join is {join.spoken}"
    names = " and ".join(join.aliases)
    if join.kind != "inner":
        return f"the join of {names} is a {KIND_NAMES[join.kind]} join"
    if join.counts is not None:
        return f"the windows of {names} count tuples"
    if join.algorithm not in {DEFAULT, ASYMMETRIC}:
        return f"the algorithm {options.asked_algorithm} does not shed"
    return ""


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
    error = too_little(join, shedding)
    if error is not None:
        raise error
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
                f"{name} lets {alias} have nothing, and totals are to be estimated",
                reason="of combinations that are never found nobody can tell how many there are",
                hint=f"leave {name} out for 10% each, or give every stream some",
            )


def _rewritten(spec: PhysicalNode, shedding: Shedding) -> PhysicalNode:
    """The plan with the join's shedding, and its hidden columns up to the aggregate."""
    if isinstance(spec, TimeJoin):
        hidden = hidden_fields(len(spec.inputs)) if shedding.is_estimated else ()
        return SheddingJoin.of(spec, shedding, Schema((*spec.schema.fields, *hidden)))
    node = spec.with_inputs([_rewritten(child, shedding) for child in spec.inputs])
    if isinstance(node, ProjectRows):
        return _with_hidden(node)
    if isinstance(node, FilterRows):
        return _past_marks(node)
    if isinstance(spec, TableJoinRows) and shedding.is_estimated:
        raise UnsupportedError(
            "unsupported-estimate",
            f"the table {spec.alias} is joined to a join that sheds, and totals are to be estimated",
            reason="how far a total may be off is told by the join's own combinations alone",
            hint="aggregate the join in a derived table and join the table to its groups, or let the"
            " query fail or spill",
        )
    return node


def _past_marks(spec: FilterRows) -> FilterRows:
    """A filter that lets pass what tells where results may be missing, in rows with chances of 0."""
    if not any(is_hidden(field.name) for field in spec.input.schema.fields):
        return spec
    name = chance_column(0)
    predicates = tuple(
        replace(
            own,
            spark=f"(({own.spark}) OR {quote_spark(name)} = 0)",
            duckdb=f"(({own.duckdb}) OR {quote_duckdb(name)} = 0)",
            columns=(*own.columns, name),
            comparisons=(),
            bands=(),
        )
        for own in spec.predicates
    )
    return replace(spec, predicates=predicates)


def _with_hidden(spec: ProjectRows) -> ProjectRows:
    """A projection that hands on the hidden columns below it."""
    hidden = [field for field in spec.input.schema.fields if is_hidden(field.name)]
    return replace(
        spec,
        items=(*spec.items, *(Named(own.name, column(own.name, own.type)) for own in hidden)),
        schema=Schema((*spec.schema.fields, *hidden)),
    )


def _joins(spec: PhysicalNode) -> list[MultiJoin | PairJoin]:
    below = [join for child in spec.inputs for join in _joins(child)]
    return [spec, *below] if isinstance(spec, MultiJoin | PairJoin) else below


def _has_totals(spec: PhysicalNode) -> bool:
    has_own = isinstance(spec, SlidingAggregate) and bool(spec.aggregates)
    return has_own or any(map(_has_totals, spec.inputs))
