"""What all window joins do with their inputs: what they take, keep, drop, and store.

The state of a window join is one time-ordered buffer of rows per input, and the time up to which
it has been joined:

    rows of all inputs   ----------------------------|--------------->  time
                          every combination of these  joined_to   these are still to be joined,
                          has been given                          with each other and with those

Every algorithm keeps that state, so that any of them goes on from where another has stopped. One
that answers on arrival has joined whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from windrow.errors import InternalError, PlanError
from windrow.operators.columns.changes import ChangeBatch, select
from windrow.operators.columns.chunks import Chunk, ChunkBuffer, ChunkSlice
from windrow.operators.columns.key_columns import can_equal
from windrow.operators.engine.base import Snapshot
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.schema import MAX_TICK, MIN_TICK

STATE_KIND = "window-join"
SHEDDING_KIND = "shedding-join"
JOINED_TO = "joined_to"


def only_inserts(node: MultiJoin, port: int, batch: ChangeBatch, columns: list[str]) -> ChangeBatch:
    """The rows of a batch with some of their columns; none may take a row back."""
    if batch.signs is not None and bool(np.any(batch.signs < 0)):
        raise InternalError(
            "join-retraction",
            f"input {node.aliases[port]!r} of a window join takes a row back",
            reason="a window join reads inserts only; rows leave it by their ends",
        )
    return ChangeBatch(select(batch.columns, columns), batch.times, batch.ends)


def can_match(node: MultiJoin, port: int, rows: ChangeBatch) -> NDArray[np.bool_]:
    """False for rows without an event time, and for NULLs in keys that NULL never equals."""
    possible: NDArray[np.bool_] = rows.times != MIN_TICK
    for key in node.classes:
        name = key.columns[port]
        if name is not None and not key.null_safe:
            column = rows.columns.column(name)
            if column.null_count:
                possible &= can_equal(len(rows), [column], [False])
    return possible


def last_needed(watermark: int, retention: int) -> int:
    """The least event time still needed: t goes when t + retention < watermark."""
    if watermark == MAX_TICK:
        return MAX_TICK  # the end of every input: nothing is needed any more
    return max(MIN_TICK, min(MAX_TICK, watermark - retention))


def first_drop(buffers: Iterable[ChunkBuffer], retention: Iterable[int]) -> int:
    """The least watermark by which a row is no longer needed, of buffers and how long each keeps its."""
    dues = [
        buffer.first + kept + 1
        for buffer, kept in zip(buffers, retention, strict=True)
        if buffer.slices
    ]
    return max(MIN_TICK, min([*dues, MAX_TICK]))


def state_of(buffers: Sequence[Iterable[ChunkSlice]], joined_to: int | None = None) -> Snapshot:
    """The state of a join that has joined all that it holds, or up to a time."""
    slices = {str(port): tuple(own) for port, own in enumerate(buffers)}
    if joined_to is None:
        newest = [part.last for own in slices.values() for part in own]
        joined_to = max(newest, default=MIN_TICK)
    return Snapshot(STATE_KIND, slices, {JOINED_TO: joined_to})


def stored_state(snapshot: Snapshot, ports: int) -> tuple[list[tuple[ChunkSlice, ...]], int]:
    """The buffers of a state, and the time up to which they have been joined."""
    if snapshot.kind == SHEDDING_KIND:
        raise another_shedding()
    snapshot.check_kind(STATE_KIND)
    buffers = [snapshot.buffers.get(str(port), ()) for port in range(ports)]
    return buffers, snapshot.numbers.get(JOINED_TO, MAX_TICK)


def another_shedding() -> PlanError:
    """A state that was kept by other rules than those that the query has now."""
    return PlanError(
        "checkpoint-of-another-shedding",
        "the checkpoint was made by a query that sheds in another way",
        reason="the kept sample was drawn with another seed or pane length, or nothing was shed",
        hint="resume with the options it was made with, or start without the checkpoint",
    )


def parted(
    slices: Iterable[ChunkSlice], joined_to: int
) -> tuple[list[ChunkSlice], list[ChunkSlice]]:
    """Rows up to a time, and those after it; chunks that lie on one side stay as they are."""
    before, after = [], []
    for part in slices:
        cut = int(np.searchsorted(part.chunk.keys, joined_to, side="right"))
        if cut == len(part.chunk):
            before.append(part)
        elif cut <= part.skip:
            after.append(part)
        else:
            joined = part.chunk.batch.slice(part.skip, cut)
            before.append(ChunkSlice(Chunk(joined, part.chunk.keys[part.skip : cut])))
            after.append(ChunkSlice(part.chunk, cut))
    return before, after
