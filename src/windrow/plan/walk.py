"""Going through a logical plan: every node, and rewriting from the leaves up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from windrow.plan.nodes import (
    Node,
    PairJoin,
    Scan,
    SetOperation,
    TableJoin,
    TableScan,
    WindowJoin,
    children,
)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, each parent before its inputs."""
    yield node
    for child in children(node):
        yield from walk(child)


def with_children(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs; the very same object where nothing changed."""
    if all(new is old for new, old in zip(inputs, children(node), strict=True)):
        return node
    if isinstance(node, Scan | TableScan):
        return node
    if isinstance(node, TableJoin):
        return replace(node, input=inputs[0], table=inputs[1])
    if isinstance(node, WindowJoin | SetOperation):
        return replace(node, inputs=tuple(inputs))
    if isinstance(node, PairJoin):
        return replace(node, left=inputs[0], right=inputs[1])
    return replace(node, input=inputs[0])


def rewrite(node: Node, rule: Callable[[Node], Node]) -> Node:
    """The plan with `rule` applied once to every node, inputs first."""
    return rule(with_children(node, [rewrite(child, rule) for child in children(node)]))
