"""Adding to Windrow from another package: one function for each kind of thing.

    import windrow.extend

    windrow.extend.command("replay", "my_package.replay:app")

A package that calls these in a module of its own names that module as an entry point, and users
need not import it:

    [project.entry-points."windrow.plugins"]
    my_package = "my_package.plugin"

What is added is named by import path wherever it is code, so that it is loaded where it runs.
"""

from __future__ import annotations

from windrow.registry import Registry

COMMANDS: Registry[str] = Registry("command", in_papers=("experiment",))
"""The commands that others have added to `windrow`: where the Typer application of each is."""


def command(name: str, app: str) -> None:
    """Adds a command to the command line, `windrow name ..`.

    Args:
        name: the command.
        app: where its Typer application is, as `module:name`. It is loaded when the command is used,
            or shown in a list.
    """
    COMMANDS.add(name, app)
