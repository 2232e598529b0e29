"""What is wrong with a command line, said in text alone."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from windrow.run.terminal import visible_line

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


def _shown(error: Any) -> Any:
    error.message = visible_line(str(error.message))
    return error
