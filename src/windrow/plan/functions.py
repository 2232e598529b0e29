"""Functions of the user's own, which queries call by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class UserFunction:
    """A function that the user registered.

    Attributes:
        name: what queries call it, in lower case.
        body: takes one Arrow array per argument and gives an array of the same length; or, where
            it is not vectorized, one value per argument and gives a value.
        arguments: the Spark types of its arguments; None where each call says them.
        returns: the Spark type of its result.
        is_vectorized: whether the body works on whole arrays.
        is_partial_order: whether it compares pairs of a bestmatch join: its arguments are the
            values of a pair, then those of another, and it gives a number above 0 where the first
            is better, 0 where both are as good, one below 0 where the first is worse, and NULL
            where neither is.
    """

    name: str
    body: Callable[..., Any]
    arguments: tuple[str, ...] | None
    returns: str
    is_vectorized: bool = True
    is_partial_order: bool = False
