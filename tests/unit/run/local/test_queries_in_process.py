"""Whole queries in process: what goes in as batches, what comes out, and what is counted."""

from __future__ import annotations

import datetime as dt
import pickle
import re
from collections import Counter
from functools import cache
from itertools import islice
from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from case_share import share_of
from cases.in_process import cut_again
from cases.tape import TAPES
from hypothesis import given, settings
from plans import physical
from sessions import session

from windrow import DataError, PlanError, ResourceError, WindrowError
from windrow.operators.expressions.evaluate import DuckdbTypes
from windrow.optimize.planner import optimize
from windrow.physical.options import Options
from windrow.physical.query import PhysicalQuery
from windrow.run.local.checkpoint import Checkpoint
from windrow.run.local.execution import Execution
from windrow.run.local.result import Result
from windrow.run.local.sources import source_of
from windrow.schema import MAX_TICK
from windrow.sql.compile import compile_query

JOIN = "SELECT a.k, a.n AS an, b.n AS bn FROM a, b WHERE a.k = b.k WINDOW = 5"
TOTALS = "SELECT k, SUM(n) AS total, COUNT(*) AS c FROM a [RANGE 5] WHERE n > 0 GROUP BY k"
NESTED = (
    "SELECT x.k, COUNT(*) AS c FROM (SELECT a.k AS k FROM a, b WHERE a.k = b.k WINDOW = 5) x "
    "[RANGE 4] GROUP BY x.k"
)
NEAREST = (
    "SELECT a.n AS an, b.n AS bn FROM a LEFT OUTER BESTMATCH JOIN b "
    "ON a.at MINDIST b.at, a.n MINDIST b.n WHERE abs(a.at - b.at) <= 5 AND abs(a.n - b.n) <= 2"
)


def batch(*rows: tuple[str, int, int | None]) -> pa.RecordBatch:
    """Rows of (k, n, at)."""
    columns = list(zip(*rows, strict=True)) if rows else [[], [], []]
    return pa.RecordBatch.from_arrays(
        [
            pa.array(columns[0], pa.string()),
            pa.array(columns[1], pa.int64()),
            pa.array(columns[2], pa.int64()),
        ],
        names=["k", "n", "at"],
    )


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


ONE_SIDED = [
    ("10 PRECEDING AND 5 PRECEDING", range(-10, -4)),
    ("5 FOLLOWING AND 10 FOLLOWING", range(5, 11)),
    ("3 PRECEDING AND 3 PRECEDING", range(-3, -2)),
    ("0 FOLLOWING AND 2 FOLLOWING", range(3)),
]


@pytest.mark.parametrize(("window", "differences"), ONE_SIDED)
def test_a_window_with_both_ends_on_one_side_includes_them(window, differences):
    lines = [batch(*(("x", n, n) for n in range(start, start + 8))) for start in range(0, 40, 8)]
    made = session({"a": lines, "b": lines}, time="at", lateness=4)
    query = f"SELECT a.n AS an, b.n AS bn FROM a, b WHERE a.k = b.k WINDOW (a, b) BETWEEN {window}"
    expected = [(n, n + d) for n in range(40) for d in differences if 0 <= n + d < 40]
    assert sorted(rows_of(made.sql(query).to_arrow())) == sorted(expected)


@pytest.mark.law
@pytest.mark.parametrize(("window", "_"), ONE_SIDED)
@pytest.mark.parametrize("algorithm", ["bew", "few", "nlw"])
def test_what_is_held_under_a_one_sided_window_stays_within_the_bound_of_explain(
    window, _, algorithm
):
    lines = [batch(*(("x", n, n) for n in range(start, start + 8))) for start in range(0, 400, 8)]
    query = f"SELECT a.n FROM a, b WHERE a.k = b.k WINDOW (a, b) BETWEEN {window}"
    made = session({"a": lines, "b": lines}, time="at", lateness=3)
    plan = physical(made.explain(query, algorithm=algorithm))
    # Each stream has one tuple per tick, and is at most one batch of 8 ahead of the other.
    stated = re.findall(r"[ab] <= rate\(.\) x (?:max\(0, |\()(.*)\) \+ one batch", plan)
    terms = [re.findall(r"(-? ?)(?:lateness )?(\d+)", t.replace("distance", "8")) for t in stated]
    lengths = [max(0, sum(int(f"{sign.strip()}{n}") for sign, n in own)) for own in terms]
    result = made.sql(query, algorithm=algorithm)
    held = [result.progress.stored for _ in result]
    assert len(lengths) == 2
    assert max(held) <= sum(lengths) + 2 * 8


