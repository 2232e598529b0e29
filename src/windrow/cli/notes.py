"""What a run of a job says on stderr beside its progress: what it leaves alone, and its last line."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.cli.files import FoundFiles
from windrow.run.progress import Progress
from windrow.run.terminal import Terminal, visible_line

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

    def left_out(self, what: str, path: str, found: FoundFiles) -> None:
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
