"""Chunks of a run's checkpoints, in files that are only ever appended to.

    chunks-00000007.bin   [ 12 ][ 13 ][  15  ][ 14 ]...      by number, in any order
                            x     .      .      x            x: no checkpoint refers to it any more

A step appends its new chunks and waits once until the disk has them. A file goes with the last chunk in
it that is needed. Where the files together hold more than twice what is needed, and `SPARE_BYTES`, the one
that is needed least is emptied: what is needed of it is appended to the newest, a part of it in each step,
so that no step costs much more than another. After a restart a new file is begun: what a process that was
killed has left at the end of the last one is of no use to anybody.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

LEAST_BYTES = 1 << 20
MOST_BYTES = 16 << 20
"""Of a file, before the next one is begun: a quarter of what is needed, between these two. Windows forget
in the order in which they have come to know, so a file or two is partly of no use at any time."""

SPARE_BYTES = 4 << 20
"""That files may hold beyond twice what is needed."""

MOVED_BYTES = 1 << 20
"""That a step may move, if it is more than the step writes."""


@dataclass(frozen=True)
class Spot:
    """Where a chunk lies, and the checksum of its bytes."""

    file: int
    at: int
    length: int
    checksum: int


class ChunkFiles:
    """The files of one folder, written by one process.

    Args:
        folder: where they are.
        spots: where the chunks lie that are still needed, by their numbers.
        damaged: makes the error of a chunk that is not what was written.
    """

    def __init__(
        self, folder: Path, spots: dict[int, Spot], damaged: Callable[[str], Exception]
    ) -> None:
        self._folder = folder
        self._damaged = damaged
        self.spots: dict[int, Spot] = {}
        self._inside: dict[int, dict[int, int]] = {}  # per file, the bytes of each chunk needed
        self._needed: Counter[int] = Counter()  # per file, the bytes of all of them
        self._opened: BinaryIO | None = None
        there = {own: own.stat().st_size for own in folder.glob("chunks-*.bin")}
        self._sizes = {_number(path): size for path, size in there.items()}
        self._next = max((*self._sizes, *(own.file for own in spots.values())), default=0) + 1
        self.took(spots, ())

    def read(self, number: int) -> bytes:
        """The bytes of a chunk."""
        spot = self.spots[number]
        try:
            with self._path(spot.file).open("rb") as file:
                file.seek(spot.at)
                blob = file.read(spot.length)
        except FileNotFoundError:
            raise self._damaged(f"{self._path(spot.file).name} is gone") from None
        if len(blob) != spot.length or zlib.crc32(blob) != spot.checksum:
            raise self._damaged(f"chunk {number} is not what was written")
        return blob

    def append(self, blobs: Mapping[int, bytes | memoryview]) -> dict[int, Spot]:
        """Writes chunks, durably when this returns: where they lie.

        Raises:
            OSError: the disk is full, or the like; nothing that lies there is touched.
        """
        found: dict[int, Spot] = {}
        try:
            for number, blob in blobs.items():
                file = self._newest()
                at = self._sizes[self._next - 1]
                _write_all(file, blob)
                self._sizes[self._next - 1] = at + len(blob)
                found[number] = Spot(self._next - 1, at, len(blob), zlib.crc32(blob))
            if found and self._opened is not None:
                os.fdatasync(self._opened.fileno())
        except OSError:
            self.close()
            raise
        return found

    def scattered(self, gone: Collection[int], written: int) -> dict[int, bytes]:
        """Chunks that are to be moved now, so that files stay within their bound.

        Args:
            gone: chunks that are not needed any more.
            written: bytes that are written anew in this step.
        """
        if sum(self._sizes.values()) <= 2 * self._needed.total() + SPARE_BYTES:
            return {}
        file = min(
            (own for own in self._sizes if own != self._next - 1 or self._opened is None),
            key=lambda own: self._needed[own] / max(self._sizes[own], 1),
            default=None,
        )
        most, found = max(MOVED_BYTES, written), dict[int, bytes]()
        for number, length in self._inside.get(file or 0, {}).items():
            if number in gone:
                continue
            found[number] = self.read(number)
            most -= length
            if most <= 0:
                break
        return found

    def took(self, spots: Mapping[int, Spot], gone: Collection[int]) -> None:
        """The step is made: chunks lie there, others are gone, and so are files that no chunk is in."""
        for number in (*spots, *gone):
            old = self.spots.pop(number, None)
            if old is not None:
                self._needed[old.file] -= self._inside[old.file].pop(number)
        for number in spots.keys() - set(gone):
            own = self.spots[number] = spots[number]
            self._inside.setdefault(own.file, {})[number] = own.length
            self._needed[own.file] += own.length
        for file in list(self._sizes):
            is_newest = self._opened is not None and file == self._next - 1
            if not self._inside.get(file) and not is_newest:
                self._path(file).unlink(missing_ok=True)
                del self._sizes[file]

    def _newest(self) -> BinaryIO:
        most = min(max(LEAST_BYTES, self._needed.total() // 4), MOST_BYTES)
        if self._opened is not None and self._sizes[self._next - 1] >= most:
            os.fdatasync(self._opened.fileno())
            self.close()
        if self._opened is None:
            self._opened = self._path(self._next).open("xb", buffering=0)
            self._sizes[self._next] = 0
            self._next += 1
            sync_folder(self._folder)
        return self._opened

    def close(self) -> None:
        """Closes the newest file; the next chunks go to another."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _path(self, file: int) -> Path:
        return self._folder / f"chunks-{file:08d}.bin"


def _write_all(file: BinaryIO, blob: bytes | memoryview) -> None:
    """Writes all of it: a disk that is nearly full takes a part, and says so the next time."""
    left = memoryview(blob)
    while left:
        left = left[file.write(left) :]


def _number(path: Path) -> int:
    return int(path.stem.removeprefix("chunks-"))


def sync_folder(folder: Path) -> None:
    """Waits until the disk knows the names in a folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
