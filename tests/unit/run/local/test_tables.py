"""Joins with tables in process: how tables are given, late rows, restarts, what is refused."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from plans import planned
from sessions import session

import windrow
from windrow.errors import DataError, PlanError, UnsupportedError
from windrow.operators.columns.key_directory import KeyDirectory
from windrow.operators.joins import table_join
from windrow.physical.nodes.stateless import FilterRows, ProjectRows, TableJoinRows
from windrow.physical.nodes.time_join import TimeJoin

FAVORITES = pa.table(
    {
        "item": ["pen", "pen", "ink", None],
        "customer": [1, 2, 2, 3],
        "least": [0.5, 2.5, 0.0, 0.0],
    }
)
SALES = [
    pa.table({"item": ["pen", "cap"], "price": [1.0, 2.0], "ts": [0, 20]}),
    pa.table({"item": ["pen", "ink", "cap"], "price": [3.0, 1.0, 2.0], "ts": [3, 25, 4]}),
]
INNER = "SELECT s.item, s.ts, f.customer FROM sales s JOIN favorites f ON s.item = f.item"
COUNTED = (
    "SELECT f.customer, COUNT(*) AS n FROM sales [RANGE 5] s, favorites f "
    "WHERE s.item = f.item GROUP BY f.customer"
)


def sales_and_favorites(table: Any = FAVORITES, sales: Any = None) -> windrow.Session:
    return session(
        {"sales": SALES if sales is None else sales},
        time="ts",
        lateness=2,
        tables={"favorites": table},
    )


def test_a_row_of_a_stream_comes_with_each_row_of_the_table_that_it_matches() -> None:
    assert bag(sales_and_favorites().sql(INNER)) == Counter(
        [("pen", 0, 1), ("pen", 0, 2), ("pen", 3, 1), ("pen", 3, 2), ("ink", 25, 2)]
    )


@pytest.mark.parametrize(
    "given",
    [
        lambda: iter(FAVORITES.to_batches(max_chunksize=1)),
        lambda: pa.RecordBatchReader.from_batches(FAVORITES.schema, FAVORITES.to_batches()),
        FAVORITES.to_pandas,
        lambda: [windrow.NOTHING_NOW, FAVORITES],
    ],
    ids=["iterator", "reader", "pandas", "list"],
)
def test_a_table_may_be_given_as_streams_are_and_every_query_sees_it_whole(given: Any) -> None:
    made = sales_and_favorites(given())
    expected = bag(sales_and_favorites().sql(INNER))
    assert bag(made.sql(INNER)) == expected
    assert bag(made.sql(INNER)) == expected


def test_an_empty_table_matches_nothing() -> None:
    made = sales_and_favorites(FAVORITES.slice(0, 0))
    assert made.sql(INNER).to_arrow().num_rows == 0
    left = made.sql(INNER.replace("JOIN", "LEFT JOIN")).to_arrow()
    assert left["customer"].to_pylist() == [None] * 5


def test_one_table_under_two_aliases_is_joined_with_itself() -> None:
    query = (
        "SELECT s.ts, f.customer, g.item AS other FROM sales s, favorites f, favorites g "
        "WHERE s.item = f.item AND f.customer = g.customer AND g.item <> f.item"
    )
    assert bag(sales_and_favorites().sql(query)) == Counter(
        [(0, 2, "ink"), (3, 2, "ink"), (25, 2, "pen")]
    )


def test_the_window_of_one_stream_with_tables_is_that_streams() -> None:
    written = COUNTED.replace(" [RANGE 5]", "") + " WINDOW = 5"
    assert bag(sales_and_favorites().sql(written)) == bag(sales_and_favorites().sql(COUNTED))


def test_a_changelog_is_joined_row_by_row_and_stays_net() -> None:
    query = (
        "SELECT f.customer FROM (SELECT item, COUNT(*) AS n FROM sales [RANGE 5] GROUP BY item) c "
        "JOIN favorites f ON c.item = f.item"
    )
    sales = pa.table({"item": ["pen", "pen", "ink"], "price": [1.0] * 3, "ts": [0, 3, 25]})
    answer = sales_and_favorites(sales=sales).sql(query, updates=True).to_arrow()
    # The count of pens goes from 1 to 2 and back: nothing of it shows.
    pens = [("insert", 0), ("delete", 9)]
    assert bag(answer.select(["customer", "_change_type", "_event_time"])) == Counter(
        [(kind, customer, at) for customer in (1, 2) for kind, at in pens]
        + [("insert", 2, 25), ("delete", 2, 31)]
    )


def test_results_come_in_the_order_of_their_rows() -> None:
    left = INNER.replace("JOIN", "LEFT JOIN")
    for query in (left, left.replace("s.item = f.item", "s.price > f.least")):
        assert sales_and_favorites().sql(query).to_arrow()["ts"].to_pylist() == sorted(
            sales_and_favorites().sql(query).to_arrow()["ts"].to_pylist(),
            key=[0, 20, 3, 25, 4].index,
        )


def test_late_rows_are_kept_once_and_counted_as_the_join_gives_them() -> None:
    result = sales_and_favorites().sql(COUNTED, on_late="keep")
    result.to_arrow()
    assert result.late["sales"].to_pylist() == [{"item": "pen", "price": 3.0, "ts": 3}]
    assert result.progress.late == 2


def test_a_query_goes_on_from_a_checkpoint_and_sees_the_table_as_it_is_then() -> None:
    first = sales_and_favorites().sql(COUNTED)
    begun = [next(first)]
    checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
    rest = sales_and_favorites().sql(COUNTED, resume=checkpoint).to_arrow()
    whole = bag(pa.concat_tables([pa.Table.from_batches(begun), rest]))
    assert whole == bag(sales_and_favorites().sql(COUNTED))
    emptied = sales_and_favorites(FAVORITES.slice(0, 0)).sql(COUNTED, resume=checkpoint).to_arrow()
    assert not {row for row in bag(emptied) if row[-1] >= 25}


def test_a_checkpoint_over_other_columns_of_a_table_is_refused() -> None:
    first = sales_and_favorites().sql(COUNTED)
    next(first)
    other = FAVORITES.set_column(1, "customer", pa.array(["a", "b", "b", "c"]))
    with pytest.raises(PlanError, match="checkpoint-of-another-schema"):
        sales_and_favorites(other).sql(COUNTED, resume=first.checkpoint())


def test_a_table_that_rows_meet_again_when_they_go_must_be_the_same_after_a_restart() -> None:
    query = (
        "SELECT c.n, f.customer FROM (SELECT item, COUNT(*) AS n FROM sales [RANGE 5] GROUP BY item) c"
        " JOIN favorites f ON c.item = f.item"
    )
    first = sales_and_favorites().sql(query)
    begun = [next(first)]
    checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
    reordered = FAVORITES.take([3, 1, 0, 2])
    rest = sales_and_favorites(reordered).sql(query, resume=checkpoint).to_arrow()
    whole = bag(pa.concat_tables([pa.Table.from_batches(begun), rest]))
    assert whole == bag(sales_and_favorites().sql(query))
    with pytest.raises(PlanError) as refused:
        sales_and_favorites(FAVORITES.slice(1)).sql(query, resume=checkpoint)
    assert str(refused.value).startswith(
        "PlanError[checkpoint-of-another-table]: the table f has other rows than when the checkpoint"
        " was made\n"
        "  it is joined to rows that are taken back: what came with the old rows would never go\n"
        "  hint: put the rows of f back, start afresh, or join f to the stream itself, below the"
        " aggregate (FROM (SELECT .. FROM stream, table ..) ..)"
    )


def test_a_condition_on_the_table_alone_is_tested_there_once() -> None:
    physical = planned(sales_and_favorites(), INNER + " WHERE f.least > 1 AND s.price < 5")
    assert isinstance(physical.root, ProjectRows)
    join = physical.root.input
    assert isinstance(join, TableJoinRows)
    assert isinstance(join.table, FilterRows)
    assert isinstance(join.input, FilterRows)


def test_only_what_the_answer_needs_of_a_table_is_read() -> None:
    physical = planned(sales_and_favorites(), INNER)
    assert isinstance(physical.root, ProjectRows)
    join = physical.root.input
    assert isinstance(join, TableJoinRows)
    assert join.table.schema.names == ("f.item", "f.customer")
    assert join.schema.names == ("s.item", "s.ts", "f.customer")


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_a_join_that_only_removes_rows_goes_below_the_window_join(kind: str) -> None:
    made = sales_and_favorites()
    made.stream("returns", SALES, time="ts")
    query = (
        f"SELECT s.ts FROM sales s JOIN returns r ON s.item = r.item LEFT {kind} JOIN favorites f "
        "ON s.item = f.item AND s.price > f.least WINDOW = 5"
    )
    physical = planned(made, query)
    assert isinstance(physical.root, ProjectRows)
    join = physical.root.input
    assert isinstance(join, TimeJoin)
    assert isinstance(join.inputs[0], ProjectRows | TableJoinRows)


def test_under_a_count_window_it_stays_above() -> None:
    made = sales_and_favorites()
    made.stream("returns", SALES, time="ts")
    query = (
        "SELECT s.ts FROM sales s [ROWS 2] JOIN returns r [ROWS 2] ON s.price = r.price "
        "LEFT SEMI JOIN favorites f ON s.item = f.item"
    )
    physical = planned(made, query)
    assert isinstance(physical.root, ProjectRows)
    assert isinstance(physical.root.input, TableJoinRows)


@pytest.mark.law
def test_a_batch_costs_what_it_brings_and_not_what_the_table_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    find = KeyDirectory.find
    monkeypatch.setattr(KeyDirectory, "find", lambda *a: (asked.append(len(a[1][0])), find(*a))[1])
    table = pa.table({"item": [f"i{n}" for n in range(5_000)], "customer": range(5_000)})
    sales = [pa.table({"item": [f"i{n}"], "price": [1.0], "ts": [n]}) for n in range(5)]
    assert sales_and_favorites(table, sales).sql(INNER).to_arrow().num_rows == 5
    assert asked == [1] * 5


def test_candidates_are_gathered_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_join, "BLOCK_PAIRS", 4)
    index = table_join.TableIndex([pa.array([1] * 3 + [2] * 9)], [False])
    found = index.pairs([pa.array([1, 1, 2, 3, 1])])
    assert [(bag.start, len(places)) for bag, _, places in found] == [
        (0, 3),
        (1, 3),
        (2, 9),
        (3, 3),
    ]


def test_a_condition_that_cannot_be_computed_is_told_with_its_place() -> None:
    query = "SELECT s.ts FROM sales s JOIN favorites f ON 1 / f.least < s.price"
    with pytest.raises(DataError, match="bad-value") as caught:
        sales_and_favorites().sql(query).to_arrow()
    assert "1 / f.least" in str(caught.value)


def test_a_function_of_ones_own_may_be_asked_of_an_inner_join_alone() -> None:
    made = sales_and_favorites()
    made.function("near", lambda a, b: np.abs(a.to_numpy() - b.to_numpy()) < 1)
    inner = (
        "SELECT s.ts FROM sales s JOIN favorites f ON s.item = f.item AND near(s.price, f.least)"
    )
    assert made.sql(inner).to_arrow()["ts"].to_pylist() == [0, 3]
    with pytest.raises(UnsupportedError, match="unsupported-function-in-table-join"):
        made.sql(inner.replace("JOIN", "LEFT JOIN"))


def test_totals_of_a_join_that_sheds_are_not_joined_with_a_table() -> None:
    made = sales_and_favorites()
    made.stream("returns", SALES, time="ts")
    query = (
        "SELECT f.customer, COUNT(*) AS n FROM sales s [RANGE 5], returns r [RANGE 5], favorites f "
        "WHERE s.item = r.item AND s.item = f.item GROUP BY f.customer"
    )
    with pytest.raises(UnsupportedError, match="the table f is joined to a join that sheds"):
        made.sql(query, memory="10 tuples", on_memory="shed")


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        ("LEFT SEMI JOIN dim d ON TRUE", [1, 2]),
        ("LEFT SEMI JOIN dim d ON s.k > 1", [2]),
        ("LEFT SEMI JOIN empty d ON TRUE", []),
        ("LEFT ANTI JOIN dim d ON TRUE", []),
        ("LEFT ANTI JOIN dim d ON s.k > 1", [1]),
        ("LEFT ANTI JOIN empty d ON TRUE", [1, 2]),
        ("LEFT JOIN dim d ON TRUE", [1, 1, 2, 2]),
        ("LEFT JOIN dim d ON s.k > 1", [1, 2, 2]),
        ("LEFT JOIN dim d ON FALSE", [1, 2]),
        ("LEFT JOIN empty d ON TRUE", [1, 2]),
        ("JOIN dim d ON s.k > 1", [2, 2]),
        ("CROSS JOIN dim d", [1, 1, 2, 2]),
    ],
)
def test_a_table_of_which_no_column_is_read_still_has_its_rows(
    join: str, expected: list[int]
) -> None:
    made = session(
        {"s": {"k": [1, 2], "ts": [0, 1]}},
        time="ts",
        tables={"dim": {"k": [1, 5]}, "empty": {"k": pa.array([], pa.int64())}},
    )
    assert made.sql(f"SELECT s.k FROM s {join}").to_arrow()["k"].to_pylist() == expected
