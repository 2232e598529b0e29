"""A predicate over a bestmatch join that reads the judged side alone moves into that side.

Pairs are judged among those of one tuple, so that a tuple that is not there takes its own pairs with
it, and no others:

    l LEFT OUTER BESTMATCH JOIN r WHERE l.x > 1      moves into l: whose pairs are looked for
    l LEFT OUTER BESTMATCH JOIN r WHERE r.x > 1      stays: below, pairs that a pair with another
                                                     tuple of r dominates would come up in its place
    l FULL OUTER BESTMATCH JOIN r WHERE l.x > 1      stays: pairs are judged for r as well
    l BESTMATCH JOIN r WHERE l.x > 1                 stays: all pairs are judged together

It makes no difference whether unmatched tuples are kept: each is one of the judged side.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import JUDGED, BestmatchJoin, BestPairs, Filter, Node, WindowJoin
from windrow.plan.walk import rewrite


def push_filter_below_bestmatch(plan: Node) -> Node:
    """Tuples whose pairs the answer does not show are neither kept nor judged."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if not (isinstance(node, Filter) and isinstance(node.input, BestmatchJoin | BestPairs)):
        return node
    join = node.input
    names = _judged_columns(join)
    moved = tuple(p for p in node.predicates if p.columns and {*p.columns} <= names)
    if not moved:
        return node
    rest = tuple(predicate for predicate in node.predicates if predicate not in moved)
    below: Node
    if isinstance(join, BestPairs):
        # The join of its candidates has a rule of its own, which takes it further down.
        below = replace(join, input=Filter(join.input, moved))
    elif join.kind == "left outer":
        below = replace(join, left=Filter(join.left, moved))
    else:
        below = replace(join, right=Filter(join.right, moved))
    return Filter(below, rest) if rest else below


def _judged_columns(join: BestmatchJoin | BestPairs) -> set[str]:
    """The columns of the one side whose tuples are judged; none where that is not one."""
    judged = JUDGED.get(join.kind, ())
    if len(judged) != 1:
        return set()
    sides: tuple[Node, ...] = ()
    if isinstance(join, BestmatchJoin):
        sides = (join.left, join.right)
    else:
        pairs = join.input
        while isinstance(pairs, Filter):
            pairs = pairs.input
        sides = pairs.inputs if isinstance(pairs, WindowJoin) else ()
    return set(sides[judged[0]].schema.names) if sides else set()
