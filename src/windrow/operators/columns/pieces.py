"""What a merged chunk was made of, so that a checkpoint that has its rows need not write them again.

    kept   [ 12 ][ 13 ][ 14 ]           in files, each as it came
    chunk  [ 12 . 13 . 14 . 15 ]        in memory, merged with a newer one: only 15 is to be written

A piece is the rows of one of them from some order key on. The rows of all pieces, one after the other, then
sorted by the order key with ties as they are, are the chunk again, to the last row: sorting the parts first,
or cutting them below a key first, makes no difference.

Where nothing is kept, as in a run without checkpoints, no chunk has pieces, and none outlives its merging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from windrow.schema import MIN_TICK

if TYPE_CHECKING:
    from windrow.operators.columns.chunks import Chunk, ChunkSlice


@dataclass(frozen=True)
class Kept:
    """Rows that are in a file.

    Attributes:
        keeper: who keeps them; to anybody else the number means nothing.
        number: what they are called there.
        rows: how many there are.
        last: the greatest order key.
    """

    keeper: object
    number: int
    rows: int
    last: int


@dataclass(frozen=True)
class Piece:
    """The rows of a source from an order key on; a source that is not kept yet is a chunk."""

    source: Kept | Chunk
    since: int = MIN_TICK

    @property
    def last(self) -> int:
        """The greatest order key."""
        return self.source.last if isinstance(self.source, Kept) else int(self.source.keys[-1])

    def leaves(self) -> Iterator[Piece]:
        """The piece as it is kept by now, if it is."""
        if isinstance(self.source, Kept) or not self.source.pieces:
            yield self
        else:
            yield from (
                leaf for own in _from(self.source.pieces, self.since) for leaf in own.leaves()
            )


Pieces: TypeAlias = tuple[Piece, ...]


def pieces_of(parts: Iterable[ChunkSlice]) -> Pieces:
    """What a chunk of the rows alive in some slices is made of; nothing if that saves no writing."""
    parts = list(parts)
    if not any(part.chunk.pieces for part in parts):
        return ()
    found: list[Piece] = []
    for part in parts:
        keys = part.chunk.keys
        if part.gone or (part.skip and keys[part.skip - 1] == keys[part.skip]):
            return ()  # a key does not tell which rows are alive
        since = int(keys[part.skip]) if part.skip else MIN_TICK
        found.extend(_from(part.chunk.pieces or (Piece(part.chunk),), since))
    return tuple(found)


def _from(pieces: Pieces, since: int) -> Iterator[Piece]:
    """The pieces without the rows before an order key; those that have no others are left out."""
    for own in pieces:
        if since <= own.since:
            yield own
        elif own.last >= since:
            yield Piece(own.source, since)
