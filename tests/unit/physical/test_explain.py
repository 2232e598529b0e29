"""EXPLAIN's words one by one; whole plans are golden files."""

from __future__ import annotations

import pytest
from case_share import share_of
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import HOUR, MINUTE, SECOND, Bound, expr, join, query, renamed, scan, stream

from windrow.operators.joins.join_steps import route_from
from windrow.optimize.planner import optimize
from windrow.physical.algorithms import ALGORITHMS, choice, choices
from windrow.physical.explain.explanation import explain
from windrow.physical.explain.facts import closure_facts, show_bound, stated_windows
from windrow.physical.options import Options
from windrow.physical.probe_orders import probe_order
from windrow.plan.nodes.bestmatch_join import BestmatchJoin, Dimension
from windrow.plan.texts import show_predicates
from windrow.plan.windows import UNBOUNDED, WindowGraph

STREAMS = {name: stream(name, {"k": "int", "x": "int"}) for name in "abc"}
INPUTS = {name: scan(info) for name, info in STREAMS.items()}
HOURS = (Bound(0, 1, HOUR, HOUR, "WINDOW (a, b) = 1h"), Bound(1, 2, 0, HOUR, "DWINDOW (b, c) = 1h"))


def explained(root, options=None) -> str:
    logical = query(renamed(root, {"x": "a.x"}))
    return explain(logical, optimize(logical, options or Options()))


@pytest.mark.parametrize(
    ("lo", "hi", "text"),
    [
        (HOUR, HOUR, "a-b within 1h"),
        (0, 0, "a-b within 0s"),
        (0, HOUR, "t(b) - t(a) in [0s, 1h]"),
        (-MINUTE, HOUR, "t(b) - t(a) in [1m, 1h]"),
        (HOUR, -MINUTE, "t(b) - t(a) in [-1h, -1m]"),
        (UNBOUNDED, HOUR, "t(b) - t(a) <= 1h"),
        (0, UNBOUNDED, "t(b) - t(a) >= 0s"),
    ],
)
def test_a_bound_shows_its_direction_where_it_has_one(lo, hi, text):
    assert show_bound("a", "b", lo, hi, "timestamp") == text


def test_windows_are_shown_as_stated_implied_and_tightened():
    bounds = (*HOURS, Bound(0, 2, 9 * HOUR, 9 * HOUR, "WINDOW (a, c) = 9h"))
    graph = WindowGraph(("a", "b", "c"), bounds)
    assert stated_windows(graph, "timestamp") == [
        "WINDOW (a, b) = 1h: a-b within 1h",
        "DWINDOW (b, c) = 1h: t(c) - t(b) in [0s, 1h]",
        "WINDOW (a, c) = 9h: a-c within 9h",
    ]
    closed = dict(closure_facts(graph, "timestamp"))
    assert closed["tightened"] == ["t(c) - t(a) in [-1h, 2h]"]
    assert closed["implied"] == []
    path = WindowGraph(("a", "b", "c"), HOURS)
    assert dict(closure_facts(path, "timestamp"))["implied"] == ["t(c) - t(a) in [-1h, 2h]"]


def test_predicates_with_or_are_put_in_parentheses_beside_others():
    either, both = expr("a.k = 1 OR a.k = 2"), expr("a.order = 1")
    assert show_predicates([either, both]) == "(a.k = 1 OR a.k = 2) AND a.order = 1"
    assert show_predicates([either]) == "a.k = 1 OR a.k = 2"


def test_the_same_query_gives_the_same_text():
    root = join(INPUTS, "a.k = b.k,b.k = c.k", *HOURS)
    assert explained(root) == explained(root)


def test_line_breaks_that_the_user_wrote_do_not_break_the_lines_of_the_plan():
    bounds = (Bound(0, 1, HOUR, HOUR, "WINDOW (a, b)\n   = 1h"), HOURS[1])
    assert "WINDOW (a, b) = 1h: a-b within 1h\n" in explained(join(INPUTS, "a.k = b.k", *bounds))


def test_buckets_are_assumed_unless_set():
    root = join(INPUTS, "a.k = b.k,b.k = c.k", *HOURS)
    assert "on Spark, 4 buckets (assumed; one per shuffle partition if not set)" in explained(root)
    text = explained(root, Options(buckets=16))
    assert "on Spark, 16 buckets (set by buckets)\n" in text
    assert "partitioned by a.k = b.k = c.k (16)\n" in text


@pytest.mark.parametrize(
    ("on_late", "words"),
    [
        ("count", "counted and dropped"),
        ("keep", "counted and kept aside, each once"),
        ("fail", "the query fails"),
    ],
)
def test_explain_says_what_happens_to_late_rows(on_late, words):
    text = explained(join(INPUTS, "a.k = b.k", *HOURS), Options(on_late=on_late))
    assert f"below the watermark when their batch begins: {words}\n" in text


@pytest.mark.parametrize(
    ("polling", "words"),
    [
        ("in step", "the stream that is furthest behind in event time is asked first"),
        ("round robin", "round robin: each stream is asked again after all others"),
    ],
)
def test_explain_says_in_which_order_streams_are_asked_where_that_was_chosen(polling, words):
    root = join(INPUTS, "a.k = b.k", *HOURS)
    assert f"  polling     in process, {words}\n" in explained(root, Options(polling=polling))
    assert "polling" not in explained(root)


def test_a_forced_method_says_who_asked_for_it():
    text = explained(join(INPUTS, "a.k = b.k", *HOURS), Options(algorithm="bew-nested-loop"))
    assert "BEW, nested loop\n" in text
    assert "asked for by algorithm = bew-nested-loop\n" in text


