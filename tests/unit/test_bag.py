"""What tests compare answers by: whatever holds the same rows is the same bag."""

from __future__ import annotations

import pyarrow as pa
from bags import bag
from sessions import session

ROWS = [{"k": 1, "v": None}, {"k": 1, "v": None}, {"k": 2, "v": 0.5}]


def test_whatever_holds_the_same_rows_is_the_same_bag():
    table = pa.Table.from_pylist(ROWS)
    tuples = [(2, 0.5), (1, None), (1, None)]
    ways = (table, ROWS, tuples, table.to_batches(max_chunksize=1), [table, table.slice(0, 0)])
    for way in ways:
        assert bag(way) == {(1, None): 2, (2, 0.5): 1}


def test_an_answer_is_the_bag_of_its_rows():
    w = session({"a": {"k": [1, 1, 2], "t": [0, 0, 0]}}, time="t")
    assert bag(w.sql("SELECT k FROM a")) == {(1,): 2, (2,): 1}


def test_not_a_number_equals_itself_and_nested_values_are_compared_by_their_parts():
    assert bag([(float("nan"), [1, {"a": float("nan")}])]) == bag([(float("nan"), [1, {"a": float("nan")}])])  # fmt: skip
    assert bag([([1, 2],)]) != bag([([2, 1],)])


def test_a_change_begins_with_its_type_and_ends_with_its_time():
    changes = [{"_event_time": 12, "k": 7, "_change_type": "insert"}]
    assert bag(changes) == bag(pa.Table.from_pylist(changes)) == {("insert", 7, 12): 1}
