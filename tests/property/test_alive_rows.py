"""The rows of an input while they are alive: what is kept, new and gone adds up at every instant."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.tape import drawn
from hypothesis import given, settings
from twins.alive_rows import copies, edges
from twins.snapshot_join import Change

from windrow.errors import DataError
from windrow.operators.columns.changes import ChangeBatch
from windrow.operators.joins.alive_rows import AliveRows
from windrow.operators.joins.snapshot_join import by_end
from windrow.schema import MAX_TICK

EXAMPLES = settings(max_examples=share_of(300), deadline=None, derandomize=True)


def draw_pushes(random: Random) -> list[list[Change]]:
    """Rows, and such as take back rows, or parts of rows, in any order; copies are many."""
    changes = []
    for _ in range(random.randrange(14)):
        values = (random.choice(["x", None]), random.randrange(2))
        t = random.randrange(20)
        end = random.choice([MAX_TICK, t + 1 + random.randrange(12)])
        changes.append(Change(values, t, end))
        if random.randrange(4):
            back = t + random.randrange(10)
            if back < end:
                changes.append(Change(values, back, end, -1))
        if not random.randrange(4):  # a row that goes for a while, as two rows or as one
            until = t + 1 + random.randrange(5)
            changes += [Change(values, t, until, -1), Change(values, t, until)]
    if random.randrange(2):
        random.shuffle(changes)
    cuts = sorted(random.randrange(len(changes) + 1) for _ in range(random.randrange(4)))
    return [changes[a:b] for a, b in zip([0, *cuts], [*cuts, len(changes)], strict=True)]


def batch_of(changes: list[Change]) -> ChangeBatch | None:
    if not changes:
        return None
    columns = {
        "k": pa.array([change.values[0] for change in changes], pa.string()),
        "v": pa.array([change.values[1] for change in changes], pa.int64()),
    }
    return ChangeBatch(
        pa.RecordBatch.from_pydict(columns),
        np.array([change.time for change in changes]),
        np.array([change.end for change in changes]),
        np.array([change.sign for change in changes], np.int8),
    )


def changes_of(batch: ChangeBatch | None) -> list[Change]:
    if batch is None:
        return []
    values = zip(*(column.to_pylist() for column in batch.columns.columns), strict=True)
    marks = batch.times, batch.ends_or_never(), batch.signs_or_insert()
    return [Change(*row) for row in zip(values, *(own.tolist() for own in marks), strict=True)]


def kept(rows: AliveRows) -> list[Change]:
    return [change for part in rows.slices for change in changes_of(part.rows())]


@pytest.mark.law
@EXAMPLES
@given(drawn(draw_pushes, 512))
def test_what_is_kept_new_and_gone_adds_up_at_every_instant(pushes: list[list[Change]]) -> None:
    rows = AliveRows()
    all_pushed: list[Change] = []
    for push in pushes:
        before = kept(rows)
        met = rows.meet(batch_of(push))
        new, gone, now = changes_of(met.new), changes_of(met.gone), kept(rows)
        for instant in edges(before, push, new, gone, now):
            assert copies(before, instant) == copies([*now, *gone], instant)
            assert copies([*before, *push], instant) == copies([*now, *new], instant)
        first = min((change.time for change in push), default=MAX_TICK)
        assert all(first <= change.time < change.end for change in [*new, *gone])
        if (chunk := by_end(met.new)) is not None:
            rows.keep(chunk)
        all_pushed += push
        check_kept(rows, all_pushed)
    again = AliveRows(rows.come.slices, rows.back.slices)
    for instant in edges(all_pushed):
        assert copies(kept(again), instant) == copies(all_pushed, instant)


def check_kept(rows: AliveRows, pushed: list[Change]) -> None:
    """No two rows are kept that undo one another: as many as there are copies, at each instant."""
    now = kept(rows)
    waiting = {change.values for change in now if change.sign < 0}
    for instant in edges(pushed, now):
        alive = [c for c in now if c.time <= instant < c.end]
        assert copies(now, instant) == copies(pushed, instant)
        for values in waiting:
            own = [change.sign for change in alive if change.values == values]
            assert len(set(own)) <= 1
        if not waiting:
            assert len(alive) == sum(copies(pushed, instant).values())


def test_what_waits_in_vain_is_bad_data() -> None:
    rows = AliveRows()
    chunk = by_end(rows.meet(batch_of([Change(("x", 1), 5, MAX_TICK, -1)])).new)
    assert chunk is not None
    rows.keep(chunk)
    assert rows.first_waiting == 5
    rows.check(4)
    with pytest.raises(DataError, match="deletes a row that the stream does not hold"):
        rows.check(5)


def test_a_delete_at_an_instant_before_one_that_came_first() -> None:
    """Two inputs below this one were taken back out of order: the earlier change undoes the later."""
    rows = AliveRows()
    values = ("x", 1)
    for push in (
        [Change(values, 0, MAX_TICK)],
        [Change(values, 8, MAX_TICK, -1)],
        [Change(values, 5, MAX_TICK, -1), Change(values, 8, MAX_TICK)],
    ):
        met = rows.meet(batch_of(push))
        if (chunk := by_end(met.new)) is not None:
            rows.keep(chunk)
    assert changes_of(met.gone) == [Change(values, 5, 8)]
    assert kept(rows) == [Change(values, 0, 5)]


def test_rows_stored_beside_what_takes_them_back_are_read_as_one() -> None:
    """So the state was kept before rows were ended by what takes them back."""
    old = AliveRows()
    first, back = (
        by_end(batch_of([Change(("x", 1), t, MAX_TICK, s)])) for t, s in ((2, 1), (7, -1))
    )
    assert first is not None
    assert back is not None
    old.keep(first)
    old.keep(back)
    assert len(kept(old)) == 2
    rows = AliveRows(old.come.slices, old.back.slices)
    assert kept(rows) == [Change(("x", 1), 2, 7)]
    rows.check(7)
