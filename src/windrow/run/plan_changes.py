"""When a join that runs is planned again."""

from __future__ import annotations

from windrow.physical.estimates import CHANGED


def is_near(number: float, planned: float) -> bool:
    """Whether a number is still about what a plan was made for."""
    return planned / CHANGED <= number <= planned * CHANGED
