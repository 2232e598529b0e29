"""EXPLAIN's two parts, its data, and how it shows itself."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
from golden.test_explain import CASES, explained
from sessions import session

import windrow

SQL = "SELECT a.k FROM a, b WHERE a.k = b.k AND a.v < b.v WINDOW = 5"
MOST_LINES = 12


@pytest.fixture
def two_streams() -> windrow.Session:
    return session(
        {name: {"k": [1], "v": [2], "t": [0]} for name in "ab"},
        time="t",
        lateness=3,
        rate="100 per tick",
        distinct={"k": 10},
    )


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_summary_is_a_dozen_lines_at_most(path):
    title, *lines = explained(path).split("\n\n")[0].splitlines()
    assert title == "summary"
    assert 3 <= len(lines) <= MOST_LINES


def test_the_summary_says_what_runs_what_it_keeps_and_what_it_costs(two_streams):
    summary = two_streams.explain(SQL).split("\n\n")[0]
    assert "in process: window join of a, b" in summary
    assert "a <= rate(a) x (5 + lateness 3 + distance) + one batch" in summary
    assert "at 200 per tick; one core takes about" in summary


def test_a_stream_without_lateness_deserves_attention(two_streams):
    assert "attention" not in two_streams.explain(SQL)
    two_streams.stream("c", pa.table({"k": [1], "t": [0]}), time="t")
    found = two_streams.explain("SELECT a.k FROM a, c WHERE a.k = c.k WINDOW = 5")
    assert "attention   lateness is 0 for c: a row that comes out of order there is late" in found


def test_json_says_the_same_as_the_text(two_streams):
    text = two_streams.explain(SQL)
    data = json.loads(two_streams.explain(SQL, format="json"))
    assert data["version"] == 1
    assert data == json.loads(json.dumps(text.data))
    for node in data["physical"]:
        assert node["title"] in text
        assert all(line in text for fact in node["facts"] for line in fact["lines"])
    assert [node["node"] for node in data["physical"]][-2:] == ["ScanStream", "ScanStream"]
    assert {fact["label"] for fact in data["summary"]} >= {"answer", "runs", "keeps", "emits"}


def test_the_plans_of_a_join_are_in_the_data_with_their_costs(two_streams):
    data = two_streams.explain(SQL).data
    (join,) = [node for node in data["physical"] if node["estimate"]]
    costs = [plan["seconds"] for plan in join["estimate"]["plans"]]
    assert len(costs) > 1
    assert all(cost > 0 for cost in costs)


def test_another_format_is_refused(two_streams):
    with pytest.raises(windrow.PlanError, match="no format 'xml'") as failure:
        two_streams.explain(SQL, format="xml")
    assert failure.value.condition == "unknown-format"


def test_a_notebook_shows_the_text_as_text(two_streams):
    shown = two_streams.explain(SQL)._repr_html_()
    assert "a.v &lt; b.v" in shown
    assert "<details>" in shown


def test_a_prompt_shows_the_text_and_not_its_escapes(two_streams):
    text = two_streams.explain(SQL)
    assert repr(text) == str(text)


def test_an_explanation_can_be_sent_elsewhere(two_streams):
    text = two_streams.explain(SQL)
    again = pickle.loads(pickle.dumps(text))
    assert again == text
    assert again.data == text.data
