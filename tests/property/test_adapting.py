"""A query that goes on by another plan, between any two micro-batches, loses and doubles nothing."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.options import Options
from windrow.plan.catalog import Promises, stream_info
from windrow.run.local.execution import Execution
from windrow.run.local.sources import source_of
from windrow.run.local.stream_statistics import StreamStatistics
from windrow.sql.compile import compile_query

pytestmark = pytest.mark.law

COLUMNS = ("k", "x", "at")
ROW = st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 30))
STREAM = st.lists(st.lists(ROW, min_size=1, max_size=4), max_size=5)
PLANS = (
    {"algorithm": "bew-hash"}, {"algorithm": "few-hash"}, {"algorithm": "hw"},
    {"algorithm": "bew-nested-loop"}, {"algorithm": "nlw"}, {"algorithm": "few-nested-loop"},
)  # fmt: skip
OF_TWO = ({"structure": "hash/ttree"}, {"structure": "btree/buffer"})
OF_THREE = ({"order": "c, a, b"}, {"order": "b, c, a"})


class Restless:
    """Plans the query anew whenever it is asked, each time by the next of some plans."""

    def __init__(self, query, plans, **options: Any) -> None:
        self.rates: dict[str, float] = {}
        self._query = query
        self._plans = cycle(plans)
        self._options = options

    def again(self, measured):
        del measured
        return optimize(self._query, Options(**next(self._plans), **self._options))

    def explain(self, query):
        raise NotImplementedError


def tables(batches):
    """The batches of a stream with times that never go back by more than the lateness."""
    return [
        pa.table({name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)})
        for rows in batches
    ]


def answer_and_changes(streams, query, planner_of, **options: Any):
    schema = pa.schema([(name, pa.int64()) for name in COLUMNS])
    sources = {
        name: source_of(name, tables(batches), schema)
        for name, batches in zip("abc", streams, strict=False)
    }
    catalog = {name: stream_info(name, s.schema, "at", Promises(30)) for name, s in sources.items()}
    logical = compile_query(query, catalog, DuckdbTypes())
    execution = Execution(
        optimize(logical, Options(**options)), sources, planner=planner_of(logical)
    )
    rows: Counter[tuple[object, ...]] = Counter()
    while (batch := execution.next()) is not None:
        rows += bag(batch)
    return rows, execution.adapting.changes


@pytest.fixture(autouse=True, scope="module")
def every_batch_is_a_change():
    """Has the query plan again after each batch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StreamStatistics, "has_changed", True)
        yield


@settings(max_examples=share_of(100), deadline=None)
@given(st.lists(STREAM, min_size=2, max_size=3), st.integers(0, 8), st.permutations(PLANS))
def test_changes_of_plan_change_no_answer(streams, window, plans):
    names = "abc"[: len(streams)]
    shown = ", ".join(f"{n}.x AS {n}x, {n}.at AS {n}t" for n in names)
    equal = " AND ".join(f"a.k = {name}.k" for name in names[1:])
    query = f"SELECT {shown} FROM {', '.join(names)} WHERE {equal} AND a.x <= b.x WINDOW = {window}"
    own = [*plans, *(OF_TWO if len(names) == 2 else OF_THREE)]
    expected, _ = answer_and_changes(streams, query, lambda _: None)
    found, _ = answer_and_changes(streams, query, lambda logical: Restless(logical, own))
    assert found == expected


BY_KEY = ({"structure": "hash/ttree"}, {"algorithm": "bew"}, {"structure": "btree/buffer"})
BY_BAND = ({"structure": "ttree/btree"}, {"algorithm": "bew"}, {"structure": "buffer/ttree"})


@settings(max_examples=share_of(25), deadline=None)
@given(st.lists(STREAM, min_size=2, max_size=2), st.integers(0, 24), st.integers(2, 12))
def test_changes_of_structure_change_no_draw(streams, window, tuples):
    limit = {"memory": f"{tuples} tuples", "on_memory": "shed",
             "service_rate": 1, "on_service_rate": "shed"}  # fmt: skip
    for plans, where in ((BY_KEY, "a.k = b.k"), (BY_BAND, "a.x BETWEEN b.x - 1 AND b.x + 2")):
        query = f"SELECT a.x, a.at, b.x AS y, b.at AS z FROM a, b WHERE {where} WINDOW = {window}"
        expected, _ = answer_and_changes(streams, query, lambda _: None, algorithm="bew", **limit)
        found, _ = answer_and_changes(
            streams, query, lambda logical, own=plans: Restless(logical, own, **limit), **limit
        )
        assert found == expected
