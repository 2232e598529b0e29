"""Which run writes to a folder: the one that has opened it last.

    epochs/RUN/owner.json     a name that the run has drawn, and since when
    epochs/RUN/lock           held while a run opens the folder, or commits

A run that is opened puts its name there. A commit looks for its own first, and nobody can put another one
there until it is done. Where files are not this machine's there is no such lock: the look comes right before
the commit, not with it.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pyarrow.fs as pafs

from windrow.io.file_systems import is_local, put_file
from windrow.io.protocol import taken_over

_FILE = "owner.json"
_LOCK = "lock"


class FolderOwner:
    """Says whether a run still has the folder.

    Args:
        system: the file system.
        folder: where the epochs of the run are.
        name: that this run has drawn; empty before it is opened.
    """

    def __init__(self, system: pafs.FileSystem, folder: str, name: str = "") -> None:
        self._system = system
        self._folder = folder
        self.name = name

    @contextmanager
    def taking(self) -> Iterator[None]:
        """Takes the folder, from whoever had it."""
        with self._locked():
            self.name = uuid.uuid4().hex
            told = {"owner": self.name, "since": datetime.now(UTC).isoformat()}
            put_file(self._system, f"{self._folder}/{_FILE}", json.dumps(told).encode())
            yield

    @contextmanager
    def holding(self, target: str) -> Iterator[None]:
        """Nobody takes the folder meanwhile.

        Raises:
            ResourceError: somebody has.
        """
        with self._locked():
            with self._system.open_input_file(f"{self._folder}/{_FILE}") as file:
                told = json.loads(file.read())
            if told["owner"] != self.name:
                raise taken_over(target, datetime.fromisoformat(told["since"]))
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if not is_local(self._system):
            yield
            return
        handle = os.open(f"{self._folder}/{_LOCK}", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(handle)
            yield
        finally:
            os.close(handle)


def _lock(handle: int) -> None:
    """Waits for the lock, where the system and the file system know such."""
    try:
        import fcntl  # noqa: PLC0415  # not on every system

        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ModuleNotFoundError, OSError):
        return
