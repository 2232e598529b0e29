"""What others add through `windrow.extend`, each in one file, runs in process."""

from __future__ import annotations

import json
from itertools import pairwise

import pyarrow as pa
import pytest
from extension import counting, quiet, steeper  # noqa: F401  # quiet adds by being imported
from hypothesis import given, settings
from hypothesis import strategies as st
from sessions import session

import windrow
from windrow.io.protocol import CONNECTORS
from windrow.registry import load

QUIET = "SELECT q.k, q.t FROM quiet(s, 5) q"


def cut_stream(times, cuts=(), lateness=0) -> windrow.Session:
    rows = pa.table({"k": range(len(times)), "t": pa.array(times, pa.int64())})
    bounds = sorted({0, *cuts, len(times)})
    batches = [b for a, z in pairwise(bounds) for b in rows.slice(a, z - a).to_batches()]
    reader = pa.RecordBatchReader.from_batches(rows.schema, batches)
    return session({"s": reader}, time="t", lateness=lateness)


def expected(times) -> set[int]:
    shown: list[int] = []
    for t in sorted(set(times)):
        if not shown or t - shown[-1] >= 5:
            shown.append(t)
    return set(shown)


@pytest.mark.law
@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=30), st.data())
def test_an_added_operator_answers_whatever_the_order_and_the_cuts(times, data):
    cuts = data.draw(st.lists(st.integers(0, len(times)), max_size=3))
    found = cut_stream(times, cuts, lateness=60).sql(QUIET).to_arrow()
    shown = expected(times)
    rows = sorted(zip(found["k"].to_pylist(), found["t"].to_pylist(), strict=True))
    assert rows == [(k, t) for k, t in enumerate(times) if t in shown]


@pytest.mark.law
def test_an_added_operator_goes_on_from_a_checkpoint():
    w = cut_stream([0, 3, 6, 9, 12, 15], cuts=range(6))
    result = w.sql(QUIET)
    first: list[dict] = []
    for batch in result:
        first += batch.to_pylist()
        if len(first) == 2:
            break
    kept = result.checkpoint()
    again = cut_stream([0, 3, 6, 9, 12, 15], cuts=range(6)).sql(QUIET, resume=kept)
    later = again.to_arrow()["t"].to_pylist()
    assert [row["t"] for row in first] + later == [0, 6, 12]


def test_an_added_operator_stands_below_joins_and_aggregates():
    w = cut_stream([0, 1, 6, 7, 12])
    counted = w.sql("SELECT COUNT(*) AS n FROM quiet(s, 5) [RANGE 20] q").to_arrow()
    assert max(counted["n"].to_pylist()) == 3
    w = cut_stream([0, 1, 6, 7, 12])
    w.stream("o", pa.table({"t": [6]}), time="t")
    joined = w.sql("SELECT q.k FROM quiet(s, 5) q, o WHERE q.t = o.t WINDOW = 1").to_arrow()
    assert joined["k"].to_pylist() == [2]


def test_what_an_added_operator_keeps_and_waits_for_is_in_the_summary():
    summary = {one["label"]: one["lines"] for one in cut_stream([0]).explain(QUIET).data["summary"]}
    assert summary["keeps"] == ["the rows from the watermark on, and the last instant shown"]
    assert summary["emits"] == ["each row once the watermark has passed it; adds no delay"]


def test_explain_tells_of_an_added_operator():
    text = cut_stream([0]).explain(QUIET)
    assert "QuietRows 5" in text
    assert "the last instant shown" in text.split("\n\n")[0]
    assert json.loads(text.to_json())["physical"][2]["node"] == "QuietRows"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT q.k FROM quiet(s, 'x') q", "takes a number of ticks"),
        ("SELECT q.k FROM quiet(s, s.k) q", "is not a constant"),
        ("SELECT q.k FROM quiet(5) q", "is not a stream"),
        ("SELECT q.k FROM loud(s, 5) q", "only streams and derived tables"),
        ("SELECT q.k FROM quiet(nosuch, 5) q", "there is no stream named 'nosuch'"),
    ],
)
def test_a_call_in_from_that_does_not_fit_is_refused(sql, said):
    with pytest.raises(windrow.WindrowError, match=said):
        cut_stream([0]).sql(sql)


def test_an_added_order_judges_pairs():
    w = session(
        {"l": {"x": [10, 20], "t": [1, 2]}, "r": {"x": [9, 13, 11, 25], "t": [1, 2, 3, 4]}},
        time="t",
    )
    sql = (
        "SELECT l.x, r.x AS y FROM l LEFT OUTER BESTMATCH JOIN r ON l.x RISES_TO r.x"
        " WHERE abs(l.t - r.t) <= 5"
    )
    found = w.sql(sql).to_arrow().to_pylist()
    assert sorted((row["x"], row["y"]) for row in found) == [(10, 11), (20, 25)]
    assert steeper.rise(pa.array([3]), pa.array([1])).to_pylist() == [None]


def test_an_added_source_and_sink_move_rows():
    w = session({"n": counting.Numbers(10)}, time="t")
    sink = counting.Listed()
    assert w.run("SELECT n FROM n WHERE n > 7", to=sink).wait(60)
    sink.commit(sink.last, [])  # a second time changes nothing
    assert sink.rows == [{"n": 8}, {"n": 9}]


def test_an_added_connector_is_found_by_its_name():
    place = load(CONNECTORS["counting"])(until=3)
    w = session({"n": place}, time="t")
    assert w.sql("SELECT n FROM n").to_arrow()["n"].to_pylist() == [0, 1, 2]


def test_two_of_one_name_are_refused():
    with pytest.raises(windrow.PlanError, match="another connector 'counting' already"):
        windrow.extend.connector("counting", "elsewhere:Counting")
