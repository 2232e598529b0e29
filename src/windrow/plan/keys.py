"""Equalities of a join as classes of columns that must all be equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.plan.nodes.base import Equality, Node


@dataclass(frozen=True)
class Class:
    """Columns that a chain of equalities makes equal, per input, in the order of appearance."""

    columns: tuple[tuple[str, ...], ...]
    type: str
    null_safe: bool


def classes_of(equalities: Sequence[Equality], inputs: Sequence[Node]) -> list[Class]:
    """The classes that the equalities form (union-find), in the order of their first equality.

    A class matches NULL with NULL only if every one of its equalities does: a single plain one
    rules NULL out for all.
    """
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for equality in equalities:
        left, right = find(equality.left), find(equality.right)
        root[right] = left
    members: dict[str, list[str]] = {}
    for name in root:
        members.setdefault(find(name), []).append(name)
    owner = {name: i for i, node in enumerate(inputs) for name in node.schema.names}
    return [
        Class(
            tuple(tuple(name for name in names if owner[name] == i) for i in range(len(inputs))),
            next(e.type for e in equalities if find(e.left) == top),
            all(e.null_safe for e in equalities if find(e.left) == top),
        )
        for top, names in members.items()
    ]
