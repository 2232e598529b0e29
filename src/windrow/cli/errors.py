"""What can be wrong with a job, and what the shell sees: a text and an exit code, never a traceback.

2   the user can mend it: an error of Windrow's, one that Spark carries out of a worker, or a system
    that does not let us read or write
1   nobody expected it: asks for a report; `--debug` shows the traceback
130 interrupted
141 who reads the output has gone, as in `windrow .. | head`: nothing is said
"""

from __future__ import annotations

import errno
import os
import select
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Self

import typer

from windrow.cli.entry import INTERRUPTED, UNREAD
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
        with _with_text(stderr, debug=debug):
            yield
    except BrokenPipeError as error:
        if not _drop_unread():
            raise
        raise typer.Exit(UNREAD) from error


@contextmanager
def _with_text(stderr: Terminal, *, debug: bool) -> Iterator[None]:
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        stderr.say("interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except Exception as error:
        if isinstance(error, BrokenPipeError) and any(map(_is_unread, _shown())):
            raise
        if debug:
            stderr.say(traceback.format_exc())
        raise typer.Exit(_report(stderr, error)) from error


def _shown() -> list[IO[str]]:
    return [stream for stream in (sys.stdout, sys.stderr) if stream is not None]


def _is_unread(stream: IO[str]) -> bool:
    """Whether it is a pipe that nobody reads any more: pipes to others may break as well."""
    try:
        number = stream.fileno()
    except (OSError, ValueError):
        return False
    watched = select.poll()
    watched.register(number, 0)
    return any(seen & select.POLLERR for _, seen in watched.poll(0))


def _drop_unread() -> bool:
    """Has what nobody reads go nowhere, what still waits to be written too; whether there is any."""
    unread = [stream for stream in _shown() if _is_unread(stream)]
    for stream in unread:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    return bool(unread)


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
