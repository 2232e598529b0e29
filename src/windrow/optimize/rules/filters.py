"""Rules about conditions: each is tested in one place, as far down as its nodes allow.

    merge_filters                 one Filter where there were several
    push_filters                  a condition on a node's rows goes below the node
    push_own_conditions           a condition of a join that reads one input is tested there
    absorb_filters                a condition over several inputs moves from the Filter into the join
    push_table_join_below_join    a semi or anti join with a table goes where a filter may

Each node says which conditions it lets through (`push_filter`, `absorb_filter`,
`push_own_conditions`). A semi or anti join with a table only removes rows, as a filter does: those
that it removes need not be stored or probed. An inner or a left one stays: it may give a row several
times, and each copy would be stored.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes.base import Node
from windrow.plan.nodes.filter import Filter, filtered
from windrow.plan.nodes.table_join import TableJoin
from windrow.plan.nodes.window_join import WindowJoin


def push_filters(plan: Node) -> Node:
    """Filters read rows before these are stored, probed or counted."""
    return plan.rewrite(_push)


def _push(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    below, rest = node.input.push_filter(node.predicates)
    return node if len(rest) == len(node.predicates) else filtered(below, rest)


def absorb_filters(plan: Node) -> Node:
    """Conditions on several streams are tested while combinations are built."""
    return plan.rewrite(_absorb)


def _absorb(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    below, rest = node.input.absorb_filter(node.predicates)
    return node if len(rest) == len(node.predicates) else filtered(below, rest)


def push_own_conditions(plan: Node) -> Node:
    """Rows that can match nothing are not joined."""
    return plan.rewrite(lambda node: node.push_own_conditions())


def merge_filters(plan: Node) -> Node:
    """One Filter where there were several in a row; a predicate stated twice is kept once."""
    return plan.rewrite(_merge)


def _merge(node: Node) -> Node:
    match node:
        case Filter(Filter(below, first), then):
            return filtered(below, tuple(dict.fromkeys((*first, *then))))
        case Filter(below, predicates):
            return node if predicates else below
    return node


def push_table_join_below_join(plan: Node) -> Node:
    """Semi and anti joins with tables are made before tuples are stored."""
    return plan.rewrite(_push_table_join)


def _push_table_join(node: Node) -> Node:
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
