"""What can be wrong with a job, and what the shell sees: a text and an exit code, never a traceback.

2   the user can mend it: an error of Windrow's, one that Spark carries out of a worker, or a system
    that does not let us read or write
1   nobody expected it: asks for a report; `--debug` shows the traceback
130 interrupted
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Self

import typer

from windrow.cli.entry import INTERRUPTED
from windrow.errors import ResourceError, WindrowError, nearest, text_inside
from windrow.run.terminal import Terminal


class JobError(WindrowError, ValueError):
    """A job file, or what it names, does not fit; its author acts."""

    @classmethod
    def unknown_key(cls, where: str, key: str, known: Iterable[str], *, is_top: bool) -> Self:
        """A key that no job has; often a top-level one that slipped into a table."""
        hint = f"known here: {nearest(key, known)}"
        if is_top:
            hint = f"{key} belongs above the first [table] of the file"
        return cls("unknown-key", f"{where} has no key {key!r}", hint=hint)

    @classmethod
    def missing_key(cls, where: str, key: str, example: str) -> Self:
        """A key that every job needs."""
        return cls(
            "missing-key", f"{where} does not say its {key}", hint=f"for instance  {example}"
        )

    @classmethod
    def wrong_type(cls, where: str, key: str, value: object, wanted: str) -> Self:
        """A value of the wrong kind."""
        return cls("wrong-value", f"{key} of {where} is {value!r}", hint=f"it must be {wanted}")

    @classmethod
    def unreadable(cls, what: str, path: str, problem: str) -> Self:
        """A data file that is not what its format says."""
        return cls(
            "unreadable-data",
            f"{what} cannot read {path!r}",
            reason=problem,
            hint="check its format and schema",
        )

    @classmethod
    def sink_exists(cls, path: str) -> Self:
        """A batch answer would mix with what lies there."""
        return cls(
            "sink-not-empty",
            f"the sink {path!r} already holds files",
            hint="empty it, choose another path, or set  overwrite = true  in [sink]",
        )

    @classmethod
    def sink_not_writable(cls, path: str, problem: str) -> Self:
        """A sink where no folder can be made."""
        return cls(
            "sink-not-writable",
            f"the sink {path!r} cannot be written",
            reason=problem,
            hint="choose a path that is free, or a folder that you may write to",
        )


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
