"""Logical node to physical node: by which algorithm, structures, order and keys, keeping what."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any, TypeVar

from windrow.errors import PlanError, UnsupportedError
from windrow.physical.algorithms import (
    ALGORITHMS,
    ASYMMETRIC,
    DEFAULT,
    HASH,
    MATWIN,
    MATWIN_GRID,
    PAGED,
    PIPELINE,
    STANDARD_PAGES,
    choice,
)
from windrow.physical.estimates import NO_WINDOW_JOIN
from windrow.physical.nodes.base import KeyClass, PhysicalNode, Request, key_classes
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.outer_join import CandidatesJoin, OuterJoin
from windrow.physical.nodes.set_op import HandOnRows, SetOp, changes_of
from windrow.physical.nodes.shapes import as_asked
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.stateless import UnionRows
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.option import ALL, asked_order, structure_names
from windrow.physical.options import Options
from windrow.physical.structures import BUFFER, TTREE, served_range
from windrow.plan.exprs import functions_of
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.bestmatch_join import BestmatchJoin
from windrow.plan.nodes.set_operation import SetOperation
from windrow.plan.nodes.window_join import (
    CandidateJoin,
    CountWindowJoin,
    OuterWindowJoin,
    SnapshotWindowJoin,
    WindowJoin,
)
from windrow.registry import load

BACKWARD = ("bew", "bew-hash", "bew-nested-loop")
"""The names of backward evaluation: it alone runs joins of other kinds than by time."""

Outer = TypeVar("Outer", bound=OuterJoin)


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
    """Rows by how many copies there are."""
    return SetOp(request.inputs, node.kind)


def bag_changes(node: SetOperation, request: Request) -> PhysicalNode:  # noqa: ARG001
    """The net changes of the one input."""
    return changes_of(request.inputs[0])


def union_all(node: SetOperation, request: Request) -> PhysicalNode:  # noqa: ARG001
    """All rows of the inputs.

    Late rows of a stream are found below it, wherever there is a stage: the stage above
    cannot tell a stream's rows from those that another stage gives, which are in time. Where rows end,
    a stage of their own finds the late ones, and hands on the others as they are: a join above may ask
    how far apart rows are, and when each ends.
    """
    inputs = request.inputs
    is_mixed = len({child.has_state for child in inputs}) > 1
    return UnionRows(
        tuple(
            HandOnRows(child) if is_mixed and not child.has_state and child.has_ends else child
            for child in inputs
        )
    )


def bestmatch_join(node: BestmatchJoin, request: Request) -> PhysicalNode:
    """The bestmatch join by the algorithm that the user asked for."""
    classes = key_classes(node)
    return MatwinBestmatch(
        **as_asked(node, request, MatwinBestmatch),
        classes=classes,
        keep=request.kept(node),
        algorithm=match_algorithm(node, classes, request.options),
    )


def time_join(node: WindowJoin, request: Request) -> TimeJoin:
    """The inner join by time, by the algorithm that the user asked for, or by trees."""
    options = request.options
    fields, algorithm = _fields(node, request)
    join = TimeJoin(**fields, algorithm=algorithm, sizes=options.part_sizes)
    if algorithm != ASYMMETRIC:
        return by_trees(join, options)
    return replace(join, structures=structures_of(join, node, options))


def count_join(node: CountWindowJoin, request: Request) -> CountJoin:
    """The join of counted tuples."""
    return CountJoin(**_by_backward(CountJoin, node, request), counts=node.counts)


def snapshot_join(node: SnapshotWindowJoin, request: Request) -> SnapshotJoin:
    """The join of what is alive."""
    return SnapshotJoin(**_by_backward(SnapshotJoin, node, request))


def outer_join(node: OuterWindowJoin, request: Request) -> OuterJoin:
    """The outer, semi or anti join."""
    return _outer(OuterJoin, node, request)


def candidate_join(node: CandidateJoin, request: Request) -> CandidatesJoin:
    """The join whose rows something else judges."""
    return _outer(CandidatesJoin, node, request)


def _outer(kind: type[Outer], node: OuterWindowJoin, request: Request) -> Outer:
    """Refuses conditions left to Spark, of which the join has to know the value."""
    fields = _by_backward(kind, node, request) | {"orders": ()}
    for predicate in node.predicates:
        if not predicate.is_portable:
            raise UnsupportedError(
                "unsupported-condition-of-outer-join",
                f"the condition {predicate.text} cannot be part of a {node.spoken}",
                reason="it decides which tuples match inside the join, where its value may differ"
                " from Spark's",
                hint="compute its parts in a derived table, and compare these: FROM (SELECT .., "
                "f(x) AS y FROM a) a ..",
                span=node.span,
            )
    return kind(**fields, kind=node.kind)


def _by_backward(
    kind: type[CountJoin | OuterJoin | SnapshotJoin], node: WindowJoin, request: Request
) -> dict[str, Any]:
    """What a join has that backward evaluation alone runs: other algorithms are refused."""
    asked = request.options.asked_algorithm
    if asked not in {None, *BACKWARD}:
        raise UnsupportedError(
            f"unsupported-algorithm-of-{kind.error_name}",
            f"the algorithm {asked} does not run the {node.spoken} of {' and '.join(node.aliases)}",
            reason=kind.only_backward,
            hint=f"use algorithm {BACKWARD[0]}",
            span=node.span,
        )
    return _fields(node, request)[0]


def _fields(node: WindowJoin, request: Request) -> tuple[dict[str, Any], str]:
    """What every window join has, and the algorithm that was asked for."""
    classes, options = key_classes(node), request.options
    algorithm, method = _algorithm(node, classes, options)
    fields = as_asked(node, request, MultiJoin) | {
        "inputs": request.inputs,
        "classes": classes,
        "keep": request.kept(node),
        "method": method,
        "functions": functions_of(node.predicates),
        "orders": orders_of(node, algorithm, options),
    }
    return fields, algorithm


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
            reason="" if method == HASH else f"the algorithm {chosen} joins only by hash",
            hint=f"use algorithm {ALGORITHMS[name].instead or name}, or add an equality between the "
            "streams",
            span=node.span,
        )
    return name, method or methods[0 if classes else -1]


def structures_of(node: TimeJoin, stated: WindowJoin, options: Options) -> tuple[str, ...]:
    """Per input, the structure that the user asked for, or else the one to take.

    Raises:
        PlanError: a structure that was asked for has no key to be kept by.
    """
    if options.structure is None:
        return decided_structures(node)
    chosen = structure_names(options.structure)
    for name, alias in zip(chosen, stated.aliases, strict=True):
        _check(node, stated, name, alias)
    return chosen


def by_trees(node: TimeJoin, options: Options) -> TimeJoin:
    """The join with both windows in trees, where the user leaves that open and they answer best.

    So it is where there is no equality and a band is bounded from both sides: a tree looks at what
    lies within, however large the window is, and costs no more than going through a small one. A
    comparison that is open to one side leaves half of the window to look at, which goes faster
    through tuples side by side. A tree cannot be spilled; a join that sheds counts what it takes.
    """
    is_bound = options.memory is not None and not options.sheds_memory
    is_open = options.asked_algorithm is None and options.order is None and not is_bound
    if node.classes or len(node.inputs) != 2 or not (is_open and node.has_plans):
        return node
    served = served_range(node)
    if served is None or not served.is_closed:
        return node
    return replace(node, algorithm=ASYMMETRIC, structures=(TTREE, TTREE))


def decided_structures(node: TimeJoin) -> tuple[str, str]:
    """The structures of a join for which the user asked for none."""
    if node.classes:
        return HASH, HASH
    return (BUFFER, BUFFER) if served_range(node) is None else (TTREE, TTREE)


def _check(node: TimeJoin, stated: WindowJoin, name: str, alias: str) -> None:
    if name == HASH and not node.classes:
        raise PlanError(
            "no-key-to-hash",
            f"the window of {alias} cannot be a hash: the join of {', '.join(stated.aliases)} has no"
            " equality",
            hint="use ttree, btree or buffer in its place, or add an equality between the streams",
            span=stated.span,
        )
    if name not in {HASH, BUFFER} and not node.classes and served_range(node) is None:
        raise PlanError(
            "no-key-to-order",
            f"the window of {alias} cannot be a {name}: nothing in the join of"
            f" {', '.join(stated.aliases)} asks for a range of keys",
            reason="a tree serves an equality, or a comparison of a column of one stream with one"
            " of the other",
            hint="use buffer in its place, or add a condition such as a.x < b.x or"
            " abs(a.x - b.x) < 5",
            span=stated.span,
        )


def orders_of(node: WindowJoin, algorithm: str, options: Options) -> tuple[tuple[int, ...], ...]:
    """Per input, the others in the order that the user asked for; () where that is another join's.

    Of one order for all, every new tuple leaves out its own stream. A pipeline has one order alone.

    Raises:
        PlanError: a pipeline is given an order for each stream.
    """
    if options.order is None:
        return ()
    at = {alias.lower(): number for number, alias in enumerate(node.aliases)}
    asked = {
        start: tuple(at.get(name, -1) for name in names)
        for start, names in asked_order(options.order).items()
    }
    everyone = list(range(len(node.aliases)))
    is_pipeline = ALGORITHMS[algorithm].kind == PIPELINE
    if ALL in asked:
        together = asked[ALL]
        if sorted(together) != everyone:
            return ()
        if is_pipeline:
            return (together,)
        return tuple(tuple(one for one in together if one != start) for start in everyone)
    orders = {at.get(start, -1): others for start, others in asked.items()}
    if sorted(orders) != everyone or any(
        sorted((start, *others)) != everyone for start, others in orders.items()
    ):
        return ()
    if is_pipeline:
        raise PlanError(
            "bad-order",
            f"order = {options.order!r} gives each stream an order of its own",
            reason="a pipeline has one order, from its bottom to its top",
            hint=f"every stream of the join once: '{', '.join(node.aliases)}'",
            span=node.span,
        )
    return tuple(orders[start] for start in everyone)


def check_order(root: PhysicalNode, options: Options) -> None:
    """Refuses an order that no join of the query could follow."""
    joins = root.window_joins
    if options.order is None or any(join.orders for join in joins):
        return
    named = f"the join of {', '.join(joins[0].aliases)}" if joins else "a join"
    others = " and ".join(root.spoken_names)
    reason = f"{others} joins two, in no order" if others else NO_WINDOW_JOIN
    raise PlanError(
        "order-of-other-streams",
        f"order = {options.order!r} does not name the streams of {named}",
        reason="" if joins else reason,
        hint="every stream of an inner join once, as the query calls it"
        if joins
        else "leave it out",
    )


def match_algorithm(node: BestmatchJoin, classes: tuple[KeyClass, ...], options: Options) -> str:
    """The algorithm asked for; if none is, MatWin, with pages where windows may go to disk.

    A grid with nothing to lay it over is refused, and so are pages of what is compared by value.
    """
    by_value = [d for d in node.dimensions if d.is_by_value]
    asked = options.match_algorithm
    if asked is None:
        return STANDARD_PAGES if options.spills and not by_value else MATWIN
    if asked in PAGED and by_value:
        raise PlanError(
            "orders-not-in-pages",
            f"the windows of the bestmatch join cannot be kept in pages: {by_value[0].text} looks at"
            " values",
            reason="a page holds numbers: times, keys and what distances are measured by",
            hint=f"use algorithm {MATWIN}: chunks of rows go to disk where memory does not hold them",
            span=by_value[0].span,
        )
    has_grid = any(d.has_grid for d in node.dimensions)
    if asked == MATWIN_GRID and (classes or not has_grid):
        raise PlanError(
            "no-epsilon-grid",
            "the bestmatch join has no epsilon grid to find rows by",
            reason="rows of one key are found together"
            if classes
            else "no dimension but time is a distance with a limit",
            hint=f"use algorithm {MATWIN}" + ("" if classes else ", or write WITHIN after MINDIST"),
            span=node.span,
        )
    return asked


def check_match_algorithm(root: PhysicalNode, options: Options) -> None:
    """Refuses an algorithm of bestmatch joins for a query that has none."""
    if options.match_algorithm is None or any(
        isinstance(node, MatwinBestmatch) for node in root.walk()
    ):
        return
    raise PlanError(
        "algorithm-of-bestmatch",
        f"the algorithm {options.match_algorithm} is for bestmatch joins, and the query has none",
        hint="leave it out, or name an algorithm of window joins, bew for instance",
    )
