"""Rows picked out of several chunks at once.

A place is one number: the chunk's position in a list, then the row within it.

    place = chunk << 32 | row

Gathering costs what is gathered: each chunk that occurs gives its rows by one `take`, and the
chunks as a whole are never joined.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1

Numbers = NDArray[np.int64]
Item = TypeVar("Item", bound=np.generic)


class Places:
    """Rows of a list of chunks, in any order, some perhaps several times."""

    def __init__(self, places: Numbers) -> None:
        self._chunks = (places >> ROW_BITS).astype(np.int16)
        self._rows = places & ROW_MASK

    def __len__(self) -> int:
        return len(self._rows)

    def columns(self, chunk: Callable[[int], pa.RecordBatch]) -> pa.RecordBatch:
        """The rows at these places; `chunk` gives the columns of a chunk, at least one."""
        taken = [chunk(at).take(pa.array(rows)) for at, rows in self._runs]
        whole = taken[0] if len(taken) == 1 else pa.concat_batches(taken)
        return whole if self._order is None else whole.take(pa.array(self._back))

    def numbers(self, chunk: Callable[[int], NDArray[Item]]) -> NDArray[Item]:
        """The numbers at these places; `chunk` gives those of a chunk."""
        return self.computed(lambda at, rows: chunk(at)[rows])

    def computed(self, of: Callable[[int, Numbers], NDArray[Item]]) -> NDArray[Item]:
        """What `of` gives for each place, told a chunk and rows of it."""
        taken = [of(at, rows) for at, rows in self._runs]
        whole = taken[0] if len(taken) == 1 else np.concatenate(taken)
        return whole if self._order is None else whole[self._back]

    @cached_property
    def _order(self) -> Numbers | None:
        """What brings the places into the order of their chunks; None if they are."""
        if bool(np.all(self._chunks[:-1] <= self._chunks[1:])):
            return None
        return np.argsort(self._chunks, kind="stable")  # 16-bit numbers: a radix sort

    @cached_property
    def _back(self) -> Numbers:
        assert self._order is not None
        back = np.empty_like(self._order)
        back[self._order] = np.arange(len(back))
        return back

    @cached_property
    def _runs(self) -> list[tuple[int, Numbers]]:
        """Each chunk that occurs, with the rows taken from it."""
        chunks, rows = self._chunks, self._rows
        if self._order is not None:
            chunks, rows = chunks[self._order], rows[self._order]
        cuts = np.flatnonzero(chunks[1:] != chunks[:-1]) + 1
        starts, stops = [0, *cuts.tolist()], [*cuts.tolist(), len(rows)]
        return [
            (int(chunks[start]), rows[start:stop])
            for start, stop in zip(starts, stops, strict=True)
        ]
