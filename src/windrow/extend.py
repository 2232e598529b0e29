"""Adding to Windrow from another package: one function for each kind of thing.

    import windrow.extend

    windrow.extend.algorithm("mine", windrow.extend.Algorithm(..))
    windrow.extend.command("replay", "my_package.replay:app")

A package that calls these in a module of its own names that module as an entry point, and users
need not import it:

    [project.entry-points."windrow.plugins"]
    my_package = "my_package.plugin"

What is added is named by import path wherever it is code, so that it is loaded where it runs.
"""

from __future__ import annotations

from windrow.physical.algorithms import ALGORITHMS, Algorithm
from windrow.registry import Registry

__all__ = ["COMMANDS", "Algorithm", "algorithm", "command"]

COMMANDS: Registry[str] = Registry("command", in_papers=("experiment",))
"""The commands that others have added to `windrow`: where the Typer application of each is."""


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
        app: where its Typer application is, as `module:name`. It is loaded when the command is used,
            or shown in a list.
    """
    COMMANDS.add(name, app)
