"""Arrivals of panes that are not decided yet: all of them, or a random part where they are too many.

    at hand     the rows of this step, which are the caller's; none between two steps
    whole       rows of panes of which none has been let go
    thinned     of the other panes, the rows whose draw to be kept is below the pane's chance

    draw to be kept   0 -----------|----------------- 1
                         waits     chance    let go         the chance of a pane only falls

So what waits of a pane is a random sample of it, at any time, and the chance of each row in it is
known: whoever goes on to be kept, or to probe, was drawn for that among those that waited.

A row is drawn when its pane is decided, by all rows of the pane; of a thinned one as it comes, by a
hash that takes in how many of the pane have come before: equal rows of two steps are two tuples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from windrow.operators.columns.changes import ChangeBatch, concat
from windrow.operators.columns.chunks import ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import mixed_words
from windrow.operators.load_shedding.draws import (
    KEEP,
    PROBE,
    Draws,
    Losses,
    Purpose,
    bits,
    chance_of,
    draws_of,
    number_of,
    numbered,
    row_words,
)
from windrow.physical.load_shedding.limits import room_to_wait
from windrow.schema import MAX_TICK


class Waited(NamedTuple):
    """What has waited of a pane of one input.

    Attributes:
        rows: those that are left, with their draws where some were let go; None for none.
        arrived: how many there were.
        chance: by which each of them was left.
    """

    rows: ChangeBatch | None
    arrived: int
    chance: float


class Thinned(NamedTuple):
    """A pane of one input of which rows have been let go."""

    arrived: int
    chance: float


class WaitingRows:
    """The rows of all inputs that wait; `columns` tell those of each input apart."""

    def __init__(self, columns: Sequence[Sequence[str]], pane: int, seed: int) -> None:
        self._columns = columns
        self._pane = pane
        self._seed = seed
        self._at_hand = [ChunkBuffer("time") for _ in columns]
        self._whole = [ChunkBuffer("time") for _ in columns]
        self._thinned = [ChunkBuffer("time") for _ in columns]
        self._panes: list[dict[int, Thinned]] = [{} for _ in columns]

    @property
    def first(self) -> int:
        """The first instant of which a row waits, or has been let go; MAX_TICK for none."""
        panes = [number * self._pane for own in self._panes for number in own]
        return min([*panes, *(buffer.first for buffer in self.buffers())])

    @property
    def stored(self) -> int:
        """Rows that wait from one step to the next."""
        return sum(buffer.rows for buffer in (*self._whole, *self._thinned))

    @property
    def rows(self) -> int:
        """Rows that wait, those at hand among them."""
        return self.stored + sum(buffer.rows for buffer in self._at_hand)

    def buffers(self) -> list[ChunkBuffer]:
        """All rows that wait."""
        return [*self._whole, *self._thinned, *self._at_hand]

    def take(self, port: int, rows: ChangeBatch, losses: Losses) -> int:
        """Takes in rows of an input; gives how many are let go, for others of their pane were."""
        panes = self._panes[port]
        if not panes:
            self._at_hand[port].append(rows)
            return 0
        is_thinned = np.isin(rows.times // self._pane, list(panes))
        self._at_hand[port].append(rows.take(np.flatnonzero(~is_thinned)))
        return self._take_thinned(port, rows.take(np.flatnonzero(is_thinned)), losses)

    def pop(self, port: int, number: int) -> Waited:
        """Takes out what has waited of a pane, the first one."""
        end = min((number + 1) * self._pane, MAX_TICK)
        thinned = self._panes[port].pop(number, None)
        if thinned is not None:
            return Waited(self._thinned[port].pop_below(end), thinned.arrived, thinned.chance)
        parts = [own[port].pop_below(end) for own in (self._whole, self._at_hand)]
        found = [rows for rows in parts if rows is not None]
        if not found:
            return Waited(None, 0, 1.0)
        rows = concat(found)
        return Waited(rows.sorted_by(rows.times), len(rows), 1.0)

    def settle(self) -> None:
        """Ends a step: what was at hand waits from now on."""
        for port, buffer in enumerate(self._at_hand):
            for part in buffer.slices:
                self._whole[port].append(part.rows())
            self._at_hand[port] = ChunkBuffer("time")

    def thin(self, most: int, losses: Losses) -> int:
        """Lets go of rows at random, so that no more wait than so many; gives how many went."""
        gone = 0
        for port, buffer in enumerate(self._whole):
            rows = buffer.pop_below(MAX_TICK)
            if rows is not None:
                gone += self._take_thinned(port, rows, losses)
        room = room_to_wait([buffer.rows for buffer in self._thinned], most)
        for port, buffer in enumerate(self._thinned):
            draws = column_of(buffer, KEEP)
            chance = chance_of(draws, int(room[port]))
            losses.add_held(buffer, draws >= chance)
            gone += buffer.keep(draws < chance)
            self._panes[port] = {
                number: Thinned(pane.arrived, min(pane.chance, chance))
                for number, pane in self._panes[port].items()
            }
        return gone

    def sweep(self) -> None:
        """Gives back the memory of rows that have gone."""
        for buffer in self.buffers():
            buffer.sweep()

    def _take_thinned(self, port: int, rows: ChangeBatch, losses: Losses) -> int:
        """Draws rows and takes in those that the chances of their panes leave."""
        if not len(rows):
            return 0
        panes = self._panes[port]
        numbers, place, counts = np.unique(
            rows.times // self._pane, return_inverse=True, return_counts=True
        )
        before = [panes.get(number, Thinned(0, 1.0)) for number in numbers.tolist()]
        came_before = np.array([pane.arrived for pane in before], np.uint64)
        chances = np.array([pane.chance for pane in before])
        for number, count, pane in zip(numbers.tolist(), counts.tolist(), before, strict=True):
            panes[number] = Thinned(pane.arrived + count, pane.chance)
        keep, probe = self._draws(port, rows, came_before[place])
        is_left = keep < chances[place]
        losses.add(rows, ~is_left)
        drawn = ChangeBatch(
            pa.RecordBatch.from_arrays(
                [*rows.columns.columns, pa.array(keep), pa.array(probe)],
                names=[*rows.columns.schema.names, KEEP, PROBE],
            ),
            rows.times,
            rows.ends,
        )
        left = np.flatnonzero(is_left)
        self._thinned[port].append(drawn.take(left))
        return len(rows) - len(left)

    def draws(self, port: int, rows: ChangeBatch) -> tuple[Draws, Draws]:
        """The draws of rows to be kept and to probe; all rows of their instants must be here."""
        if KEEP in rows.columns.schema.names:
            return rows.columns.column(KEEP).to_numpy(), rows.columns.column(PROBE).to_numpy()
        return self._draws(port, rows, np.zeros(len(rows), np.uint64))

    def _draws(
        self, port: int, rows: ChangeBatch, came_before: NDArray[np.uint64]
    ) -> tuple[Draws, Draws]:
        columns = [rows.columns.column(name) for name in self._columns[port]]
        words = row_words(columns, rows.times)
        words = np.where(came_before > 0, mixed_words(words ^ mixed_words(came_before)), words)
        return (
            draws_of(words, self._seed, port, Purpose.keep),
            draws_of(words, self._seed, port, Purpose.probe),
        )

    def snapshot(self) -> tuple[dict[str, tuple[ChunkSlice, ...]], dict[str, int]]:
        """Rows and numbers by name."""
        buffers: dict[str, tuple[ChunkSlice, ...]] = {}
        numbers: dict[str, int] = {}
        for port, panes in enumerate(self._panes):
            whole = (*self._whole[port].slices, *self._at_hand[port].slices)
            buffers[f"arriving{port}"] = whole
            buffers[f"thinned{port}"] = tuple(self._thinned[port].slices)
            numbers |= {f"arrived{port} {number}": own.arrived for number, own in panes.items()}
            numbers |= {f"left{port} {number}": bits(own.chance) for number, own in panes.items()}
        return buffers, numbers

    def restore(
        self, buffers: Mapping[str, tuple[ChunkSlice, ...]], numbers: Mapping[str, int]
    ) -> None:
        """Puts it back."""
        for port in range(len(self._columns)):
            self._whole[port] = ChunkBuffer("time", buffers.get(f"arriving{port}", ()))
            self._thinned[port] = ChunkBuffer("time", buffers.get(f"thinned{port}", ()))
            self._at_hand[port] = ChunkBuffer("time")
            arrived = numbered(numbers, f"arrived{port} ")
            left = numbered(numbers, f"left{port} ")
            self._panes[port] = {
                number: Thinned(many, number_of(left[number])) for number, many in arrived.items()
            }


def column_of(buffer: ChunkBuffer, column: str) -> Draws:
    """A column of the rows alive, in their order."""
    parts = [part.rows().columns.column(column).to_numpy() for part in buffer.slices]
    return np.concatenate(parts) if parts else np.empty(0)
