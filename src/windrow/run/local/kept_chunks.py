"""The chunks that checkpoints need: written once, and merged ones by their pieces.

    chunks     12  13  14  15  16         each in a file, as it came
    merged     17 = 12, 13, 14 from 700   no rows: a list of them (`operators/columns/pieces.py`)

So a step writes the rows that are new, however the windows merge theirs. A merged chunk is written anew,
and its pieces are left to go, where these hold more than twice its rows, or are small: then it costs
little, and files and lists do not fill up with crumbs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from windrow.operators.columns.changes import concat
from windrow.operators.columns.chunks import Chunk, encoded, order_keys, stored_chunk
from windrow.operators.columns.pieces import Kept, Piece, Pieces
from windrow.run.local.chunk_files import ChunkFiles, Spot

LEAST_PIECE_BYTES = 1 << 16
"""Of the pieces of a chunk, on average. Less is written anew in well under a millisecond."""

Recipe: TypeAlias = tuple[tuple[int, int], ...]
"""Of a merged chunk: of which chunks it takes the rows, and from which order key on."""


@dataclass
class Step:
    """What a checkpoint adds to the chunks, and what is not needed any more after it.

    Attributes:
        new: chunks that are written, by number.
        merged: chunks that are kept by their pieces, by number.
        spots: where chunks lie now that were written or moved.
        gone: numbers of chunks that are not needed.
        gone_merged: the same, of merged ones.
    """

    new: dict[int, Chunk] = field(default_factory=dict)
    merged: dict[int, tuple[Chunk, Pieces]] = field(default_factory=dict)
    spots: dict[int, Spot] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    gone_merged: list[int] = field(default_factory=list)
    uses: Counter[int] = field(default_factory=Counter)

    def recipes(self) -> Iterator[tuple[int, Recipe]]:
        """The merged chunks that are new."""
        for number, (_, pieces) in self.merged.items():
            yield number, _recipe(pieces)


class KeptChunks:
    """The chunks of a folder.

    Args:
        files: those that are written.
        merged: those that are kept by their pieces.
        damaged: makes the error of one that is gone.
    """

    def __init__(
        self,
        files: ChunkFiles,
        merged: Mapping[int, Recipe],
        damaged: Callable[[str], Exception],
    ) -> None:
        self._files = files
        self._merged = dict(merged)
        self._damaged = damaged
        self._uses = Counter(number for recipe in merged.values() for number, _ in recipe)
        self._numbers: WeakKeyDictionary[Chunk, int] = WeakKeyDictionary()
        self._last = max((*files.spots, *merged), default=0)

    def number(self, chunk: Chunk, step: Step) -> int:
        """The number of a chunk; one that has none yet gets the next, and is put into the step."""
        known = self._numbers.get(chunk)
        if known is not None and (known in self._merged or known in self._files.spots):
            return known
        for number, own in step.new.items():
            if own is chunk:
                return number
        for number, (own, _) in step.merged.items():
            if own is chunk:
                return number
        pieces = self._kept_pieces(chunk, step)
        self._last += 1
        if pieces:
            step.merged[self._last] = chunk, pieces
        else:
            step.new[self._last] = chunk
        return self._last

    def write(self, step: Step, before: Collection[int], after: Collection[int]) -> None:
        """Writes what is new, durably when this returns, and finds what is not needed any more.

        Args:
            step: what the checkpoint adds.
            before: the numbers that the checkpoints had which are kept until now.
            after: those of the ones that are kept from now on.
        """
        gone = set(before).difference(after)
        step.gone_merged = [number for number in gone if number in self._merged]
        step.uses = Counter(number for _, recipe in step.recipes() for number, _ in recipe)
        for own in step.gone_merged:
            step.uses.subtract(number for number, _ in self._merged[own])
        step.gone = [
            number
            for number in gone.union(step.uses)
            if number in self._files.spots
            and number not in after
            and not self._uses[number] + step.uses[number]
        ]
        new = {number: encoded(chunk.batch) for number, chunk in step.new.items()}
        moved = self._files.scattered(set(step.gone), sum(map(len, new.values())))
        step.spots = self._files.append({**moved, **new})

    def took(self, step: Step) -> None:
        """The checkpoint is made, and what it added is kept."""
        for number, chunk in step.new.items():
            self._numbers[chunk] = number
            chunk.pieces = (Piece(self._kept(number, chunk)),)
        for number, (chunk, pieces) in step.merged.items():
            self._numbers[chunk] = number
            chunk.pieces = pieces
            self._merged[number] = _recipe(pieces)
        for number in step.gone_merged:
            del self._merged[number]
        for number, uses in step.uses.items():
            self._uses[number] += uses
            if not self._uses[number]:
                del self._uses[number]
        self._files.took(step.spots, step.gone)

    def read(self, number: int, order: str) -> Chunk:
        """A chunk whose rows are in the order of "time" or "end"."""
        if number not in self._merged:
            chunk = self._stored(number, order)
            chunk.pieces = (Piece(self._kept(number, chunk)),)
        else:
            rows, pieces = [], []
            for own, since in self._merged[number]:
                part = self._stored(own, order)
                start = int(np.searchsorted(part.keys, since, side="left"))
                rows.append(part.batch.take(np.arange(start, len(part))) if start else part.batch)
                pieces.append(Piece(self._kept(own, part), since))
            merged = concat(rows)
            ordered = merged.sorted_by(order_keys(merged, order))
            chunk = Chunk(ordered, order_keys(ordered, order), tuple(pieces))
        self._numbers[chunk] = number
        return chunk

    def _stored(self, number: int, order: str) -> Chunk:
        if number not in self._files.spots:
            raise self._damaged(f"chunk {number} is gone")
        return stored_chunk(order, self._files.read(number))

    def _kept(self, number: int, chunk: Chunk) -> Kept:
        return Kept(self, number, len(chunk), int(chunk.keys[-1]))

    def _kept_pieces(self, chunk: Chunk, step: Step) -> Pieces:
        """The pieces of a chunk, those that are new with their numbers in the step; none: write it."""
        leaves = [leaf for own in chunk.pieces for leaf in own.leaves()]
        rows = 0
        for leaf in leaves:
            source = leaf.source
            if isinstance(source, Kept):
                if source.keeper is not self or source.number not in self._files.spots:
                    return ()
                rows += source.rows
            else:
                rows += len(source)
        if rows > 2 * len(chunk) or chunk.nbytes < LEAST_PIECE_BYTES * len(leaves):
            return ()
        return tuple(
            leaf
            if isinstance(leaf.source, Kept)
            else Piece(self._kept(self._new(leaf.source, step), leaf.source), leaf.since)
            for leaf in leaves
        )

    def _new(self, chunk: Chunk, step: Step) -> int:
        """The number of a chunk without pieces, which the step writes."""
        for number, own in step.new.items():
            if own is chunk:
                return number
        self._last += 1
        step.new[self._last] = chunk
        return self._last


def _recipe(pieces: Pieces) -> Recipe:
    return tuple((own.source.number, own.since) for own in pieces if isinstance(own.source, Kept))
