"""Which plans take batches in parts, and that the parts do not show."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.run.local import execution
from windrow.run.local import inlets as batch_splitting

SUMS = "(SELECT k, SUM(x) AS s FROM a [RANGE 9] GROUP BY k) p"
COUNTS = "(SELECT k, COUNT(*) AS n FROM b [RANGE 7] GROUP BY k) q"
TAKEN_IN_PARTS = {
    "changelogs": f"SELECT p.k, s, n FROM {SUMS} JOIN {COUNTS} ON p.k = q.k",
    "changelog and stream": f"SELECT p.k, s, x FROM {SUMS} JOIN b [RANGE 5] q ON p.k = q.k EMIT CHANGES",
    "changes of a join": "SELECT a.x, b.x AS y FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k EMIT CHANGES",
    "aggregate of a join": "SELECT a.k, COUNT(*) AS n FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k"
    " GROUP BY a.k",
    "tuple by tuple": "SELECT /*+ algorithm(nlw) */ a.x, b.x AS y FROM a, b WHERE abs(a.x - b.x) <= 1 WINDOW = 5",
    "best now": "SELECT a.x, b.x AS y FROM a [RANGE 5] BESTMATCH JOIN b [RANGE 5] ON a.x MINDIST b.x",
    "aggregate": "SELECT k, SUM(x) AS s FROM a [RANGE 9] GROUP BY k",
    "set operation": "SELECT k FROM a [RANGE 9] EXCEPT SELECT x FROM b [RANGE 5]",
    "aggregate of what is near": "SELECT a.x, COUNT(*) AS n FROM a WINDOW JOIN b ON a.k = b.k"
    " RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING",
    "count windows": "SELECT a.x, b.x AS y FROM a [ROWS 3], b [ROWS 4] WHERE a.k = b.k",
    "hash": "SELECT a.x, b.x AS y FROM a, b WHERE a.k = b.k WINDOW = 5",
}
IN_QUARTERS = {"hash", "aggregate of what is near"}
TAKEN_WHOLE = {
    "as-of": "SELECT a.x, b.x AS y FROM a ASOF JOIN b MATCH_CONDITION (a.t >= b.t) ON a.k = b.k TOLERANCE 5",
    "filter": "SELECT x FROM a WHERE x > 3",
    "union": "SELECT x FROM a UNION ALL SELECT x FROM b",
}


def drawn_streams() -> windrow.Session:
    made = windrow.Session()
    for name in "ab":
        random = np.random.default_rng(ord(name))
        columns = {"k": random.integers(0, 3, 60), "x": random.integers(0, 9, 60)}
        made.stream(name, pa.table(columns | {"t": random.integers(0, 60, 60)}), time="t")
    return made


def sorted_rows(query: str) -> list[tuple[object, ...]]:
    return sorted(map(repr, drawn_streams().sql(query).to_arrow().to_pylist()))


def parts_of(query: str, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the runner was told of the parts of batches."""
    told = []

    def rows_at_once(*arguments: object) -> object:
        told.append(batch_splitting.rows_at_once(*arguments))
        return told[-1]

    monkeypatch.setattr(execution, "rows_at_once", rows_at_once)
    drawn_streams().sql(query).to_arrow()
    return told


@pytest.mark.parametrize("kind", TAKEN_IN_PARTS)
def test_plans_that_keep_rows_take_batches_in_parts(kind, monkeypatch) -> None:
    (part,) = parts_of(TAKEN_IN_PARTS[kind], monkeypatch)
    assert part is not None
    large = pa.record_batch({"x": np.zeros(100 * batch_splitting.PART_ROWS)})
    most = (
        100 * batch_splitting.PART_ROWS // batch_splitting.PARTS + 1
        if kind in IN_QUARTERS
        else batch_splitting.PART_ROWS
    )
    assert part(large.slice(0, 1)) == batch_splitting.PART_ROWS
    assert batch_splitting.PART_ROWS <= part(large) <= most
    assert (part(large) == batch_splitting.PART_ROWS) == (kind not in IN_QUARTERS)


@pytest.mark.parametrize("kind", TAKEN_WHOLE)
def test_plans_that_nothing_waits_in_take_batches_whole(kind, monkeypatch) -> None:
    assert parts_of(TAKEN_WHOLE[kind], monkeypatch) == [None]


@pytest.mark.law
@pytest.mark.parametrize("query", TAKEN_IN_PARTS.values())
@pytest.mark.parametrize("rows", [1, 7])
def test_the_answer_is_the_same_whatever_the_parts(query, rows, monkeypatch) -> None:
    whole = sorted_rows(query)
    monkeypatch.setattr(batch_splitting, "PART_ROWS", rows)
    monkeypatch.setattr(batch_splitting, "PARTS", 1 << 20)
    assert sorted_rows(query) == whole
    assert whole