TITLES = {
    "bew": "BEW, hash on a.k = b.k",
    "bew-hash": "BEW, hash on a.k = b.k",
    "bew-nested-loop": "BEW, nested loop",
    "bew-tuple-at-a-time": "BEW, tuple by tuple, hash on a.k = b.k",
    "bew-tuple-at-a-time-hash": "BEW, tuple by tuple, hash on a.k = b.k",
    "bew-tuple-at-a-time-nested-loop": "BEW, tuple by tuple, nested loop",
    "few": "FEW, hash on a.k = b.k",
    "few-hash": "FEW, hash on a.k = b.k",
    "few-nested-loop": "FEW, nested loop",
    "nlw": "NLW, nested loop",
    "hw": "HW, hash on a.k = b.k",
    "gca": "GCA, hash on a.k = b.k",
    "lca": "LCA, hash on a.k = b.k",
    "closure": "Closure, nested loop",
    "bew-graph": "BEW for graphs, nested loop",
    "ripple": "Ripple join, nested loop",
    "xjoin": "XJoin, hash on a.k = b.k",
    "asymmetric": "Asymmetric, hash/hash",
}


@pytest.mark.parametrize("algorithm", choices())
def test_every_algorithm_that_can_be_asked_for_is_named(algorithm):
    root = join({name: INPUTS[name] for name in "ab"}, "a.k = b.k", HOURS[0])
    text = explained(root, Options(algorithm=algorithm))
    assert f"  algorithm   {TITLES[algorithm]}\n" in text
    assert f"  how         {ALGORITHMS[choice(algorithm)[0]].how}\n" in text


def test_an_operator_above_a_delaying_one_forgets_later():
    """A join over a bestmatch join sees the watermark less the 10 minutes that one waits."""
    dimensions = (Dimension("a.ts", "b.ts", "mindist", 10 * MINUTE, is_time=True),)
    best = BestmatchJoin(
        INPUTS["a"], INPUTS["b"], "left outer", dimensions, (), 10 * MINUTE, 10 * MINUTE
    )
    derived = renamed(best, {"m.k": "a.k", "m.x": "b.x"})
    outer = join({"m": derived, "c": INPUTS["c"]}, "m.k = c.k", Bound(0, 1, 0, HOUR, "D"))
    text = explain(*_both(renamed(outer, {"x": "m.x"})))
    assert "drop m when watermark - 10m > t(m) + 1h\n" in text
    assert "drop c when watermark - 10m > c.ts\n" in text
    assert "m <= rate(m) x (1h + delay 10m + distance) + one batch\n" in text


def _both(root):
    logical = query(root)
    return logical, optimize(logical, Options())


def test_lateness_in_the_state_bound_is_the_largest_of_the_streams():
    late = {**INPUTS, "b": scan(stream("b", {"k": "int", "x": "int"}, lateness=5 * SECOND))}
    text = explained(join(late, "a.k = b.k", *HOURS))
    assert "a <= rate(a) x (2h + lateness 5s + distance) + one batch\n" in text


def test_a_stream_that_meets_only_what_lies_before_it_is_held_for_less_than_the_others_trail():
    late = {**INPUTS, "b": scan(stream("b", {"k": "int", "x": "int"}, lateness=5 * SECOND))}
    ahead = Bound(0, 1, 10 * SECOND, -2 * SECOND, "D")
    text = explained(join({key: late[key] for key in "ab"}, "a.k = b.k", ahead))
    assert "drop a when watermark > a.ts - 2s\n" in text
    assert "a <= rate(a) x max(0, lateness 5s + distance - 2s) + one batch\n" in text
    assert "b <= rate(b) x (10s + lateness 5s + distance) + one batch\n" in text


@pytest.mark.parametrize(
    ("hi", "delay"), [(MINUTE, "adds a delay of 1m"), (0, "adds no delay"), (-1, "adds no delay")]
)
def test_a_bestmatch_join_whose_matches_lie_before_adds_no_delay(hi, delay):
    dimensions = (Dimension("a.ts", "b.ts", "mindist", MINUTE, is_time=True),)
    best = BestmatchJoin(INPUTS["a"], INPUTS["b"], "left outer", dimensions, (), MINUTE, hi)
    assert f"each row once no later row can change it; {delay}\n" in explained(best)


@st.composite
def joins(draw):
    size = draw(st.integers(2, 6))
    names = "abcdef"[:size]
    inputs = {name: scan(stream(name, {"k": "int", "x": "int", "y": "int"})) for name in names}
    pairs = st.sampled_from([(i, j) for i in range(size) for j in range(size) if i != j])
    keys = draw(st.lists(st.tuples(pairs, st.sampled_from("kxy")), max_size=6))
    equalities = ",".join(f"{names[i]}.{c} = {names[j]}.{c}" for (i, j), c in keys)
    widths = draw(st.lists(st.integers(0, 5), min_size=size - 1, max_size=size - 1))
    bounds = [Bound(i, i + 1, w, 5) for i, w in enumerate(widths)]
    return optimize(
        query(renamed(join(inputs, equalities, *bounds), {"x": "a.x"})), Options()
    ).root.input


@pytest.mark.law
@settings(max_examples=share_of(200), deadline=None, derandomize=True)
@given(joins())
def test_the_probe_order_shown_is_the_one_that_the_operator_takes(node):
    for start in range(len(node.inputs)):
        assert (start, *probe_order(node, start)) == route_from(node, start).order
