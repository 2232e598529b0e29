"""The window join of another system's manual: trades with the quotes around them."""

from __future__ import annotations

import pyarrow as pa
from known_answers import known_answers
from sessions import session

CASE = known_answers("kdb_window_join/case.json")


def test_each_trade_has_the_extremes_of_the_quotes_around_it() -> None:
    w = session(
        {name: pa.Table.from_pylist(CASE[name]) for name in ("trades", "quotes")}, time="time_s"
    )
    before, after = CASE["window_s"]
    found = w.sql(
        f"""
        SELECT t.time_s, t.price, MAX(q.ask) AS max_ask, MIN(q.bid) AS min_bid
        FROM trades t WINDOW JOIN quotes q ON t.sym = q.sym
        RANGE BETWEEN {-before} PRECEDING AND {after} FOLLOWING
        """
    ).to_arrow()
    assert found.column_names == CASE["expected_columns"]
    assert [list(row.values()) for row in found.to_pylist()] == CASE["expected"]
