"""Adding to Windrow from another package: one function for each kind of thing.

    import windrow.extend

    windrow.extend.algorithm("mine", windrow.extend.Algorithm(..))
    windrow.extend.command("replay", "my_package.replay:app")

A package that calls these in a module of its own names that module as an entry point, and users
need not import it:

    [project.entry-points."windrow.plugins"]
    my_package = "my_package.plugin"

What is added is named by import path wherever it is code, so that it is loaded where it runs. What it
is made of is here too: `Node` and `SameColumns` for what is asked, `PhysicalNode` and `OneInput` for how it
is computed, `Operator` with `ChangeBatch` and `ChunkBuffer` for what does it, `PlainValues` for an
aggregate's state.
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
"""What touches rows, loaded when it is asked for: who plans has no need of it."""


def __getattr__(name: str) -> object:
    if name not in _OPERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(_OPERATORS[name])


COMMANDS: Registry[str] = Registry(
    "command", in_papers=("cost", "experiment"), taken=("run", "explain", "demo")
)
"""The commands that others have added to `windrow`: where the Typer application of each is."""


def order(
    name: str, body: Callable[..., Any], *, returns: str = "double", partial: bool = False
) -> None:
    """Adds an order of bestmatch joins: `ON l.x name r.y`.

    Args:
        name: what stands between both sides.
        body: takes the left and the right values as Arrow arrays and gives a number for each pair,
            less is better. Or, of a partial order, those of some pairs and of as many others: 1 where
            the first is better, -1 where it is worse, 0 where both are as good, NULL where neither is.
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
    """Adds a place outside that job files may name: `[streams.orders] name = ".."`, or `[sink]`.

    In Python none is needed: `stream` and `run` take any `Source`, `Sink` or `Connector`.

    Args:
        name: what job files call it.
        place: where its class is, a `Connector`, as `module:name`.
    """
    CONNECTORS.add(name.lower(), place)


def algorithm(name: str, what: Algorithm) -> None:
    """Adds an algorithm of window joins, for the option `algorithm`.

    Plans take it where a query asks for it. The state is that of any other algorithm, so that a query
    may go on by another one.

    Args:
        name: as the option names it.
        what: all that is to be known of it, its operator and machine by import path.
    """
    ALGORITHMS.add(name, what)


def command(name: str, app: str) -> None:
    """Adds a command to the command line, `windrow name ..`.

    Args:
        name: the command.
        app: where its Typer application is, as `module:name`, or one command that
            `typer.main.get_command` has made of one. It is loaded when the command is used, or shown
            in a list.
    """
    COMMANDS.add(name, app)


def aggregate(function: AggregateFunction) -> None:
    """Adds an aggregate that queries may call, in process and on Spark.

    Args:
        function: its names, what it takes and gives, and the accumulator that computes it. On Spark
            workers import the accumulator: it must be installed where they are.

    Raises:
        PlanError: it has a name that is taken, or nothing that computes it.

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
