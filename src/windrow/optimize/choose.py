"""Logical node to physical spec: which algorithm, over which key classes, keeping which columns."""

from __future__ import annotations

from collections.abc import Set

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.keys import classes_of
from windrow.optimize.needs import needs
from windrow.physical.options import Options
from windrow.physical.specs import (
    FilterRows,
    KeyClass,
    MatwinBestmatch,
    ProjectRows,
    RangeRows,
    ScanStream,
    SlidingAggregate,
    Spec,
    WJoin,
)
from windrow.plan.exprs import functions_of
from windrow.plan.nodes import (
    BestmatchJoin,
    Filter,
    Node,
    Project,
    Range,
    Scan,
    WindowAggregate,
    WindowJoin,
    children,
)
from windrow.schema import Schema

EITHER_WAY = ("bew", "bew-hash", "bew-nested-loop")
"""The algorithms that run both ways over the same buffers."""


def choose(plan: Node, options: Options) -> Spec:
    """The spec tree of a plan that went through the rules."""
    return _choose(plan, set(plan.schema.names), options)


def _choose(node: Node, wanted: Set[str], options: Options) -> Spec:
    """The spec of a node of which only the columns in `wanted` are used above."""
    inputs = tuple(
        _choose(child, needed, options)
        for child, needed in zip(children(node), needs(node, wanted), strict=True)
    )
    if isinstance(node, Scan):
        return _scan(node)
    if isinstance(node, WindowJoin | BestmatchJoin):
        return _join(node, inputs, wanted, options)
    return _over_one_input(node, inputs[0])


def _over_one_input(node: Filter | Project | Range | WindowAggregate, below: Spec) -> Spec:
    if isinstance(node, Filter):
        return FilterRows(below, node.predicates)
    if isinstance(node, Project):
        return ProjectRows(below, node.items, node.schema)
    if isinstance(node, Range):
        return RangeRows(below, node.ticks)
    keys = tuple(key.name for key in node.keys)
    return SlidingAggregate(below, keys, node.aggregates, node.schema)


def _join(
    node: WindowJoin | BestmatchJoin, inputs: tuple[Spec, ...], wanted: Set[str], options: Options
) -> Spec:
    keep = tuple(
        tuple(name for name in child.schema.names if name in wanted) for child in children(node)
    )
    schema = Schema(tuple(field for field in node.schema.fields if field.name in wanted))
    classes = key_classes(node)
    if isinstance(node, WindowJoin):
        _check_either_way(node, options)
        return WJoin(
            inputs=inputs,
            aliases=node.aliases,
            classes=classes,
            graph=node.graph,
            keep=keep,
            method=_method(node, classes, options),
            schema=schema,
            predicates=node.predicates,
            kind=node.kind,
            alternative=node.alternative,
            functions=functions_of(node.predicates),
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
    )


def _scan(node: Scan) -> ScanStream:
    prefix = f"{node.alias}."
    assert node.stream.time is not None  # verified
    return ScanStream(
        stream=node.stream.name,
        alias=node.alias,
        columns=tuple(name.removeprefix(prefix) for name in node.schema.names),
        schema=node.schema,
        time=node.stream.time,
        time_type=node.stream.time_type,
        lateness=node.stream.lateness,
        is_on_arrival=node.stream.is_on_arrival,
    )


def key_classes(node: WindowJoin | BestmatchJoin) -> tuple[KeyClass, ...]:
    """The key classes of a join; the rules have left one column per input and class."""
    return tuple(
        KeyClass(
            tuple(columns[0] if columns else None for columns in key.columns),
            key.type,
            key.null_safe,
        )
        for key in classes_of(node.equalities, children(node))
    )


def _check_either_way(node: WindowJoin, options: Options) -> None:
    """Refuses an algorithm that knows one graph of windows for a join that has two."""
    if node.alternative is None or options.algorithm in {None, *EITHER_WAY}:
        return
    raise UnsupportedError(
        "unsupported-either-way",
        f"the algorithm {options.algorithm} does not run EITHER WAY over {len(node.inputs)} streams",
        reason="it joins by one set of windows, and the reversed ones are another",
        hint=f"use algorithm {EITHER_WAY[0]}, or ask twice, once with every DWINDOW reversed",
        span=node.span,
    )


def _method(node: WindowJoin, classes: tuple[KeyClass, ...], options: Options) -> str:
    """How BEW looks up the windows: by hash wherever there is a key, unless told otherwise."""
    if options.algorithm == "bew-nested-loop":
        return "nested-loop"
    if options.algorithm == "bew-hash" and not classes:
        raise PlanError(
            "no-key-to-hash",
            f"the join of {', '.join(node.aliases)} has no equality to hash on",
            hint="use algorithm bew, or add an equality between the streams",
            span=node.span,
        )
    return "hash" if classes else "nested-loop"