def test_a_three_way_join_gives_each_combination_within_the_windows_once():
    def at(second: int) -> dt.datetime:
        return dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second)

    def store(*rows: tuple[str, int]) -> pa.Table:
        return pa.table({"item": [r[0] for r in rows], "ts": [at(r[1]) for r in rows]})

    made = session(
        {"a": store(("pen", 0), ("ink", 10)), "b": store(("pen", 1800), ("ink", 4000))},
        time="ts",
        lateness="5 seconds",
    )
    made.stream("c", store(("pen", 3600), ("pen", 3601), ("ink", 20)), time="ts")
    result = made.sql(
        "SELECT a.item, a.ts AS first, c.ts AS last FROM a, b, c "
        "WHERE a.item = b.item AND b.item = c.item WINDOW = INTERVAL '1' HOUR"
    ).to_arrow()
    assert rows_of(result) == [("pen", at(0), at(3600))]
    assert result.schema.field("first").type == pa.timestamp("us", "UTC")


def test_a_sliding_aggregate_is_a_changelog_with_expirations():
    #  n   5 at 0 ======]          alive 0..5
    #      7 at 3    ======]       alive 3..8
    result = session({"a": batch(("u", 5, 0), ("u", 7, 3), ("u", -1, 4))}, time="at").sql(TOTALS)
    assert rows_of(result.to_arrow()) == [
        ("u", 5, 1, "insert", 0),
        ("u", 5, 1, "delete", 3),
        ("u", 12, 2, "insert", 3),
        ("u", 12, 2, "delete", 6),
        ("u", 7, 1, "insert", 6),
        ("u", 7, 1, "delete", 9),
    ]
    assert result.schema.names == ["k", "total", "c", "_change_type", "_event_time"]


