"""DISTINCT below a join, where few different rows then flow instead of many.

Above the join it only matters whether a row is there, not how often: so it is under DISTINCT, UNION,
EXCEPT and INTERSECT, and through filters, projections and joins with tables. Then the copies of an
input's rows matter no more than those of the answer, and may go before they are joined:

    DISTINCT k                     DISTINCT k
      join a.k = b.k        ->       join a.k = b.k
        a: 1,000 per second            DISTINCT k        at most 100 different: 1.7 per second
        b                                a
                                       b

What goes on is told by the paper's equation 1: of n equally likely rows, N = n (1 - (1 - 1/n)^(rate w))
are in a window w, so that N / w come out of a DISTINCT in a unit of time. It pays where that is well
below the rate, since a DISTINCT costs about as much per row as a join does.

What counts is what the user has said of rates and different values, or what streams show that are
there as a whole. What the first batches of others show may be another thing after a restart, and a
checkpoint would not fit the plan any more.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.cost.statistics import PlanStatistics
from windrow.physical.algorithms import DEFAULT, HASH, NESTED_LOOP
from windrow.physical.explain.cost_facts import show_count, show_rate
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.project_rows import ProjectRows
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.options import Options
from windrow.plan.exprs import Named, column
from windrow.plan.windows import WindowGraph
from windrow.schema import Schema

LEAST_GAIN = 4.0
"""A DISTINCT is pushed down where at most one in so many of the rows goes on."""

SETS = frozenset({"distinct", "union", "except", "intersect"})
"""The set operations that do not count copies."""


def push_distinct(node: PhysicalNode, options: Options, numbers: PlanStatistics) -> PhysicalNode:
    """The node with a DISTINCT below those joins under set operations where it pays."""

    def below(child: PhysicalNode) -> PhysicalNode:
        return push_distinct(child, options, numbers)

    if isinstance(node, SetOp) and node.kind in SETS:
        said: list[str] = []
        inputs = tuple(_as_set(child, options, numbers, said) for child in node.inputs)
        return replace(node, inputs=tuple(map(below, inputs)), place=(*node.place, *said))
    return node.with_inputs([below(child) for child in node.inputs])


def _as_set(
    node: PhysicalNode, options: Options, numbers: PlanStatistics, said: list[str]
) -> PhysicalNode:
    """The node of which it only matters whether a row is there; what is not done is said."""
    if node.row_inputs:
        return node.with_rows(lambda below: _as_set(below, options, numbers, said))
    if not isinstance(node, MultiJoin) or not node.joins_what_is_alive:
        return node
    if not isinstance(node, SnapshotJoin) and not options.leaves_plans:
        return node
    inputs = tuple(
        _pushed_to(port, node, numbers, said)
        if child.alive_ticks is not None
        else _as_set(child, options, numbers, said)
        for port, child in enumerate(node.inputs)
    )
    return node if inputs == node.inputs else _of_what_is_alive(node, inputs)


def _of_what_is_alive(node: MultiJoin, inputs: tuple[PhysicalNode, ...]) -> SnapshotJoin:
    """The join of inputs that take rows back, which has one way to look tuples up."""
    is_own_way = node.algorithm == DEFAULT
    method = node.method if is_own_way else (HASH if node.classes else NESTED_LOOP)
    graph = WindowGraph(node.graph.streams, ())
    return SnapshotJoin(**node.common() | {"inputs": inputs, "graph": graph, "method": method})


def _pushed_to(
    port: int, join: MultiJoin, numbers: PlanStatistics, said: list[str]
) -> PhysicalNode:
    """An input of a join, below a DISTINCT of the columns that are needed if that pays."""
    rows, alias = join.inputs[port], join.aliases[port]
    needed = _only(rows, join.columns_needed(port))
    joined = f"the join of {', '.join(join.aliases)}"
    floating = [f.name for f in needed.schema.fields if "float" in f.type or "double" in f.type]
    if floating:
        said.append(
            f"not pushed below {joined} for {alias}: {floating[0]} may be -0.0, which DISTINCT"
            " shows as 0.0"
        )
        return rows
    rate, held, ticks = numbers.rate(needed), numbers.held(needed), needed.alive_ticks
    if rate is None or held is None or not ticks:
        said.append(f"not pushed below {joined} for {alias}: rate= and distinct= are not given")
        return rows
    alive, different = held
    time_type = rows.scans[0].time_type
    passing = different.value / ticks
    figures = (
        f"{show_rate(passing, time_type)} of {show_rate(rate.value, time_type)} go on, for"
        f" {show_count(different.value)} of {show_count(alive.value)} rows alive are different"
        f" (equation 1; {', '.join(dict.fromkeys((rate.source, different.source)))})"
    )
    if passing * LEAST_GAIN > rate.value:
        said.append(f"not pushed below {joined} for {alias}: {figures}")
        return rows
    return SetOp((needed,), "distinct", place=(f"pushed below {joined}: {figures}",))


def _only(node: PhysicalNode, names: list[str]) -> PhysicalNode:
    """The columns that are needed, without the others."""
    if set(names) == set(node.schema.names):
        return node
    kept = tuple(field for field in node.schema.fields if field.name in names)
    items = tuple(Named(field.name, column(field.name, field.type)) for field in kept)
    return ProjectRows(node, items, Schema(kept))
