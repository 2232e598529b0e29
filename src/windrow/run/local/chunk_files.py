"""Chunks of a run's checkpoints, in files that are only ever appended to.

    chunks-00000007.bin   [ 12 ][ 13 ][  15  ][ 14 ]...      by number, in any order
                            x     .      .      x            x: no checkpoint refers to it any more

A step appends its new chunks and waits once until the disk has them. A file of which more than half is of
no use is emptied: what is still needed of it is appended to the newest, so that files hold at most about
twice what checkpoints need. After a restart a new file is begun: what a process that was killed has left
at the end of the last one is of no use to anybody.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 16 << 20
"""Of a file, before the next one is begun: emptying one takes some milliseconds."""


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
        self.spots = spots
        self._opened: BinaryIO | None = None
        there = {own: own.stat().st_size for own in folder.glob("chunks-*.bin")}
        self._sizes = {_number(path): size for path, size in there.items()}
        self._next = max(self._sizes, default=0) + 1
        self.remove_unused()

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

    def append(self, blobs: Iterable[tuple[int, bytes | memoryview]]) -> dict[int, Spot]:
        """Writes chunks, durably when this returns: where they lie.

        Raises:
            OSError: the disk is full, or the like; nothing that lies there is touched.
        """
        found: dict[int, Spot] = {}
        try:
            for number, blob in blobs:
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

    def scattered(self, kept: Iterable[int]) -> list[int]:
        """The chunks of a file that is to be emptied; none where all files are well filled."""
        needed: dict[int, list[int]] = {}
        for number in kept:
            spot = self.spots.get(number)
            if spot is not None:
                needed.setdefault(spot.file, []).append(number)
        for file, numbers in needed.items():
            of_use = sum(self.spots[number].length for number in numbers)
            if file != self._next - 1 and 2 * of_use < self._sizes[file]:
                return numbers
        return []

    def remove_unused(self) -> None:
        """Removes files that no chunk is in."""
        used = {spot.file for spot in self.spots.values()}
        if self._opened is not None:
            used.add(self._next - 1)
        for file in self._sizes.keys() - used:
            self._path(file).unlink(missing_ok=True)
            del self._sizes[file]

    def _newest(self) -> BinaryIO:
        if self._opened is not None and self._sizes[self._next - 1] >= MOST_BYTES:
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
