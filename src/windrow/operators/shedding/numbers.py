"""Floats and numbered entries among the integers of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def bits(number: float) -> int:
    """A float as an integer, bit by bit.

    Examples:
        >>> number_of(bits(0.1))
        0.1
    """
    return int(np.float64(number).view(np.int64))


def number_of(held: int) -> float:
    """The inverse of `bits`."""
    return float(np.int64(held).view(np.float64))


def numbered(numbers: Mapping[str, int], prefix: str) -> dict[int, int]:
    """The entries whose names are a prefix and a number, by that number, ascending."""
    found = {int(k.removeprefix(prefix)): v for k, v in numbers.items() if k.startswith(prefix)}
    return dict(sorted(found.items()))
