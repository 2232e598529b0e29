"""What others may add to the language: orders of bestmatch joins, and functions in FROM."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from windrow.plan.functions import UserFunction
from windrow.plan.nodes.base import Node
from windrow.registry import Registry

Constant: TypeAlias = str | int | float | bool | None

ORDERS: Registry[UserFunction] = Registry("order")
"""Orders of dimensions of bestmatch joins, by the name that stands between both sides."""


@dataclass(frozen=True)
class TableFunction:
    """A function in FROM: `FROM name(stream, 5, 'x') alias`.

    Attributes:
        make: gives the relation, a node over the rows of the stream. It is called with the node of
            these rows, the alias, and the constants; the columns of its rows are to be called
            `alias.column`. What it refuses it refuses by a WindrowError.
        usage: how it is written, for errors: "name(stream, how many)".
    """

    make: Callable[[Node, str, tuple[Constant, ...]], Node]
    usage: str


TABLE_FUNCTIONS: Registry[TableFunction] = Registry("table function")
"""Functions in FROM, by name."""
