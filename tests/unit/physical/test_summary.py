"""EXPLAIN's first part is true of queries of all families, and names what a person can look up."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow


def made(time: str = "t", **streams: object) -> windrow.Session:
    """Streams a, b and c, and a table d; lateness 2 unless told otherwise."""
    columns = {"k": pa.int64(), "x": pa.int64(), "item": pa.string(), "t": pa.int64()}
    columns["ts"] = pa.timestamp("us", "UTC")
    empty = pa.table({name: pa.array([], of) for name, of in columns.items()})
    own = windrow.Session()
    late = "2 seconds" if time == "ts" else 2
    for name in "abc":
        own.stream(name, empty, time=time, lateness=late, **streams)
    own.table("d", pa.table({"k": [1], "r": ["x"]}))
    return own


def summary(sql: str, time: str = "t", streams: dict[str, object] | None = None, **options: object):
    """The summary's lines by their labels."""
    data = made(time, **(streams or {})).explain(sql, **options).data
    return {fact["label"]: fact["lines"] for fact in data["summary"]}


JOIN = "FROM a, b WHERE a.k = b.k WINDOW = 5"
RATES = {"rate": 1_000, "distinct": {"k": 100}}


def test_a_table_that_is_joined_is_kept():
    found = summary("SELECT a.k, d.r FROM a JOIN d ON a.k = d.k")
    assert found["keeps"] == [
        "d: the whole table, in process with an index on d.k, on Spark as Spark keeps it"
    ]
    assert found["emits"] == ["each row in its batch"]


def test_memory_is_not_spoken_of_where_nothing_is_kept():
    found = summary("SELECT k FROM a")
    assert "memory" not in found
    assert found["keeps"] == ["nothing: each row is answered on its own"]
    assert "memory" in summary(f"SELECT a.k {JOIN}")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT DISTINCT a.k {JOIN}",
        "SELECT a.k FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k EMIT CHANGES",
        f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k",
    ],
)
def test_what_is_held_of_a_join_is_called_by_its_streams(sql):
    kept = summary(sql)["keeps"]
    assert any("combinations of a, b <= rate(combinations of a, b) x" in line for line in kept)
    assert not any(line.startswith("k ") or "rate(k)" in line for line in kept)


def test_a_derived_table_is_called_by_its_name():
    sql = f"SELECT j.k, COUNT(*) AS n FROM (SELECT a.k {JOIN}) AS j GROUP BY j.k"
    assert any("rate(j)" in line for line in summary(sql)["keeps"])


def test_what_the_answer_waits_for_is_told_by_the_last_operator():
    found = summary(f"SELECT a.k, COUNT(*) AS n {JOIN} GROUP BY a.k")
    assert found["emits"] == [
        "the changes of each instant below the watermark, net, deletes before inserts"
    ]
    assert summary(f"SELECT a.k {JOIN}")["emits"] == [
        "each combination in the batch of its last tuple; adds no delay"
    ]


def test_delays_below_are_told_in_all_where_the_last_line_does_not():
    left = "SELECT a.k FROM a LEFT JOIN b ON a.k = b.k WINDOW = 40"
    found = summary(f"SELECT j.k FROM ({left}) AS j, c WHERE j.k = c.k WINDOW = 5")
    assert found["emits"] == [
        "each combination in the batch of its last tuple; adds no delay",
        "in all, rows may trail the watermark by 40",
    ]


def test_a_semi_join_answers_at_once_with_times_that_trail():
    found = summary("SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k WINDOW = 4")
    assert found["emits"] == [
        "each tuple in the batch of its first match; its time may trail the watermark by 4"
    ]


def test_pairs_of_an_outer_join_come_at_once_and_rows_alone_later():
    found = summary("SELECT a.k, b.x FROM a LEFT JOIN b ON a.k = b.k WINDOW = 4")
    assert found["emits"] == [
        "each combination in the batch of its last tuple; unmatched tuples when final, which may"
        " trail the watermark by 4"
    ]


def test_a_count_window_says_whose_rows_it_keeps():
    found = summary("SELECT k FROM a [ROWS 5] EMIT CHANGES")
    assert found["keeps"][0] == "a: the newest 5 rows, and what waits for the watermark"


@pytest.mark.parametrize(
    ("time", "window", "words"),
    [
        ("t", "4", "is over (1 tick); adds a delay of 1"),
        ("t", "40", "is over (2 ticks); adds a delay of 2"),
        ("ts", "INTERVAL '2' MINUTES", "is over (7.5s); adds a delay of 7.5s"),
    ],
)
def test_panes_have_a_length_that_is_shown_one_way(time, window, words):
    sql = f"SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = {window}"
    options = {"memory": "5000 tuples", "on_memory": "shed"}
    found = summary(sql, time, RATES, **options)
    (line,) = found["emits"]
    assert line == f"each combination once the pane of its last tuple {words}"
    assert "7s 500ms" not in made(time, **RATES).explain(sql, **options)


CALLS = (
    "count_if(x > 1)",
    "any_value(item)",
    "bool_or(x > 2)",
    "max_by(x, item) FILTER (WHERE k > 1)",
    "sum(x) FILTER (WHERE x > 2)",
    "count(*) FILTER (WHERE x > 3)",
    "count(DISTINCT x, k)",
    "min(x)",
)


