"""A semi or anti TableJoin that reads one input of a WindowJoin moves into that input.

It only removes rows, as a filter does: those that it removes need not be stored or probed. It moves
where a filter may. An inner or a left one stays: it may give a row several
times, and each copy would be stored.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.table_join import TableJoin
from windrow.plan.nodes.window_join import WindowJoin


def push_table_join_below_join(plan: Node) -> Node:
    """Semi and anti joins with tables are made before tuples are stored."""
    return plan.rewrite(_push)


def _push(node: Node) -> Node:
    if not (isinstance(node, TableJoin) and node.kind in {"semi", "anti"}):
        return node
    return _moved(node, node.input) or node


def _moved(join: TableJoin, node: Node) -> Node | None:
    """What lies below the join, with the join in it; None where it may not move."""
    read = join.row_columns
    if isinstance(node, Filter | TableJoin) and read <= set(node.input.schema.names):
        below = _moved(join, node.input)
        return None if below is None else replace(node, input=below)
    if not isinstance(node, WindowJoin) or not read:
        return None
    for i, child in enumerate(node.inputs):
        if read <= set(child.schema.names):
            if not node.may_filter(i):
                return None
            place = f"below the join of {_listed(node)}: what it removes is not stored"
            inputs = list(node.inputs)
            inputs[i] = replace(join, input=child, place=place)
            return node.with_inputs(inputs)
    return None


def _listed(node: WindowJoin) -> str:
    return " and ".join([", ".join(node.aliases[:-1]), node.aliases[-1]])
