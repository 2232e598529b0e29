"""Chunks on disk: the same chunk, read by memory mapping.

A chunk never changes, so that moving it to disk changes nothing but where its bytes are. All of it
goes, with what algorithms derived from it (an index is as large as the rows), into one file without
a name, which the system removes with the last reference, whatever happens to the process:

    file   [ array ][ array ][ array ] ...        each at a multiple of 64 bytes
    chunk  the same arrays, over the mapped file

Pickle's out-of-band buffers find the arrays: Arrow's and numpy's alike.
"""

from __future__ import annotations

import mmap
import pickle
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

ALIGNMENT = 64
"""Arrow wants its buffers so."""


def spilled(value: Any, folder: Path | None) -> Any:
    """The same value, its arrays in a file of the folder (None: where temporary files go).

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    buffers: list[pickle.PickleBuffer] = []
    structure = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    places = _places([len(view) for view in views])
    if not places or places[-1][1] == 0:
        return value
    with tempfile.TemporaryFile(dir=folder) as file:
        for (start, _), view in zip(places, views, strict=True):
            file.seek(start)
            file.write(view)
        file.flush()
        # Kernels take arrays that they may write to, though they never do: a private mapping is
        # writable, and its pages stay the file's as long as nobody writes.
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return pickle.loads(structure, buffers=[mapped[start:stop] for start, stop in places])


def _places(sizes: list[int]) -> list[tuple[int, int]]:
    """Where each array starts and stops in the file."""
    places, at = [], 0
    for size in sizes:
        places.append((at, at + size))
        at += -(-size // ALIGNMENT) * ALIGNMENT
    return places
