"""How many operators of a plan feed one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.physical.nodes.base import PhysicalNode


def levels(root: PhysicalNode) -> int:
    """The length of the longest way from the root down to a stream or a table."""
    most, waiting = 0, [(root, 1)]
    while waiting:
        spec, level = waiting.pop()
        most = max(most, level)
        waiting += [(child, level + 1) for child in spec.inputs]
    return most
