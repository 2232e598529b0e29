"""A predicate over a Project moves below it where the columns it reads are only passed on.

A predicate over a computed column stays: below, its expression would be evaluated twice.
"""

from __future__ import annotations

from windrow.optimize.renaming import rename
from windrow.plan.nodes import Filter, Node, Project
from windrow.plan.walk import rewrite


def push_filter_through_project(plan: Node) -> Node:
    """Predicates on passed-on columns go below the projection, under the names used there."""
    return rewrite(plan, _push)


def _push(node: Node) -> Node:
    if not (isinstance(node, Filter) and isinstance(node.input, Project)):
        return node
    project = node.input
    passed_on = {item.name: item.expr.columns[0] for item in project.items if item.expr.is_column}
    movable = tuple(p for p in node.predicates if set(p.columns) <= passed_on.keys())
    if not movable:
        return node
    below = Filter(project.input, tuple(rename(p, passed_on) for p in movable))
    moved = Project(below, project.items, project.schema)
    rest = tuple(p for p in node.predicates if p not in movable)
    return Filter(moved, rest) if rest else moved
