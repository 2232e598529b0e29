"""How the rows of a join of two inputs arrive, and operators that go on from their stored state."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Operator, Snapshot
from windrow.schema import MAX_TICK, MIN_TICK

Row = dict[str, Any]
Op = TypeVar("Op", bound=Operator)


def draw_batches(
    random: Random, left: Sequence[Row], right: Sequence[Row], delays: int, last: int
) -> list[Any]:
    """Batches with the watermark after each: no row is below it as its batch begins.

    Args:
        random: draws.
        left: the rows of the one input, whose time is `t`.
        right: those of the other.
        delays: rows arrive less than so many ticks after their times.
        last: how far the watermark may go once all have arrived, before the end.
    """
    arrivals = [("l", row, row["t"] + random.randrange(delays)) for row in left]
    arrivals += [("r", row, row["t"] + random.randrange(delays)) for row in right]
    arrivals.sort(key=lambda arrival: arrival[2])
    batches, watermark = [], MIN_TICK
    while arrivals:
        size = random.randrange(1, 8)
        now, arrivals = arrivals[:size], arrivals[size:]
        if random.random() < 0.6:
            reachable = min((row["t"] for _, row, _ in arrivals), default=last)
            watermark = max(watermark, reachable - random.randrange(3))
        sides = [[row for side, row, _ in now if side == alias] for alias in "lr"]
        batches.append((*sides, watermark, random.random() < 0.3))
    return [*batches, ([], [], MAX_TICK, False)]


def restarted(operator: Operator, fresh: Op, by_end: str) -> Op:
    """A fresh operator with the state of another, every chunk by way of its bytes.

    Args:
        operator: the one that stops.
        fresh: the one that goes on.
        by_end: the name of the buffer whose rows are in the order of their ends.
    """
    snapshot = operator.snapshot()
    buffers = {}
    for name, slices in snapshot.buffers.items():
        parts = []
        for part in slices:
            batch = decode(encode(part.chunk.batch))
            order = batch.ends_or_never() if name == by_end else batch.times
            parts.append(ChunkSlice(Chunk(batch, order), part.skip, part.gone))
        buffers[name] = tuple(parts)
    fresh.restore(Snapshot(snapshot.kind, buffers, snapshot.numbers, snapshot.version))
    return fresh
