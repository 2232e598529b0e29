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
    """

    name: str
    body: Callable[..., Any]
    arguments: tuple[str, ...] | None
    returns: str
    is_vectorized: bool = True
