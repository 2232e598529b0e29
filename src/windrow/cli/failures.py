"""What the shell sees of a run beside its progress: notes, errors as a text and an exit code, never a traceback.

2   the user can mend it: an error of Windrow's, one that Spark carries out of a worker, or a system
    that does not let us read or write
1   nobody expected it: asks for a report; `--debug` shows the traceback
130 interrupted
"""

from __future__ import annotations

import errno
import json
import os
import re
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from windrow.cli.entry import INTERRUPTED
from windrow.cli.files import Found
from windrow.errors import ResourceError, WindrowError
from windrow.run.progress import Progress
from windrow.run.terminal import Terminal, visible_line

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


def text_inside(message: str) -> str:
    """The text of a Windrow error that another exception's message carries; "" for none.

    Spark wraps what a worker raises: our first line may stand anywhere in the message, and the
    lines that belong to it are indented. The plan that Spark prints below is not searched: it shows
    texts that a query would raise, whatever has happened.
    """
    message = message.partition("=== Streaming Query ===")[0]
    names = "|".join(sorted(_names(WindrowError)))
    found = re.search(rf"(?:{names})\[[a-z0-9-]+\]: .*(?:\n(?: {{2,}}| *\d+ \| ).*)*", message)
    return found[0].rstrip() if found else ""


def _names(kind: type[WindrowError]) -> set[str]:
    return {kind.__name__}.union(*(_names(child) for child in kind.__subclasses__()))


MOST_NAMES = 3
"""Names that a note gives before it only counts."""


@dataclass(frozen=True)
class Notes:
    """Texts on a terminal; JSON lines where progress is.

    With `none` as the way to show progress the last line is left out, and no note.
    """

    stderr: Terminal
    progress: str

    def say(self, text: str) -> None:
        """Says one line."""
        self.stderr.say(json.dumps({"note": text}) if self.progress == "json" else text)

    def left_out(self, what: str, path: str, found: Found) -> None:
        """Says which files of a folder are not read."""
        for names, why in ((found.left_out, "of another format"), (found.empty, "empty")):
            if names:
                folder = path if Path(path).is_dir() else Path(path).parent
                inside = [os.path.relpath(name, folder) for name in names]
                files = "1 file that is" if len(names) == 1 else f"{len(names):,} files that are"
                self.say(f"{what} leaves out {files} {why} in {path!r}: {some(inside)}")

    def kept(self, names: Sequence[str]) -> None:
        """Says what stays in the folder of a sink beside the answer."""
        if names:
            self.say(f"kept in the sink, where Windrow did not write it: {some(names)}")

    def done(self, figures: Progress | None) -> None:
        """Says at the end of a run what has been read, answered and dropped."""
        if figures is None or self.progress == "none":
            return
        if self.progress == "json":
            self.stderr.say(json.dumps({"done": True, **figures.totals()}))
        else:
            self.stderr.say(closing(figures))


def closing(figures: Progress) -> str:
    """The last line of a run."""
    parts = [f"{figures.rows_in:,} rows read", f"{figures.rows_out:,} rows of the answer"]
    late = {name: own.late for name, own in figures.streams.items() if own.late}
    by_stream = ", ".join(f"{name} {rows:,}" for name, rows in late.items())
    parts.append(f"{figures.late:,} late" + (f" ({by_stream})" if late else ""))
    if figures.null_time:
        parts.append(f"{figures.null_time:,} without a time")
    return f"done: {', '.join(parts)}"


def some(names: Sequence[str]) -> str:
    """The first few of many names, and how many there are."""
    shown = ", ".join(visible_line(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown}, and {len(names) - MOST_NAMES:,} more"
