"""How many cases a law draws: a share of what it names, unless somebody asks for more.

    make test-laws DRAWS=1       as many as the laws name; 5 for five times as many

A whole run draws a third, which finds the same mistakes a little later, and leaves the machine to the tests of
Spark and of servers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

SHARE = float(os.environ.get("WINDROW_DRAWS", "0.34"))

FEWEST = 8
"""So many are drawn at least, where the law names as many."""


def share_of(cases: int) -> int:
    """How many of so many cases are drawn.

    Examples:
        >>> share_of(5)
        5
    """
    return max(min(cases, FEWEST), round(cases * SHARE))


def picked(cases: Sequence[Case], fewest: int = 1) -> list[Case]:
    """The first of some cases that take seconds each: their share."""
    return list(cases[: max(fewest, round(len(cases) * min(SHARE * 1.5, 1.0)))])
