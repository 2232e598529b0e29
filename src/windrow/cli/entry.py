"""Where the `windrow` command begins and ends: what an interrupt does before and after it runs.

Little is imported before `main`: an interrupt while the rest is loaded is an interrupt as well. What
comes after the end changes nothing: Python gives its handlers back before it has ended, and would be
killed by the signal.
"""

from __future__ import annotations

import os
import signal
import sys

INTERRUPTED = 130
"""What shells give for a program that Ctrl-C has ended."""

UNREAD = 141
"""What shells give for a program that has ended because nobody reads its output any more."""


def main() -> None:
    """The entry of the `windrow` command."""
    code: object = INTERRUPTED
    is_quiet = False
    try:
        code = _run()
        is_quiet = _end_readers()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        is_quiet = _end_readers()
    if not is_quiet:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)
    sys.exit(code)  # type: ignore[arg-type]


def _run() -> object:
    """Runs the command; its exit code."""
    try:
        from windrow.cli.main import app

        app()
    except SystemExit as ending:
        return 0 if ending.code is None else ending.code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return 0


def _end_readers() -> bool:
    """Ends the threads that read streams; whether none is left, with which Python cannot end."""
    inlets = sys.modules.get("windrow.run.local.inlets")
    return inlets is None or inlets.end_readers()
