"""What laws of operators that give changelogs share: their changes, and their state in storage."""

from __future__ import annotations

from twins.aggregate import plain

from windrow.operators.columns.chunks import Chunk, ChunkSlice, decode, encode
from windrow.operators.engine.base import Snapshot


def through_storage(snapshot: Snapshot) -> Snapshot:
    """The snapshot after a trip through the bytes of its chunks."""

    def stored(name, part):
        batch = decode(encode(part.chunk.batch))
        keys = batch.ends_or_never() if name == "alive" else batch.times
        return ChunkSlice(Chunk(batch, keys), part.skip)

    buffers = {
        name: tuple(stored(name, part) for part in parts)
        for name, parts in snapshot.buffers.items()
    }
    return Snapshot(snapshot.kind, buffers, dict(snapshot.numbers), snapshot.version)


def content(snapshot):
    ids = {name: [(p.chunk.id, p.skip) for p in parts] for name, parts in snapshot.buffers.items()}
    return snapshot.kind, snapshot.numbers, ids


def shown(batches):
    """(instant, sign, row) of every row that came out, in order."""
    changes = []
    for batch in batches:
        columns = [list(map(plain, each.to_pylist())) for each in batch.columns.columns]
        assert batch.ends is None
        changes += zip(
            batch.times.tolist(), batch.signs.tolist(), zip(*columns, strict=True), strict=True
        )
    return changes


def assert_in_order_and_net(came):
    """Instants ascend, deletes come first, and no row both comes and goes at one instant."""
    order = [(time, sign) for time, sign, _ in came]
    assert order == sorted(order)
    signs = {}
    for time, sign, row in came:
        assert signs.setdefault((time, row), sign) == sign
