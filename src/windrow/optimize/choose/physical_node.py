"""Logical node to physical node: which algorithm, over which key classes, keeping which columns."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.choose.match_algorithm import match_algorithm
from windrow.optimize.choose.orders import orders_of
from windrow.optimize.choose.structures import by_trees, structures_of
from windrow.physical.algorithms import ALGORITHMS, ASYMMETRIC, DEFAULT, HASH, choice
from windrow.physical.nodes.base import KeyClass, PhysicalNode, Request, key_classes
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.matwin_bestmatch import MatwinBestmatch
from windrow.physical.nodes.outer_join import OuterJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.nodes.union_rows import UnionRows
from windrow.physical.options import Options
from windrow.plan.exprs import functions_of
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.bestmatch_join import BestmatchJoin
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.texts import KIND_NAMES
from windrow.registry import load

OUTER = ("bew", "bew-hash", "bew-nested-loop")
"""The algorithms that keep which tuples have found a match."""


def choose(plan: Node, options: Options) -> PhysicalNode:
    """The physical form of a plan that went through the rules: each node says where its own is made."""
    return _choose(plan, set(plan.schema.names), options)


def _choose(node: Node, wanted: Set[str], options: Options) -> PhysicalNode:
    """The physical form of a node of which only the columns in `wanted` are used above."""
    inputs = tuple(
        _choose(child, needed, options)
        for child, needed in zip(node.inputs, node.required_columns(wanted), strict=True)
    )
    made: PhysicalNode = load(node.physical)(node, Request(inputs, wanted, options))
    return made


def set_operation(node: SetOperation, request: Request) -> PhysicalNode:
    """All rows of the inputs, or by how many copies there are.

    Of UNION ALL, late rows of a stream are found below it, wherever there is a stage: the stage above
    cannot tell a stream's rows from those that another stage gives, which are in time. Where rows end,
    a stage of their own finds the late ones, and hands on the others as they are: a join above may ask
    how far apart rows are, and when each ends.
    """
    inputs = request.inputs
    if not node.only_hands_on:
        return SetOp(inputs, node.kind)
    is_mixed = len({child.has_state for child in inputs}) > 1
    return UnionRows(
        tuple(
            SetOp((child,), "rows")
            if is_mixed and not child.has_state and child.has_ends
            else child
            for child in inputs
        )
    )


def bestmatch_join(node: BestmatchJoin, request: Request) -> PhysicalNode:
    """The bestmatch join by the algorithm that the user asked for."""
    keep, classes = request.kept(node), key_classes(node)
    return MatwinBestmatch(
        left=request.inputs[0],
        right=request.inputs[1],
        dimensions=node.dimensions,
        classes=classes,
        lo=node.lo,
        hi=node.hi,
        keep=(keep[0], keep[1]),
        keep_unmatched=node.keep_unmatched,
        schema=request.shown(node),
        kind=node.kind,
        algorithm=match_algorithm(node, classes, request.options),
    )


def window_join(node: WindowJoin, request: Request) -> PhysicalNode:
    """One of five: by counted tuples, of what is alive, with rows alone, by trees, by time."""
    classes, options = key_classes(node), request.options
    _check_kind(node, options)
    algorithm, method = _algorithm(node, classes, options)
    common: dict[str, Any] = {
        "inputs": request.inputs,
        "aliases": node.aliases,
        "classes": classes,
        "graph": node.graph,
        "keep": request.kept(node),
        "method": method,
        "schema": request.shown(node),
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
