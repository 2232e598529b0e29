"""A semi or anti TableJoin that reads one input of a WindowJoin moves into that input.

It only removes rows, as a filter does: those that it removes need not be stored or probed. It moves
where a filter may (`push_filter_below_join`). An inner or a left one stays: it may give a row several
times, and each copy would be stored.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import Filter, Node, TableJoin, WindowJoin
from windrow.plan.walk import rewrite, with_children


def push_table_join_below_join(plan: Node) -> Node:
    """Semi and anti joins with tables are made before tuples are stored."""
    return rewrite(plan, _push)


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
            if not (set(node.preserved) <= {i} and i not in node.sealed):
                return None
            place = f"below the join of {_listed(node)}: what it removes is not stored"
            inputs = list(node.inputs)
            inputs[i] = replace(join, input=child, place=place)
            return with_children(node, inputs)
    return None


def _listed(node: WindowJoin) -> str:
    return " and ".join([", ".join(node.aliases[:-1]), node.aliases[-1]])
