"""How many operators of a plan feed one another."""

from __future__ import annotations

from windrow.physical.specs import Spec, inputs


def levels(root: Spec) -> int:
    """The length of the longest way from the root down to a stream or a table."""
    most, waiting = 0, [(root, 1)]
    while waiting:
        spec, level = waiting.pop()
        most = max(most, level)
        waiting += [(child, level + 1) for child in inputs(spec)]
    return most
