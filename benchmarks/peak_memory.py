"""The most memory that Spark's Python workers had at one time, sampled while a query runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path

EVERY_S = 0.25


class PeakMemory:
    """Samples the resident memory of all Python workers below this process (Linux)."""

    def __init__(self) -> None:
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> int:
        """Ends the sampling; gives the peak in MiB."""
        self._ended.set()
        self._thread.join()
        return self._peak >> 20

    def _sample(self) -> None:
        while not self._ended.wait(EVERY_S):
            self._peak = max(self._peak, sum(map(_resident, _workers())))


def _workers() -> list[Path]:
    """The processes that descend from this one and run PySpark's worker code."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            parents.setdefault(_parent(folder), []).append(int(folder.name))
    below, found = [os.getpid()], []
    while below:
        process = below.pop()
        below += parents.get(process, [])
        if process != os.getpid() and "pyspark.daemon" in _command(process):
            found.append(Path("/proc") / str(process))
    return found


def _parent(folder: Path) -> int:
    try:
        return int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return -1


def _command(process: int) -> str:
    try:
        return (Path("/proc") / str(process) / "cmdline").read_text()
    except OSError:
        return ""


def _resident(folder: Path) -> int:
    """Bytes of the process's own: shared and mapped file pages are not counted."""
    try:
        status = (folder / "status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    return 0
