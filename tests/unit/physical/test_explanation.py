"""EXPLAIN's two parts, its data, and how it shows itself."""

from __future__ import annotations

import json
import pickle
import re

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
    assert "about 800 rows of a (8 ticks at 100 per tick)" in summary
    assert "at 200 per tick; one core gets through about" in summary


def test_a_stream_without_lateness_deserves_attention(two_streams):
    assert "attention" not in two_streams.explain(SQL)
    two_streams.stream("c", pa.table({"k": [1], "t": [0]}), time="t")
    found = two_streams.explain("SELECT a.k FROM a, c WHERE a.k = c.k WINDOW = 5")
    assert "attention   lateness is 0 for c: any out-of-order row there is late" in found


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


KEYS = {
    "version": 1,
    "": "buckets cost is_changelog logical physical query read_ahead runner stages summary time version",
    "time": "ticks_per_second type",
    "cost": "cores is_paced most_rows_per_second rows_per_second",
    "buckets": "count is_assumed",
    "summary": "label lines",
    "query": "label lines",
    "logical": "depth title",
    "physical": "columns delay depth estimate facts is_stateful node retention title",
    "columns": "name type",
    "retention": "name seconds ticks",
    "facts": "label lines",
    "estimate": "is_decisive known missing output plans reason weights",
    "known": "name source value",
    "plans": "cores name note seconds",
    "stages": "notes partitioned shared title warning",
    "shared": "title why",
}
"""The names that programs read, and the version that has them: another name is another version."""


def keys_of(value, name="") -> dict[str, set[str]]:
    """The names of every object in some JSON, by the name that it stands under."""
    if isinstance(value, list):
        found: dict[str, set[str]] = {}
        for one in value:
            for under, keys in keys_of(one, name).items():
                found.setdefault(under, set()).update(keys)
        return found
    if not isinstance(value, dict):
        return {}
    return {name: set(value)} | {
        under: keys for key, own in value.items() for under, keys in keys_of(own, key).items()
    }


def test_the_names_in_the_data_are_those_of_their_version(two_streams):
    grouped = f"SELECT j.k, COUNT(*) AS n FROM ({SQL}) AS j GROUP BY j.k"
    data = json.loads(two_streams.explain(grouped, format="json"))
    assert {name: " ".join(sorted(keys)) for name, keys in keys_of(data).items()} == {
        name: keys for name, keys in KEYS.items() if name != "version"
    }
    assert data["version"] == KEYS["version"]


def test_both_plans_in_the_data_begin_with_what_comes_out(two_streams):
    data = two_streams.explain(SQL).data
    for plan in ("logical", "physical"):
        assert [node["depth"] for node in data[plan]][:2] == [0, 1]
        assert data[plan][0]["title"] == "Emit append"


def summary_of(rate: str, *, names="ab", sql="", time="ts", **options: object) -> str:
    columns = {"k": pa.int64(), "v": pa.int64(), "at": pa.int64()}
    columns["ts"] = pa.timestamp("us", "UTC")
    made = windrow.Session()
    for name in names:
        empty = pa.table({column: pa.array([], of) for column, of in columns.items()})
        made.stream(name, empty, time=time, rate=rate, distinct={"k": 10})
    window = "INTERVAL '10' MINUTES" if time == "ts" else "10"
    query = sql or f"SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = {window}"
    return made.explain(query, **options).split("\n\n")[0]


@pytest.mark.parametrize(
    ("rate", "time", "words"),
    [
        (
            "0.001 per second",
            "ts",
            "under 0.01% of a core for the window joins, at 0.002 per second",
        ),
        ("3000 per second", "ts", "cores for the window joins, at 6,000 per second"),
        ("1e9 per second", "ts", "over 1,000 cores"),
        ("3000 per second", "ts", "one core keeps up with about 630 per second in the same mix"),
        ("0.000000001 per tick", "at", "under 1 ns of processor time per tick"),
    ],
)
def test_costs_are_figures_that_a_person_can_act_on(rate, time, words):
    summary = summary_of(rate, time=time)
    assert words in summary
    assert not re.search(r"\de[-+]?\d", summary)


@pytest.mark.parametrize(("rate", "is_paced"), [(None, False), ("5 per second", True)])
def test_a_table_is_taken_as_fast_as_it_can_be_unless_its_rate_is_stated(rate, is_paced):
    times = pa.array(range(0, 100_000_000, 1_000_000), pa.timestamp("us", "UTC"))
    rows = {name: {"k": [n % 7 for n in range(100)], "ts": times} for name in "ab"}
    made = session(rows, time="ts", **({"rate": rate, "distinct": {"k": 7}} if rate else {}))
    sql = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '10' SECONDS"
    (cost,) = [line for line in made.explain(sql).splitlines() if "cost   " in line][:1]
    assert ("keeps up with" in cost, "such rows per second" in cost) == (is_paced, not is_paced)


def test_more_than_the_core_there_is_deserves_attention():
    needed = re.search(
        r"at the stated rates this needs about (\d+) cores and runs on one: it will fall behind",
        summary_of("3000 per second"),
    )
    assert needed is not None
    assert int(needed[1]) > 1
    assert "fall behind" not in summary_of("1 per second")


@pytest.mark.parametrize(
    ("options", "raised"),
    [
        ({"memory": "50000 tuples"}, "raise memory"),
        ({"service_rate": "100 per second", "on_service_rate": "shed"}, "raise service_rate"),
    ],
)
def test_a_small_part_of_the_answer_deserves_attention(options, raised):
    if "memory" in options:
        options = options | {"on_memory": "shed"}
    summary = summary_of("1000 per second", **options)
    assert re.search(rf"attention   only about \d+% of the results are expected: {raised}", summary)


def test_what_limits_all_that_is_kept_stands_first_and_no_sentence_is_cut():
    summary = summary_of("1000 per second", memory="50000 tuples", on_memory="shed")
    keeps = summary.split("keeps")[1].split("emits")[0].splitlines()
    assert keeps[0].strip() == (
        "windows and waiting arrivals together <= 50,000 tuples, plus the batch being processed"
    )
    assert not any(line.endswith(":") for line in keeps)


def test_parallel_branches_run_beside_each_other():
    first = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL '1' MINUTES"
    second = "SELECT c.k FROM c, e WHERE c.k = e.k WINDOW = INTERVAL '1' MINUTES"
    summary = summary_of("1 per second", names="abce", sql=f"{first} UNION ALL {second}")
    assert "window join of a, b beside window join of c, e" in summary
    assert summary.count("each combination in the batch of its last tuple") == 1


def test_memory_and_cost_are_told_once(two_streams):
    text = two_streams.explain(SQL)
    assert text.count("as much as the windows need") == 1
    assert text.count("one core gets through about") == 1


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