@pytest.mark.parametrize(
    ("time", "kind"),
    [
        (pa.array([1], pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC")),
        (pa.array([1], pa.timestamp("us")), pa.timestamp("us")),
        (pa.array([1], pa.int32()).cast(pa.date32()), pa.date32()),
    ],
)
def test_event_time_has_the_type_of_the_streams_time(time, kind):
    made = session({"s": {"ts": time}}, time="ts")
    result = made.sql("SELECT COUNT(*) AS n FROM s [RANGE INTERVAL '1' DAY]").to_arrow()
    assert result.schema.field("_event_time").type == kind
    assert result.column("_event_time")[0] == time[0]


def test_a_bestmatch_join_gives_the_pairs_that_nothing_dominates():
    made = session(
        {
            "a": batch(("", 10, 0), ("", 20, 9)),
            "b": batch(("", 11, 1), ("", 10, 2), ("", 12, 5), ("", 99, 9)),
        },
        time="at",
    )
    # n = 10 at 0: (1, 1), (2, 0), (5, 2); the last is farther in both than the first.
    assert sorted(rows_of(made.sql(NEAREST).to_arrow())) == [(10, 10), (10, 11)]


def test_a_join_inside_an_aggregate_is_one_query():
    #  a  u1        b  u3: a row at 3, alive 3..7; b u5: one at 5, alive 5..9
    made = session({"a": batch(("u", 0, 1)), "b": batch(("u", 0, 3), ("u", 0, 5))}, time="at")
    result = made.sql(NESTED)
    assert rows_of(result.to_arrow()) == [
        ("u", 1, "insert", 3),
        ("u", 1, "delete", 5),
        ("u", 2, "insert", 5),
        ("u", 2, "delete", 8),
        ("u", 1, "insert", 8),
        ("u", 1, "delete", 10),
    ]
    names = list(result.progress.operators)
    assert [name.split()[0] for name in names] == ["WJoin", "SlidingAggregate"]


def test_an_aggregate_over_a_bestmatch_join_waits_for_its_delay():
    made = session(
        {
            "a": [batch(("", 10, 0)), batch(("", 10, 20))],
            "b": [batch(("", 11, 5)), batch(("", 11, 18))],
        },
        time="at",
    )
    query = f"SELECT COUNT(*) AS c FROM ({NEAREST}) x [RANGE 1]"
    # Pairs (0, 5) at 5 and (20, 18) at 20, each alive for two ticks.
    changes = rows_of(made.sql(query).to_arrow())
    assert [(c, at) for c, kind, at in changes if kind == "insert"] == [
        (1, 5),
        (0, 7),
        (1, 20),
        (0, 22),
    ]


def test_batches_come_as_their_input_does():
    def endless(offset: int):
        at = offset
        while True:
            yield batch(("u", at, at))
            at += 10

    made = session({"a": endless(0), "b": endless(1)}, time="at")
    result = made.sql(JOIN)
    assert [rows_of(pa.Table.from_batches([next(result)])) for _ in range(3)] == [
        [("u", 0, 1)],
        [("u", 10, 11)],
        [("u", 20, 21)],
    ]
    assert result.progress.stored <= 4
    result.stop()
    assert list(result) == []


def test_pandas_and_arrow_and_polars_give_the_same_answer():
    pl = pytest.importorskip("polars")
    left, right = batch(("u", 1, 1), ("v", 2, 2)), batch(("v", 3, 3), ("u", 4, 9))
    answers = [
        session({"a": form(left), "b": form(right)}, time="at").sql(JOIN)
        for form in (pa.RecordBatch.to_pandas, pl.from_arrow, lambda rows: rows)
    ]
    frame, polars, table = answers[0].to_pandas(), answers[1].to_polars(), answers[2].to_arrow()
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("list") == polars.to_dict(as_series=False) == table.to_pydict()
    assert table.to_pydict() == {"k": ["v"], "an": [2], "bn": [3]}


def test_a_result_can_be_read_through_the_arrow_interface():
    result = session({"a": batch(("u", 1, 1)), "b": batch(("u", 2, 2))}, time="at").sql(JOIN)
    assert pa.table(result).to_pydict() == {"k": ["u"], "an": [1], "bn": [2]}


def test_an_answer_without_rows_keeps_its_columns():
    table = session({"a": batch(), "b": batch(("u", 1, 1))}, time="at").sql(JOIN).to_arrow()
    assert table.to_pydict() == {"k": [], "an": [], "bn": []}


# at      0        10     12   5            the row at 5 comes when the watermark is 10
LATE = [batch(("u", 1, 0)), batch(("u", 2, 10), ("u", 3, 12)), batch(("u", 4, 5), ("u", 5, None))]


def test_late_rows_are_counted_and_left_out():
    result = session({"a": list(LATE)}, time="at", lateness=2).sql(TOTALS)
    table = result.to_arrow()
    assert max(total for _, total, *_ in rows_of(table)) == 5
    assert (result.progress.late, result.progress.null_time) == (1, 1)
    assert result.progress.rows_in == 5
    assert result.late == {}


def test_late_rows_are_kept_as_they_came():
    result = session({"a": list(LATE)}, time="at", lateness=2).sql(
        "SELECT COUNT(*) AS c FROM a [RANGE 5]", on_late="keep"
    )
    result.to_arrow()
    assert rows_of(result.late["a"]) == [("u", 4, 5), ("u", 5, None)]
    assert (result.progress.late, result.progress.null_time) == (1, 1)


def test_rows_that_the_query_does_not_want_are_not_kept_as_late():
    late = [*LATE[:2], batch(("u", 4, 5), ("u", -1, 6))]
    result = session({"a": late}, time="at", lateness=2).sql(TOTALS, on_late="keep")
    result.to_arrow()
    assert rows_of(result.late["a"]) == [("u", 4, 5)]
    assert result.progress.late == 1


def test_a_late_row_of_a_stream_under_two_aliases_is_kept_once():
    query = "SELECT x.n FROM a x, a y WHERE x.k = y.k WINDOW = 5"
    result = session({"a": list(LATE)}, time="at", lateness=2).sql(query, on_late="keep")
    result.to_arrow()
    assert rows_of(result.late["a"]) == [("u", 4, 5), ("u", 5, None)]


def test_a_late_row_is_fatal_by_choice():
    result = session({"a": list(LATE)}, time="at", lateness=2).sql(TOTALS, on_late="fail")
    with pytest.raises(DataError) as error:
        result.to_arrow()
    assert str(error.value) == (
        "DataError[late-row]: a row of a at 5 is late\n"
        "  the watermark was 10 as its batch began; the stream promises a lateness of 2\n"
        "  hint: raise the lateness of a by 5 or more, or set on_late to 'count' or 'keep'"
    )
    assert error.value.sql == TOTALS


def test_a_row_below_its_own_streams_promise_but_not_below_the_querys_watermark_is_used():
    #  a (lateness 0)     0 ... 20, then 17: below a's promise of 20
    #  b (lateness 10)    20, 25            which holds the query's watermark at 15
    made = session({"a": [batch(("u", 1, 0), ("u", 2, 20)), batch(("u", 3, 17))]}, time="at")
    made.stream("b", [batch(("u", 8, 20), ("u", 9, 25))], time="at", lateness=10)
    result = made.sql(JOIN)
    assert sorted(rows_of(result.to_arrow())) == [("u", 2, 8), ("u", 2, 9), ("u", 3, 8)]
    assert result.progress.late == 0


def test_a_large_table_out_of_order_has_no_late_rows(monkeypatch):
    monkeypatch.setattr("windrow.run.local.sources.SLICE_ROWS", 3)
    table = pa.Table.from_batches([batch(*(("u", 1, 37 * i % 20) for i in range(20)))])
    result = session({"a": table}, time="at").sql("SELECT COUNT(*) AS c FROM a [RANGE 100]")
    counts = [c for c, kind, _ in rows_of(result.to_arrow()) if kind == "insert"]
    assert max(counts) == 20
    assert result.progress.late == 0


def test_progress_ends_with_empty_state_and_the_watermark_at_infinity():
    result = session({"a": batch(("u", 1, 1)), "b": batch(("u", 2, 2))}, time="at").sql(JOIN)
    before = result.progress
    table = result.to_arrow()
    assert (before.batch, before.rows_in, before.rows_out) == (0, 0, 0)
    assert result.progress.watermark == MAX_TICK
    assert (result.progress.rows_in, result.progress.rows_out) == (2, table.num_rows)
    assert result.progress.stored == 0
    assert result.progress.operators["WJoin a, b"]["rows_in"] == 2


def test_progress_is_shown_per_batch(capsys):
    session({"a": batch(("u", 1, 1)), "b": batch(("u", 2, 2))}, time="at").sql(
        JOIN, progress="json"
    ).to_arrow()
    assert '"rows_in": 2' in capsys.readouterr().err.splitlines()[-1]


def test_bad_values_name_their_expression_and_end_the_run():
    made = session({"a": [batch(("u", 0, 1))], "b": [batch(("u", 2, 2))]}, time="at")
    result = made.sql("SELECT a.k, 10 / a.n AS share FROM a, b WHERE a.k = b.k WINDOW = 5")
    with pytest.raises(DataError, match="Division by zero"):
        result.to_arrow()
    with pytest.raises(DataError, match="Division by zero"):  # whoever asks on hears it again
        next(result)


def test_a_checkpoint_of_another_query_is_refused():
    made = session({"a": [batch(("u", 1, 1))], "b": [batch(("u", 2, 2))]}, time="at")
    checkpoint = made.sql(JOIN).checkpoint()
    with pytest.raises(PlanError) as error:
        made.sql(TOTALS, resume=checkpoint)
    assert str(error.value) == (
        "PlanError[checkpoint-of-another-query]: the checkpoint was made by another query\n"
        f"  it holds the state of: {JOIN}\n"
        "  hint: resume with the query that made it, or start without resume"
    )


def test_a_checkpoint_of_an_unknown_version_is_refused():
    with pytest.raises(ResourceError) as error:
        Checkpoint(JOIN, {}, 0, (), (), version="99.1").check(JOIN)
    assert str(error.value) == (
        "ResourceError[unknown-state-version]: the checkpoint has state version 99.1\n"
        "  this version of Windrow reads state version 6.1\n"
        "  hint: resume with the version of Windrow that made the checkpoint, or start afresh"
    )


def streams(random: Random) -> list[pa.RecordBatch]:
    """Batches whose times climb, with some disorder within lateness 3."""
    return [
        batch(
            *(
                (random.choice("uv"), random.randint(-2, 4), 4 * number - random.randint(0, 3))
                for _ in range(random.randint(0, 3))
            )
        )
        for number in range(random.randint(1, 5))
    ]


@cache
def planned(query: str) -> PhysicalQuery:
    """The query over streams a and b of lateness 3; planning takes longer than running here."""
    made = session({"a": batch(), "b": batch()}, time="at", lateness=3)
    catalog = made._registered.catalog
    return optimize(compile_query(query, catalog, DuckdbTypes()), Options())


def run(query: str, inputs: dict[str, list[pa.RecordBatch]], resume: Checkpoint | None = None):
    sources = {name: source_of(name, batches) for name, batches in inputs.items()}
    return Result(lambda: Execution(planned(query), sources, resume=resume))


@pytest.mark.law
@pytest.mark.parametrize("query", [JOIN, TOTALS, NESTED, NEAREST])
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(random=TAPES)
def test_resuming_after_any_batch_equals_never_having_stopped(query, random):
    inputs = {name: streams(random) for name in ("a", "b")}
    stops = random.randint(0, 6)  # batches of the answer before the stop
    whole = run(query, inputs)
    expected = Counter(rows_of(whole.to_arrow()))
    first = run(query, inputs)
    taken = list(islice(first, stops))
    checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
    again = {name: cut_again(batches, random) for name, batches in inputs.items()}
    rest = run(query, again, checkpoint)
    answer = Counter(rows_of(pa.Table.from_batches(taken, first.schema)))
    answer.update(rows_of(rest.to_arrow()))
    assert answer == expected
    assert rest.progress.rows_in == whole.progress.rows_in
    assert rest.progress.rows_out == whole.progress.rows_out
    assert rest.progress.late == whole.progress.late == 0


@pytest.mark.law
def test_the_state_of_a_join_stays_bounded_over_long_streams():
    size, batches = 200, 60

    def sensor(offset: int):
        for number in range(batches):
            start = number * size + offset
            yield pa.record_batch(
                {
                    "k": [f"key {i % 50}" for i in range(size)],
                    "n": list(range(size)),
                    "at": list(range(start, start + size)),
                }
            )

    result = session({"a": sensor(0), "b": sensor(1)}, time="at").sql(JOIN.replace("5", "100"))
    most = 0
    for _ in result:
        most = max(most, result.progress.stored)
    # Each stream keeps 100 ticks of one row each, plus the batch that is ahead.
    assert most <= 2 * (100 + 2 * size)
    assert result.progress.rows_in == 2 * size * batches
    assert result.progress.stored == 0


def test_errors_while_running_are_windrows_own():
    made = session(
        {"a": iter([batch(("u", 1, 1)), pa.record_batch({"k": ["u"]})]), "b": batch()}, time="at"
    )
    with pytest.raises(WindrowError, match="a batch of a has no column 'n'"):
        made.sql(JOIN).to_arrow()
