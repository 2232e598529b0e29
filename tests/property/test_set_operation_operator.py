"""The set operation against the twin: any rows, any batches, any order within the promise."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from case_share import share_of
from cases.changelogs import assert_in_order_and_net, content, shown, through_storage
from cases.tape import drawn
from hypothesis import given, settings
from twins.set_operation import NEVER, Row, answer_at, changelog

from windrow.operators.aggregates import sliding
from windrow.operators.aggregates.set_operation import OPERATIONS, SetOperationOp
from windrow.operators.columns.changes import ChangeBatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.set_op import SetOp
from windrow.schema import MAX_TICK, MIN_TICK, Field, Schema

pytestmark = pytest.mark.law

EXAMPLES = settings(max_examples=share_of(200), deadline=None, derandomize=True)
COLUMNS = {
    "bigint": (pa.int64(), [1, 2, None]),
    "string": (pa.string(), ["", "a", "a long text of more than twelve bytes", None]),
    "double": (pa.float64(), [0.0, -0.0, float("nan"), 1.5, None]),
    "array<double>": (pa.list_(pa.float64()), [[], [0.0], [-0.0], [float("nan")], None]),
}


class Case:
    """An operation, its rows in arrival order, and micro-batches with their watermarks."""

    def __init__(self, random: Random) -> None:
        self.kind = random.choice(sorted(OPERATIONS))
        self.ports = 1 if self.kind in {"distinct", "changes"} else 2
        self.types = random.choices(list(COLUMNS), k=random.randint(1, 2))
        self.is_restarted = random.random() < 0.5
        self.rows = self._rows(random)
        self.batches = self._cut(random)

    def _rows(self, random: Random) -> list[Row]:
        rows = []
        for _ in range(random.randrange(13)):
            values = tuple(random.choice(COLUMNS[kind][1]) for kind in self.types)
            port, time = random.randrange(self.ports), random.randrange(8)
            end = random.choice([NEVER, time + 1 + random.randrange(6)])
            rows.append(Row(port, values, time, end))
            if random.random() < 0.4:  # until the row would end, or but for a while
                taken_back = time + random.randrange(min(5, end - time))
                until = random.choice([end, taken_back + 1])
                rows.append(Row(port, values, taken_back, until, -1))
        random.shuffle(rows)
        return rows

    def _cut(self, random: Random) -> list[tuple[int, int, int]]:
        """First row, end of rows, watermark after, which no later row breaks."""
        batches, start, watermark = [], 0, MIN_TICK
        for stop in sorted({random.randint(0, len(self.rows)) for _ in range(3)}):
            promise = min((row.time for row in self.rows[stop:]), default=14)
            watermark = max(watermark, random.randint(-1, promise))
            batches.append((start, stop, watermark))
            start = stop
        return [*batches, (start, len(self.rows), MAX_TICK)]

    def operator(self) -> SetOperationOp:
        schema = Schema(tuple(Field(f"c{i}", kind) for i, kind in enumerate(self.types)))
        scan = ScanStream("s", "s", schema.names, schema, "t", "bigint", 0)
        return SetOperationOp(SetOp((scan,) * self.ports, self.kind))

    def pushed(self, rows: list[Row]) -> list[ChangeBatch | None]:
        return [
            self._batch([row for row in rows if row.port == port]) for port in range(self.ports)
        ]

    def _batch(self, rows: list[Row]) -> ChangeBatch | None:
        if not rows:
            return None
        columns = {
            f"c{i}": pa.array([row.values[i] for row in rows], COLUMNS[kind][0])
            for i, kind in enumerate(self.types)
        }
        return ChangeBatch(
            pa.RecordBatch.from_pydict(columns),
            np.array([row.time for row in rows], np.int64),
            np.array([row.end for row in rows], np.int64),
            np.array([row.sign for row in rows], np.int8),
        )


def run(case):
    """The changes after each micro-batch, and the operator as it was then."""
    operator = case.operator()
    changes = []
    for start, stop, watermark in case.batches:
        assert list(operator.push(case.pushed(case.rows[start:stop]))) == []
        due = operator.due()
        came = shown(operator.advance(watermark))
        assert bool(came) <= (due <= watermark)
        changes += came
        yield watermark, stop, came, changes, operator
        if case.is_restarted:
            before = operator.snapshot()
            operator = case.operator()
            operator.restore(through_storage(before))
            assert content(operator.snapshot()) == content(before)


@EXAMPLES
@given(drawn(Case))
def test_every_batch_gives_the_changes_below_its_watermark_and_keeps_no_row_longer(case):
    expected = changelog(case.kind, case.rows)
    for watermark, stop, came, changes, operator in run(case):
        assert Counter(changes) == Counter(each for each in expected if each[0] < watermark)
        assert_in_order_and_net(came)
        arrived = case.rows[:stop]
        pending = [row for row in arrived if row.time >= watermark]
        alive = [row for row in arrived if row.time < watermark <= row.end < NEVER]
        assert operator.counters.stored == len(pending) + len(alive)
    if not any(row.end == NEVER for row in case.rows):
        assert operator.snapshot().buffers == {"arriving": (), "alive": (), "groups": ()}


@EXAMPLES
@given(drawn(Case))
def test_the_law_of_the_changelog_holds_at_every_instant_whatever_the_steps(case):
    case.is_restarted = False  # a new operator counts anew
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sliding.SlidingOp, "step_rows", 1)
        *_, (_, _, _, changes, operator) = run(case)
    for instant in range(-1, 16):
        standing = Counter()
        for time, sign, row in changes:
            if time <= instant:
                standing[row] += sign
        assert {row: n for row, n in standing.items() if n} == answer_at(
            case.kind, case.rows, instant
        )
    counters = operator.counters
    assert counters.rows_in == len(case.rows) == counters.drops
    assert counters.rows_out == len(changes)
