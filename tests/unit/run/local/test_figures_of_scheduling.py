"""Figures 1 and 2 of the 2004 paper, as its text gives them: sums that expire, and an invalid tuple."""

from __future__ import annotations

import pyarrow as pa
from sessions import session

import windrow

WINDOW = 6
SALES = {-5: 6, -4: 9, -1: 5, 1: 8, 2: 2, 3: 1, 4: 3, 5: 7, 6: 2, 7: 1, 8: 3}
"""Values by instant; T1 is 1. What the text does not tell, of the tuples up to 4, is made up."""


SUMS = f"SELECT SUM(price) AS total FROM sales [RANGE {WINDOW}] WHERE price > 4"


def sums(batches: list[dict[int, int]], lateness: int) -> list[tuple[int, int]]:
    """(instant, sum) as the answer becomes another."""
    rows = asked(batches, lateness).sql(SUMS).to_arrow().to_pylist()
    return [(r["_event_time"], r["total"]) for r in rows if r["_change_type"] == "insert"]


def asked(batches: list[dict[int, int]], lateness: int) -> windrow.Session:
    schema = pa.schema([("at", pa.int64()), ("price", pa.int64())])
    tables = [pa.table([list(own), list(own.values())], schema=schema) for own in batches]
    return session({"sales": tables}, time="at", lateness=lateness, schema=schema)


def test_figure_1a_the_sum_changes_as_tuples_expire_though_none_passes_the_selection() -> None:
    found = sums([{at: price} for at, price in SALES.items()], 0)
    assert [one for one in found if 1 <= one[0] <= 6] == [
        (1, 28),
        (2, 22),
        (3, 13),
        (5, 20),
        (6, 15),
    ]


def test_figure_1a_input_triggered_the_sums_of_the_meantime_wait_for_the_next_selected_tuple() -> (
    None
):
    found: dict[str, list[list[int]]] = {}
    for scheduling in ("ita", "tpa", "nta"):
        result = asked([{at: price} for at, price in SALES.items()], 0).sql(
            SUMS, scheduling=scheduling
        )
        found[scheduling] = []
        for batch in result:
            rows = batch.to_pylist()
            totals = [row["total"] for row in rows if row["_change_type"] == "insert"]
            found[scheduling].append(totals)
    # 28 is the sum at T1; 22 and 13, true at T2 and T3, come out with it as 7 arrives at T5.
    assert found["ita"][3] == [28, 22, 13]
    assert found["tpa"][3:6] == [[28], [22], [13]]
    # Figure 5(b): -6 and -9 reach the sum at T2 and T3.
    assert found["nta"] == found["tpa"]


def test_figure_1a_the_response_time_tells_the_delays() -> None:
    def told(scheduling: str) -> tuple[int, int, int]:
        result = asked([{at: price} for at, price in SALES.items()], 0).sql(
            SUMS, scheduling=scheduling
        )
        result.to_arrow()
        response = result.response
        assert response is not None
        return response.changes, response.total, response.maximum

    # A sum goes and another comes: each change but the first is two rows. At the end of the stream
    # the rest comes out, which nobody has waited for.
    assert told("tpa") == told("nta") == (15, 1 + 2 * (3 + 2 + 1 + 1 + 1 + 1 + 1), 3)
    assert told("ita") == (11, 1 + 2 * (3 + 2 + 4 + 3 + 2), 4)


def test_figure_2_a_tuple_under_way_is_not_overtaken_by_an_expiry() -> None:
    delayed = [{at: price} for at, price in SALES.items() if at not in {5, 8}]
    found = sums([*delayed, {5: 7, 8: 3}], 3)
    assert found == sums([SALES], 0)
    assert 8 not in [total for at, total in found if at <= 6]


def test_figure_1b_a_tuple_of_one_stream_takes_back_an_answer_of_the_other() -> None:
    s = pa.table({"item": ["B", "A", "C"], "quantity": [5, 3, 4], "at": [1, 2, 3]})
    w = session({"s": s, "r": {"item": ["A"], "quantity": [3], "at": [4]}}, time="at")
    sql = """
        SELECT item, MAX(quantity) AS most
        FROM (SELECT item, quantity FROM s [RANGE 60] EXCEPT ALL
              SELECT item, quantity FROM r [RANGE 60]) d
        GROUP BY item
    """
    rows = [tuple(row.values()) for row in w.sql(sql).to_arrow().to_pylist()]
    assert rows[:4] == [
        ("B", 5, "insert", 1),
        ("A", 3, "insert", 2),
        ("C", 4, "insert", 3),
        ("A", 3, "delete", 4),
    ]
