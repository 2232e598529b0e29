"""Logical node to physical spec: which algorithm, over which key classes, keeping which columns."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.keys import classes_of
from windrow.optimize.match_algorithm import match_algorithm
from windrow.optimize.needs import needs
from windrow.optimize.orders import orders_of
from windrow.optimize.structures import by_trees, structures_of
from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC, DEFAULT, HASH, choice
from windrow.physical.nodes.asof_sweep import AsofSweep
from windrow.physical.nodes.base import KeyClass, PhysicalNode
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.count_rows import CountRows
from windrow.physical.nodes.filter_rows import FilterRows
from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.range_aggregate import RangeAggregate
from windrow.physical.nodes.range_rows import RangeRows
from windrow.physical.nodes.resolve_changes import ResolveChanges
from windrow.physical.nodes.scan_stream import ScanStream
from windrow.physical.nodes.scan_table import ScanTable
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.sliding_skyline import SlidingSkyline
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.table_join_rows import TableJoinRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.nodes.union_rows import UnionRows
from windrow.physical.options import Options
from windrow.plan.asof import AsofJoin, RangeAggregateJoin
from windrow.plan.exprs import functions_of
from windrow.plan.nodes import (
    KIND_NAMES,
    BestPairs,
    ChangeFeed,
    Filter,
    NewestRows,
    Node,
    PairJoin,
    Project,
    Range,
    Scan,
    SetOperation,
    TableJoin,
    TableScan,
    WindowAggregate,
    WindowJoin,
    children,
)
from windrow.schema import Schema

OUTER = ("bew", "bew-hash", "bew-nested-loop")
"""The algorithms that keep which tuples have found a match."""


def choose(plan: Node, options: Options) -> PhysicalNode:
    """The spec tree of a plan that went through the rules."""
    return _choose(plan, set(plan.schema.names), options)


def _choose(node: Node, wanted: Set[str], options: Options) -> PhysicalNode:
    """The spec of a node of which only the columns in `wanted` are used above."""
    inputs = tuple(
        _choose(child, needed, options)
        for child, needed in zip(children(node), needs(node, wanted), strict=True)
    )
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, TableScan | TableJoin):
        return _of_table(node, inputs, wanted)
    if isinstance(node, WindowJoin | PairJoin):
        return _join(node, inputs, wanted, options)
    if isinstance(node, SetOperation):
        return _union(inputs) if node.kind == "union all" else SetOp(inputs, node.kind)
    if isinstance(node, ChangeFeed | NewestRows | BestPairs):
        return _of_changes(node, inputs[0], wanted)
    return _over_one_input(node, inputs[0])


def _union(inputs: tuple[PhysicalNode, ...]) -> PhysicalNode:
    """All rows of the inputs; late rows of a stream are found below it, wherever there is a stage.

    The stage above cannot tell a stream's rows from those that another stage gives, which are in
    time. Where rows end, a stage of their own finds the late ones, and hands on the others as they
    are: a join above may ask how far apart rows are, and when each ends.
    """
    is_mixed = len({child.has_state for child in inputs}) > 1
    return UnionRows(
        tuple(
            SetOp((child,), "rows")
            if is_mixed and not child.has_state and child.has_ends
            else child
            for child in inputs
        )
    )


def _of_changes(
    node: ChangeFeed | NewestRows | BestPairs, below: PhysicalNode, wanted: Set[str]
) -> PhysicalNode:
    shown = Schema(tuple(field for field in node.schema.fields if field.name in wanted))
    if isinstance(node, BestPairs):
        return SlidingSkyline(
            below,
            node.kind,
            node.dimensions,
            node.groups,
            node.spread_by,
            shown,
            node.marks,
            node.spread_else,
        )
    if isinstance(node, NewestRows):
        return CountRows(below, node.alias, node.rows, node.partition, shown)
    time = node.time if node.time in shown.names else None
    return ResolveChanges(below, node.alias, node.compared, node.ticks, time, shown)


def _over_one_input(
    node: Filter | Project | Range | WindowAggregate, below: PhysicalNode
) -> PhysicalNode:
    if isinstance(node, Filter):
        return FilterRows(below, node.predicates)
    if isinstance(node, Project):
        return ProjectRows(below, node.items, node.schema)
    if isinstance(node, Range):
        return RangeRows(below, node.ticks)
    keys = tuple(key.name for key in node.keys)
    return SlidingAggregate(below, keys, node.aggregates, node.schema)


def _join(
    node: WindowJoin | PairJoin,
    inputs: tuple[PhysicalNode, ...],
    wanted: Set[str],
    options: Options,
) -> PhysicalNode:
    keep = tuple(
        tuple(name for name in child.schema.names if name in wanted) for child in children(node)
    )
    schema = Schema(tuple(field for field in node.schema.fields if field.name in wanted))
    if isinstance(node, WindowJoin):
        return _window_join(node, inputs, keep, schema, options)
    classes = key_classes(node)
    if isinstance(node, RangeAggregateJoin):
        return RangeAggregate(
            left=inputs[0],
            right=inputs[1],
            aliases=node.aliases,
            classes=classes,
            lo=node.lo,
            hi=node.hi,
            aggregates=tuple(each for each in node.aggregates if each.name in wanted),
            keep=keep[0],
            schema=schema,
        )
    if isinstance(node, AsofJoin):
        return AsofSweep(
            left=inputs[0],
            right=inputs[1],
            aliases=node.aliases,
            match=node.match,
            classes=classes,
            kind=node.kind,
            keep=(keep[0], keep[1]),
            schema=schema,
        )
    return MatwinBestmatch(
        left=inputs[0],
        right=inputs[1],
        dimensions=node.dimensions,
        classes=classes,
        lo=node.lo,
        hi=node.hi,
        keep=(keep[0], keep[1]),
        keep_unmatched=node.keep_unmatched,
        schema=schema,
        kind=node.kind,
        algorithm=match_algorithm(node, classes, options),
    )


def _window_join(
    node: WindowJoin,
    inputs: tuple[PhysicalNode, ...],
    keep: tuple[tuple[str, ...], ...],
    schema: Schema,
    options: Options,
) -> PhysicalNode:
    """One of five: by counted tuples, of what is alive, with rows alone, by trees, by time."""
    classes = key_classes(node)
    _check_kind(node, options)
    algorithm, method = _algorithm(node, classes, options)
    common: dict[str, Any] = {
        "inputs": inputs,
        "aliases": node.aliases,
        "classes": classes,
        "graph": node.graph,
        "keep": keep,
        "method": method,
        "schema": schema,
        "predicates": node.predicates,
        "alternative": node.alternative,
        "functions": functions_of(node.predicates),
        "orders": orders_of(node, algorithm, options),
    }
    if node.counts is not None:
        return CountJoin(**common, counts=node.counts)
    if node.is_snapshot:
        return SnapshotJoin(**common)
    if node.kind != "inner":
        return OuterJoin(**common, kind=node.kind, at_once=node.at_once)
    join = TimeJoin(**common, algorithm=algorithm, sizes=options.part_sizes)
    if algorithm != ASYMMETRIC:
        return by_trees(join, options)
    return replace(join, structures=structures_of(join, node, options))


def _of_table(
    node: TableScan | TableJoin, inputs: tuple[PhysicalNode, ...], wanted: Set[str]
) -> PhysicalNode:
    if isinstance(node, TableScan):
        columns = _source_columns(node.schema, node.alias)
        return ScanTable(node.table.name, node.alias, columns, node.schema)
    rows, table = inputs
    schema = Schema(tuple(field for field in node.schema.fields if field.name in wanted))
    return TableJoinRows(
        rows, table, node.alias, node.kind, node.keys, node.predicates, schema, node.place
    )


def _source_columns(schema: Schema, alias: str) -> tuple[str, ...]:
    return tuple(name.removeprefix(f"{alias}.") for name in schema.names)


def _scan(node: Scan) -> ScanStream:
    assert node.stream.time is not None  # verified
    return ScanStream(
        stream=node.stream.name,
        alias=node.alias,
        columns=_source_columns(node.schema, node.alias),
        schema=node.schema,
        time=node.stream.time,
        time_type=node.stream.time_type,
        lateness=node.stream.lateness,
        is_on_arrival=node.stream.is_on_arrival,
        changes=node.stream.changes,
        read_ahead=node.stream.read_ahead,
        punctuation=node.stream.punctuation,
    )


def key_classes(node: WindowJoin | PairJoin) -> tuple[KeyClass, ...]:
    """The key classes of a join; the rules have left one column per input and class."""
    return tuple(
        KeyClass(
            tuple(columns[0] if columns else None for columns in key.columns),
            key.type,
            key.null_safe,
        )
        for key in classes_of(node.equalities, children(node))
    )


def _check_kind(node: WindowJoin, options: Options) -> None:
    """Refuses what runs for inner joins by time alone: other algorithms, conditions left to Spark."""
    if node.counts is not None and options.asked_algorithm not in {None, *OUTER}:
        raise UnsupportedError(
            "unsupported-algorithm-of-count-window",
            f"the algorithm {options.asked_algorithm} does not run the join of"
            f" {' and '.join(node.aliases)}",
            reason="it knows windows of time, and these count tuples",
            hint=f"use algorithm {OUTER[0]}",
            span=node.span,
        )
    if node.is_snapshot and options.asked_algorithm not in {None, *OUTER}:
        raise UnsupportedError(
            "unsupported-algorithm-of-snapshot-join",
            f"the algorithm {options.asked_algorithm} does not run the join of"
            f" {' and '.join(node.aliases)}",
            reason="it knows tuples that stay for their window, and some of these are taken back",
            hint=f"use algorithm {OUTER[0]}",
            span=node.span,
        )
    if node.kind == "inner":
        return
    name = KIND_NAMES[node.kind]
    if options.asked_algorithm not in {None, *OUTER}:
        raise UnsupportedError(
            "unsupported-algorithm-of-outer-join",
            f"the algorithm {options.asked_algorithm} does not run the {name} join of"
            f" {' and '.join(node.aliases)}",
            reason="it does not keep which tuples have found a match",
            hint=f"use algorithm {OUTER[0]}",
            span=node.span,
        )
    for predicate in node.predicates:
        if not predicate.is_portable:
            raise UnsupportedError(
                "unsupported-condition-of-outer-join",
                f"the condition {predicate.text} cannot be part of a {name} join",
                reason="it decides which tuples match inside the join, where its value may differ"
                " from Spark's",
                hint="compute its parts in a derived table, and compare these: FROM (SELECT .., "
                "f(x) AS y FROM a) a ..",
                span=node.span,
            )


def _algorithm(
    node: WindowJoin, classes: tuple[KeyClass, ...], options: Options
) -> tuple[str, str]:
    """The algorithm that the user asked for, or the default, and how it looks tuples up.

    That is by hash wherever there is a key and the algorithm can, unless told otherwise.
    """
    chosen = options.asked_algorithm or DEFAULT
    found = choice(chosen)
    assert found is not None, "options are checked first"
    name, method = found
    methods, most = ALGORITHMS[name].methods, ALGORITHMS[name].most_streams
    if most is not None and len(node.inputs) > most:
        raise PlanError(
            "too-many-streams",
            f"the algorithm {chosen} does not join {len(node.inputs)} streams:"
            f" {', '.join(node.aliases)}",
            reason=f"it joins {most}, each window in a structure of its own",
            hint=f"use algorithm {DEFAULT}, and leave structure out",
            span=node.span,
        )
    if not classes and (method == HASH or ALGORITHMS[name].needs_key):
        raise PlanError(
            "no-key-to-hash",
            f"the join of {', '.join(node.aliases)} has no equality to hash on",
            reason="" if method == HASH else f"the algorithm {chosen} joins by hash alone",
            hint=f"use algorithm {ALGORITHMS[name].instead or name}, or add an equality between the "
            "streams",
            span=node.span,
        )
    return name, method or methods[0 if classes else -1]
