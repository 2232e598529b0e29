"""What the shell sees when something goes wrong: a text and an exit code, never a traceback.

2   the user can mend it: an error of Windrow's, one that Spark carries out of a worker, or a system
    that does not let us read or write
1   nobody expected it: asks for a report; `--debug` shows the traceback
130 interrupted
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from windrow.cli.entry import INTERRUPTED
from windrow.errors import ResourceError, WindrowError, text_inside
from windrow.run.terminal import Terminal

USER_ERROR = 2
UNEXPECTED = 1

_REFUSALS = {
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE,
}  # fmt: skip


@contextmanager
def reported(stderr: Terminal, *, debug: bool) -> Iterator[None]:
    """Turns every exception inside into its text and exit code."""
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        stderr.say("interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except Exception as error:
        if debug:
            stderr.say(traceback.format_exc())
        raise typer.Exit(_report(stderr, error)) from error


def _report(stderr: Terminal, error: Exception) -> int:
    if isinstance(error, OSError) and error.errno in _REFUSALS:
        error = _refused_by_system(error)
    ours = str(error) if isinstance(error, WindrowError) else text_inside(str(error))
    if ours:
        stderr.say(ours)
        return USER_ERROR
    lines = (line.strip() for line in str(error).splitlines() if line.strip())
    stderr.say(f"{type(error).__name__}: {next(lines, 'no message')}")
    stderr.say("  Windrow did not expect this; a report with the job would help")
    stderr.say("  hint: --debug shows where it happened")
    return UNEXPECTED


def _refused_by_system(error: OSError) -> ResourceError:
    place = "" if error.filename is None else f" {str(error.filename)!r}"
    return ResourceError(
        "system-refuses",
        f"the system does not let Windrow read or write{place}",
        reason=error.strerror or str(error),
        hint="make room, or name paths that you may read and write",
    )
