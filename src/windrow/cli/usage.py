"""The commands that there are, and what is wrong with a command line, said in text alone."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from windrow.cli.failures import reported
from windrow.extend import COMMANDS
from windrow.registry import load
from windrow.run.terminal import Terminal, visible_line

_UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What every mistake of a command line is; typer brings it under no name of its own."""


class Commands(TyperGroup):
    """Commands whose messages show what was written as it was: they are printed by typer."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Reads the words before the command."""
        try:
            return super().make_context(*args, **more)
        except _UsageError as error:
            raise _shown(error) from None

    def invoke(self, ctx: Any) -> Any:
        """Reads the rest, and does what it says."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            raise _shown(error) from None


class AllCommands(Commands):
    """Windrow's own commands, and those that other packages have added.

    The latter are loaded when a command is asked for that is none of ours, or when all are.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; None for none."""
        if cmd_name not in self.commands:
            with reported(Terminal(stderr=True), debug=False):
                self._add_others()
                COMMANDS.check_installed(cmd_name)
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        with reported(Terminal(stderr=True), debug=False):
            self._add_others()
        return super().list_commands(ctx)

    def _add_others(self) -> None:
        for name, place in COMMANDS.items():
            if name not in self.commands:
                command = typer.main.get_group(load(place))
                command.name = name
                self.add_command(command)


def _shown(error: Any) -> Any:
    error.message = visible_line(str(error.message))
    return error