@pytest.mark.parametrize("call", CALLS)
def test_aggregates_are_shown_as_they_were_written(call):
    written = call.replace("count_if", "COUNTIF").replace("sum", "SUM")
    text = made().explain(f"SELECT k, {written} AS n FROM a [RANGE 5] GROUP BY k")
    assert f"in process: sliding aggregate {call}\n" in text
    assert f"WindowAggregate {call} by k" in text
    assert f"keeps       {call}: " in text


def test_what_is_kept_of_values_says_whose_they_are():
    text = made().explain("SELECT MAX_BY(x, item) AS m, MEDIAN(x) AS n FROM a [RANGE 5]")
    assert "max_by(x, item): the values that no younger one outdoes, at most one per row" in text
    assert "median(x): the values in order, at most one per row alive" in text


@pytest.mark.parametrize(("key", "shown"), [("k", "a.k"), ("k + 1", "k + 1")])
def test_groups_without_aggregates_are_named_by_their_keys(key, shown):
    sql = f"SELECT {key} AS g FROM a [RANGE 5] GROUP BY {key}"
    assert summary(sql)["runs"] == [f"in process: groups by {shown}"]


def test_a_minus_says_in_short_what_it_keeps():
    found = summary("SELECT k FROM a [RANGE 5] EXCEPT ALL SELECT k FROM b [RANGE 5]")
    assert found["keeps"][2:] == ["one count per different row of a and of b"]


def test_counts_say_whose_rows_they_are_and_what_hands_rows_on_is_no_step():
    found = summary("SELECT DISTINCT k FROM a [RANGE 5] UNION ALL SELECT k FROM b [RANGE 5]")
    assert found["runs"] == ["in process: DISTINCT, then net changes of each instant"]
    assert len(set(found["keeps"])) == len(found["keeps"])


HOUR = "SELECT a.k FROM a, b WHERE a.k = b.k{} WINDOW = INTERVAL '1' HOURS"
PER_SECOND = {"rate": "1000 per second", "distinct": {"k": 100}}


def test_rows_are_told_where_rates_are_stated():
    found = summary(HOUR.format(""), "ts", PER_SECOND)
    assert found["keeps"] == [
        f"about 3,600,000 rows of {name} (1h 2s at 1,000 per second)" for name in "ab"
    ]
    grouped = summary("SELECT k, COUNT(*) AS n FROM a [RANGE 5] GROUP BY k", "t", RATES)
    assert grouped["keeps"] == [
        "about 8,000 rows of a (8 ticks at 1,000 per tick), and one accumulator row per group"
    ]


def test_rows_that_a_filter_may_take_out_are_counted_as_a_limit():
    found = summary(HOUR.format(" AND a.x > 3"), "ts", PER_SECOND)
    assert found["keeps"][0] == "at most about 3,600,000 rows of a (1h 2s at 1,000 per second)"


def test_rows_are_not_told_where_nobody_knows_how_long_they_wait():
    own = windrow.Session()
    for name in "ab":
        own.stream(name, pa.table({"k": [1], "t": [1]}), time="t", read_ahead=3, **RATES)
    assert (
        "a <= rate(a) x (5 + lead + distance)" in own.explain(f"SELECT a.k {JOIN}").split("\n\n")[0]
    )


def test_a_limit_on_memory_stands_for_the_rows_that_would_be_kept_without():
    options = {"memory": "5000 tuples", "on_memory": "shed"}
    assert not any(
        "about" in line for line in summary(HOUR.format(""), "ts", PER_SECOND, **options)["keeps"]
    )


def test_keys_that_divide_windows_are_told_once():
    sql = "SELECT a.k FROM a [ROWS 5], b [PARTITION BY k ROWS 5] WHERE a.k = b.k"
    assert made(**RATES).explain(sql).count("keys(b.k) = 100 (hint)") == 1


def test_data_has_what_programs_decide_by():
    data = made("ts", **PER_SECOND).explain(HOUR.format("")).data
    assert data["time"] == {"type": "timestamp", "ticks_per_second": 1_000_000}
    (join,) = [node for node in data["physical"] if node["estimate"]]
    assert join["retention"] == [
        {"name": name, "ticks": 3_600_000_000, "seconds": 3_600.0} for name in "ab"
    ]
    taken = join["estimate"]["plans"][0]
    assert data["cost"]["cores"] == taken["cores"] == pytest.approx(taken["seconds"] * 1e6)
    assert data["cost"]["rows_per_second"] == pytest.approx(2_000)
    assert 300 < data["cost"]["most_rows_per_second"] < 2_000 / data["cost"]["cores"] ** 0.4
    assert data["buckets"] == {"count": 4, "is_assumed": True}
    assert data["read_ahead"] == []


def test_data_of_plain_numbers_has_no_seconds():
    data = made(**RATES).explain(f"SELECT a.k {JOIN}", buckets=7).data
    assert data["time"] == {"type": "bigint", "ticks_per_second": None}
    (join,) = [node for node in data["physical"] if node["estimate"]]
    assert join["retention"][0] == {"name": "a", "ticks": 5, "seconds": None}
    assert join["estimate"]["plans"][0]["cores"] is None
    assert data["cost"]["cores"] is None
    assert data["cost"]["most_rows_per_second"] > 0
    assert data["buckets"] == {"count": 7, "is_assumed": False}
    assert made().explain("SELECT k FROM a").data["cost"] is None


def test_streams_that_promise_by_read_ahead_are_in_the_data():
    own = windrow.Session()
    for name in "ab":
        own.stream(name, pa.table({"k": [1], "t": [1]}), time="t", read_ahead=3)
    assert own.explain(f"SELECT a.k {JOIN}").data["read_ahead"] == ["a", "b"]
