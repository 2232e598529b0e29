"""From the pairs that a bestmatch join found to the rows of its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from windrow.operators.columns.arrow_types import arrow_type
from windrow.operators.columns.changes import ChangeBatch
from windrow.schema import MAX_TICK, MIN_TICK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from windrow.operators.columns.chunks import ChunkSlice
    from windrow.physical.nodes.bestmatch import MatwinBestmatch
    from windrow.plan.nodes.bestmatch_join import Dimension

NOWHERE = -1
"""The place of the other row of a row that has none."""

Item = TypeVar("Item", bound=np.generic)


@dataclass(frozen=True)
class FoundPairs:
    """Pairs: `rows[i]` of the chunk of `slices[parts[i]]` for row `asked[i]`, by asked."""

    asked: NDArray[np.int64]
    parts: NDArray[np.int64]
    rows: NDArray[np.int64]

    def take(self, pairs: NDArray[np.int64]) -> FoundPairs:
        """Some of the pairs."""
        return FoundPairs(self.asked[pairs], self.parts[pairs], self.rows[pairs])


class RowBuilder:
    """Puts the rows of one join together, left columns first, whichever side was judged."""

    def __init__(self, node: MatwinBestmatch) -> None:
        self._keep = node.keep
        types = {
            field.name: arrow_type(field.type)
            for side in (node.left, node.right)
            for field in side.schema.fields
        }
        self._types = [[types[name] for name in kept] for kept in node.keep]

    def build(
        self,
        port: int,
        rows: ChangeBatch,
        slices: Sequence[ChunkSlice],
        found: FoundPairs,
        alone: NDArray[np.int64],
    ) -> ChangeBatch:
        """The pairs found for judged rows of `port`, and those that stand alone, by judged row.

        `slices` are the other input's window; rows alone have no candidate, and come with NULLs.
        """
        others = Gathered(slices, found)
        judged, places = found.asked, others.places
        if len(alone):
            judged = np.concatenate([judged, alone])
            places = np.concatenate([places, np.full(len(alone), NOWHERE)])
            order = np.argsort(judged, kind="stable")
            judged, places = judged[order], places[order]
        taken = pa.array(judged)
        own = [rows.columns.column(name).take(taken) for name in self._keep[port]]
        other = [
            others.column(name, kind, places)
            for name, kind in zip(self._keep[1 - port], self._types[1 - port], strict=True)
        ]
        columns = [*own, *other] if port == 0 else [*other, *own]
        ends = None
        if rows.ends is not None or others.has_ends:
            ends = np.minimum(rows.ends_or_never()[judged], others.ends(places))
        return ChangeBatch(
            pa.RecordBatch.from_arrays(columns, names=[*self._keep[0], *self._keep[1]]),
            np.maximum(rows.times[judged], others.times(places)),
            ends,
        )


class Gathered:
    """The other rows of the pairs found, gathered chunk by chunk.

    `places[i]` is where the other row of pair i stands among the rows gathered.
    """

    def __init__(self, slices: Sequence[ChunkSlice], found: FoundPairs) -> None:
        by_part = np.argsort(found.parts, kind="stable")
        self.places = np.empty(len(by_part), np.int64)
        self.places[by_part] = np.arange(len(by_part))
        self._pieces = [
            (slices[part].chunk.batch, found.rows[found.parts == part])
            for part in np.unique(found.parts)
        ]

    @property
    def has_ends(self) -> bool:
        """Whether some row has an end."""
        return any(batch.ends is not None for batch, _ in self._pieces)

    def column(self, name: str, kind: pa.DataType, places: NDArray[np.int64]) -> pa.Array:
        """The values of a column at the places, NULL where that is NOWHERE."""
        if not self._pieces:
            return pa.nulls(len(places), kind)
        pieces = [batch.columns.column(name).take(pa.array(rows)) for batch, rows in self._pieces]
        return pa.concat_arrays(pieces).take(pa.array(places, mask=places == NOWHERE))

    def times(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The event times at the places, the first tick where that is NOWHERE."""
        return self._at(lambda batch: batch.times, places, MIN_TICK)

    def ends(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ends at the places, never where that is NOWHERE."""
        return self._at(ChangeBatch.ends_or_never, places, MAX_TICK)

    def _at(
        self,
        numbers: Callable[[ChangeBatch], NDArray[np.int64]],
        places: NDArray[np.int64],
        nowhere: int,
    ) -> NDArray[np.int64]:
        pieces = [numbers(batch)[rows] for batch, rows in self._pieces]
        # NOWHERE is -1: it reads the number put last.
        return np.concatenate([*pieces, np.array([nowhere], np.int64)])[places]


def gathered(
    slices: Sequence[ChunkSlice],
    found: FoundPairs,
    values: Callable[[ChangeBatch], NDArray[Item]],
    kind: type[Item],
) -> NDArray[Item]:
    """What `values` gives of a chunk's rows, for the other row of each pair."""
    whole = np.empty(len(found.rows), kind)
    for part in np.unique(found.parts):
        is_here = found.parts == part
        whole[is_here] = values(slices[part].chunk.batch)[found.rows[is_here]]
    return whole


@dataclass(frozen=True)
class DistinctRows:
    """Arrays of some rows, each once; `places[i]` is that of pair i among them."""

    array: pa.Array
    places: NDArray[np.int64]


class PairValues:
    """The values that the rows of candidate pairs have; `port` is judged, `found` by its rows."""

    def __init__(
        self, port: int, rows: ChangeBatch, slices: Sequence[ChunkSlice], found: FoundPairs
    ) -> None:
        self._port = port
        self._rows = rows
        self._slices = slices
        self._found = found

    @property
    def judged(self) -> NDArray[np.int64]:
        """The judged row of each pair."""
        return self._found.asked

    def columns(self, dimension: Dimension, pairs: NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
        """The left and the right values of a dimension, for some of the pairs."""
        judged, others = self.distinct(dimension, pairs)
        own = judged.array.take(pa.array(judged.places))
        other = others.array.take(pa.array(others.places))
        return (own, other) if self._port == 0 else (other, own)

    def distinct(
        self, dimension: Dimension, pairs: NDArray[np.int64]
    ) -> tuple[DistinctRows, DistinctRows]:
        """The judged and the other rows' values of a dimension, each row of some pairs once."""
        names = (dimension.left, dimension.right)
        found = self._found.take(pairs)
        rows, places = np.unique(found.asked, return_inverse=True)
        column = self._rows.columns.column(names[self._port])
        judged = DistinctRows(column.take(pa.array(rows)), places)
        # Chunk and row as one number: both are far below 2^31.
        keys, places = np.unique(found.parts << 32 | found.rows, return_inverse=True)
        once = FoundPairs(keys, keys >> 32, keys & 0xFFFFFFFF)
        others = Gathered(self._slices, once)
        array = others.column(names[1 - self._port], column.type, others.places)
        return judged, DistinctRows(array, places)
