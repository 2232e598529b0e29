"""What others add to the language: functions called by name or in FROM, orders of bestmatch joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from windrow.registry import Registry

if TYPE_CHECKING:
    from windrow.plan.nodes.base import Node


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
        is_partial_order: whether it compares pairs of a bestmatch join, as `Session.function` says;
            any number above 0 will do for better, and any below 0 for worse.
    """

    name: str
    body: Callable[..., Any]
    arguments: tuple[str, ...] | None
    returns: str
    is_vectorized: bool = True
    is_partial_order: bool = False


@dataclass(frozen=True)
class FunctionKinds:
    """The functions of an engine that are more than a value of their arguments, in lower case.

    Attributes:
        version: the engine's.
        aggregates: a value of many rows.
        windows: a value of a row among others; meant for OVER.
        row_makers: many rows of one.
        volatile: another value at another time, or at each call, of the same arguments.
    """

    version: str
    aggregates: frozenset[str]
    windows: frozenset[str]
    row_makers: frozenset[str]
    volatile: frozenset[str]


Constant: TypeAlias = str | int | float | bool | None

BUILT_IN_ORDERS = ("mindist", "subset", "youngest")

ORDERS: Registry[UserFunction] = Registry("order", taken=BUILT_IN_ORDERS)
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
