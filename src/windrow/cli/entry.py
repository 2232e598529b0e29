"""Where the `windrow` command begins and ends: what an interrupt does before and after it runs.

Little is imported before `main`: an interrupt while the rest is loaded is an interrupt as well.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"""What shells give for a program that Ctrl-C has ended."""


def main() -> None:
    """The entry of the `windrow` command."""
    code: object = 0
    try:
        from windrow.cli.main import app

        app()
    except SystemExit as ending:
        code = ending.code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    _leave(code)


def _leave(code: object) -> None:
    """Ends the process; at once, where a thread that reads a stream cannot be ended."""
    inlets = sys.modules.get("windrow.run.local.inlets")
    if inlets is not None and not inlets.end_readers():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
    sys.exit(code)  # type: ignore[arg-type]
