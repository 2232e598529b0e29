"""Adding to Windrow from another package: one function for each kind of thing.

    import windrow.extend

    windrow.extend.algorithm("mine", windrow.extend.Algorithm(..))
    windrow.extend.command("replay", "my_package.replay:app")

A package that calls these in a module of its own names that module as an entry point, and users
need not import it:

    [project.entry-points."windrow.plugins"]
    my_package = "my_package.plugin"

Code is named by import path, so that it is loaded only where it runs. The classes to build on are here too:
`Node` and `SameColumns` for a logical node, `PhysicalNode` and `OneInput` for a physical one, `Operator` with
`ChangeBatch` and `ChunkBuffer` for an operator, `PlainValues` for the state of an aggregate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from windrow.io import Connector, Sink, Source
from windrow.io.protocol import CONNECTORS
from windrow.physical.algorithms import (
    ALGORITHMS,
    ARRIVAL,
    ARRIVAL_JOIN,
    BY_WINDOWS,
    HASH,
    NESTED_LOOP,
    PIPELINE,
    SWEEP,
    SWEEP_JOIN,
    Algorithm,
)
from windrow.physical.nodes.base import PhysicalNode, Request
from windrow.physical.nodes.shapes import OneInput
from windrow.physical.partitioning.buckets import Single
from windrow.plan.aggregates import add_aggregate
from windrow.plan.aggregates.arguments import NUMBERS
from windrow.plan.aggregates.function import AggregateFunction, Kept
from windrow.plan.functions import ORDERS, TABLE_FUNCTIONS, TableFunction, UserFunction
from windrow.plan.nodes.base import Node, SameColumns
from windrow.registry import Registry, load
from windrow.schema import MAX_TICK, MIN_TICK, Schema

if TYPE_CHECKING:
    from windrow.operators.accumulators.plain import PlainValues
    from windrow.operators.columns.changes import ChangeBatch
    from windrow.operators.columns.chunks import ChunkBuffer
    from windrow.operators.engine.base import Operator, Snapshot

__all__ = [
    "ARRIVAL", "ARRIVAL_JOIN", "BY_WINDOWS", "COMMANDS", "HASH", "MAX_TICK", "MIN_TICK",
    "NESTED_LOOP", "NUMBERS", "PIPELINE", "SWEEP", "SWEEP_JOIN", "AggregateFunction",
    "Algorithm", "ChangeBatch", "ChunkBuffer", "Connector", "Kept", "Node", "OneInput",
    "Operator", "PhysicalNode", "PlainValues", "Request", "SameColumns", "Schema", "Single",
    "Sink", "Snapshot", "Source", "TableFunction", "aggregate", "algorithm", "command",
    "connector", "order", "table_function",
]  # fmt: skip

_OPERATORS = {
    "ChangeBatch": "windrow.operators.columns.changes:ChangeBatch",
    "ChunkBuffer": "windrow.operators.columns.chunks:ChunkBuffer",
    "Operator": "windrow.operators.engine.base:Operator",
    "PlainValues": "windrow.operators.accumulators.plain:PlainValues",
    "Snapshot": "windrow.operators.engine.base:Snapshot",
}
"""Classes that touch rows: loaded when they are first used, since planning does not need them."""


def __getattr__(name: str) -> object:
    if name not in _OPERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(_OPERATORS[name])


COMMANDS: Registry[str] = Registry(
    "command", in_papers=("cost", "experiment"), taken=("run", "explain", "demo")
)
"""Commands that packages have added to `windrow`: where the Typer application of each is."""


def order(
    name: str, body: Callable[..., Any], *, returns: str = "double", partial: bool = False
) -> None:
    """Adds an order of bestmatch joins: `ON l.x name r.y`.

    Args:
        name: the word between both sides.
        body: takes the left and the right values as Arrow arrays and gives a number for each pair; less
            is better. For a partial order it takes the left and right values of some pairs, then those
            of as many others, and gives 1 if the first pair is better, -1 if it is worse, 0 if both are
            equally good, NULL if they cannot be compared.
        returns: the Spark type of the number.
        partial: whether it is a partial order.
    """
    own = name.lower()
    ORDERS.add(own, UserFunction(own, body, None, returns, is_partial_order=partial))


def table_function(name: str, function: TableFunction) -> None:
    """Adds a function that stands in FROM: `FROM name(stream, 5) alias`.

    Args:
        name: what queries call it.
        function: makes the node of its rows, a `windrow.plan.nodes.base.Node`. That says where its
            physical node is made, and the physical node which operator computes it.
    """
    TABLE_FUNCTIONS.add(name.lower(), function)


def connector(name: str, place: str) -> None:
    """Adds a connector that job files may name: `[streams.orders] name = ".."`, or `[sink]`.

    In Python this is not needed: `stream` and `run` take any `Source`, `Sink` or `Connector`.

    Args:
        name: what job files call it.
        place: its class, a `Connector`, as `module:name`.
    """
    CONNECTORS.add(name.lower(), place)


def algorithm(name: str, what: Algorithm) -> None:
    """Adds an algorithm of window joins, for the option `algorithm`.

    It runs only if a query asks for it. Its state is the same as of every other algorithm, so a query may
    be resumed with another one.

    Args:
        name: the value of the option.
        what: its properties, with its operator and machine by import path.
    """
    ALGORITHMS.add(name, what)


def command(name: str, app: str) -> None:
    """Adds a command to the command line, `windrow name ..`.

    Args:
        name: the command.
        app: its Typer application as `module:name`, or a command made of one by
            `typer.main.get_command`. It is loaded when the command is used or listed.
    """
    COMMANDS.add(name, app)


def aggregate(function: AggregateFunction) -> None:
    """Adds an aggregate that queries may call, in process and on Spark.

    Args:
        function: its names, what it takes and gives, and the accumulator that computes it. On Spark
            workers import the accumulator: it must be installed where they are.

    Raises:
        PlanError: one of its names is taken, or nothing computes it.

    Examples:
        >>> aggregate(
        ...     AggregateFunction(
        ...         "geometric_mean",
        ...         takes=(NUMBERS,),
        ...         says="`DOUBLE`",
        ...         accumulator="my_package.means:GeometricMean",
        ...         gives="double",
        ...     )
        ... )  # doctest: +SKIP
    """
    add_aggregate(function)
