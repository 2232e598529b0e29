from __future__ import annotations

import pickle
from typing import Any

import pytest
from plans import HOUR, Bound, expr, join, query, renamed, scan, stream

from windrow.errors import PlanError, UnsupportedError
from windrow.optimize.planner import optimize
from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.bestmatch import MatwinBestmatch
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.nodes.sliding_aggregate import SlidingAggregate
from windrow.physical.nodes.time_join import TimeJoin
from windrow.physical.options import Options
from windrow.plan.exprs import Named, column
from windrow.plan.nodes.bestmatch_join import BestmatchJoin, Dimension
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.query import Hint
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.windows import UNBOUNDED

SALES = stream("sales", {"k": "int", "x": "int", "y": "int"}, lateness=5)
INPUTS = {alias: scan(SALES, alias) for alias in "abc"}
DEFAULTS = Options()
HOURS = (Bound(0, 1, HOUR, HOUR), Bound(1, 2, HOUR, HOUR))


def planned(equalities: str, *, options=DEFAULTS, hints=(), bounds=HOURS, **items: str):
    root = renamed(join(INPUTS, equalities, *bounds), items or {"x": "a.x"})
    return optimize(query(root, hints=hints), options).root


def bew(equalities: str, **changes: Any) -> TimeJoin:
    return planned(equalities, **changes).input


def test_equalities_become_classes_with_one_column_per_input():
    assert bew("a.k = b.k,b.k = c.k").classes == (KeyClass(("a.k", "b.k", "c.k"), "int"),)
    assert bew("a.x = b.x,b.y = c.y").classes == (
        KeyClass(("a.x", "b.x", None), "int"),
        KeyClass((None, "b.y", "c.y"), "int"),
    )


def test_classes_that_a_later_equality_connects_are_one():
    joined = bew("a.k = b.k,c.x = b.x,b.k = b.x")
    assert [key.columns for key in joined.classes] == [("a.k", "b.k", "c.x")]


def test_a_class_is_null_safe_only_if_all_its_equalities_are():
    assert bew("a.k <=> b.k,b.k <=> c.k").classes[0].null_safe
    assert not bew("a.k <=> b.k,b.k = c.k").classes[0].null_safe
    first, second = bew("a.x <=> b.x,b.y = c.y").classes
    assert (first.null_safe, second.null_safe) == (True, False)


def test_a_join_carries_on_only_what_is_used_above_it():
    joined = bew("a.k = b.k,b.k = c.k", x="a.x", y="b.y")
    assert joined.keep == (("a.x",), ("b.y",), ())
    assert joined.schema.names == ("a.x", "b.y")
    assert [i.schema.names for i in joined.inputs] == [("a.k", "a.x"), ("b.k", "b.y"), ("c.k",)]


def test_a_scan_knows_its_source_columns_time_and_lateness():
    source = bew("a.k = b.k,b.k = c.k").inputs[0]
    assert isinstance(source, ScanStream)
    assert (source.stream, source.alias, source.columns) == ("sales", "a", ("k", "x"))
    assert (source.time, source.time_type, source.lateness) == ("ts", "timestamp", 5)


@pytest.mark.parametrize(
    ("algorithm", "equalities", "method"),
    [
        (None, "a.k = b.k", "hash"),
        (None, "", "nested-loop"),
        ("bew", "a.k = b.k", "hash"),
        ("bew", "", "nested-loop"),
        ("bew-hash", "a.k = b.k", "hash"),
        ("bew-nested-loop", "a.k = b.k", "nested-loop"),
    ],
)
def test_the_method_follows_the_keys_unless_the_user_says_otherwise(algorithm, equalities, method):
    assert bew(equalities, options=Options(algorithm=algorithm)).method == method


def message(**changes: Any) -> str:
    with pytest.raises((PlanError, UnsupportedError)) as caught:
        planned(changes.pop("equalities", "a.k = b.k"), **changes)
    return str(caught.value)


def test_an_unknown_algorithm_is_refused_with_the_known_ones():
    assert message(options=Options(algorithm="quick")) == (
        "PlanError[unknown-algorithm]: there is no algorithm 'quick'\n"
        "  hint: one of asymmetric, gca, lca, xjoin, matwin, ripple, bew-tuple-at-a-time, closure, ..."
    )


def test_hashing_without_a_key_is_refused():
    assert message(equalities="", options=Options(algorithm="bew-hash")) == (
        "PlanError[no-key-to-hash]: the join of a, b, c has no equality to hash on\n"
        "  hint: use algorithm bew, or add an equality between the streams"
    )


def test_hints_count_where_the_user_set_nothing_by_keyword():
    hints = [Hint("ALGORITHM", "bew-nested-loop"), Hint("buckets", "8")]
    root = renamed(join(INPUTS, "a.k = b.k", *HOURS), {"x": "a.x"})
    hinted = optimize(query(root, hints=hints), Options(on_late="fail")).options
    assert hinted == Options(algorithm="bew-nested-loop", on_late="fail", buckets=8)
    assert optimize(query(root, hints=hints), Options(algorithm="bew")).options.algorithm == "bew"


def test_an_unknown_hint_is_refused_with_the_nearest_names():
    assert message(hints=[Hint("algoritm", "bew")]) == (
        "PlanError[unknown-option]: there is no option 'algoritm'\n"
        "  hint: one of algorithm, order, dead_letters, memory, on_late, polling, "
        "updates, shed_least_rate, ..."
    )


@pytest.mark.parametrize("buckets", ["0", "-1", "many", "1.5", "", "10001"])
def test_a_bad_number_of_buckets_is_refused(buckets):
    shown = buckets if buckets in {"0", "10001"} else repr(buckets)
    assert message(hints=[Hint("buckets", buckets)]) == (
        f"PlanError[bad-option]: buckets = {shown} is not a number of parts\n"
        "  hint: a whole number from 1 to 10000, for instance one per core"
    )


@pytest.mark.parametrize("buckets", [0, True, "8", 2.0])
def test_a_bad_number_of_buckets_by_keyword_is_refused(buckets):
    assert message(options=Options(buckets=buckets)).startswith(
        f"PlanError[bad-option]: buckets = {buckets!r} is not a number of parts\n"
    )


def test_a_bad_word_for_late_rows_is_refused():
    assert message(options=Options(on_late="ignore")) == (
        "PlanError[bad-option]: on_late = 'ignore' is not a way to treat late rows\n"
        "  hint: count (count and drop them), keep (write them aside) or fail (stop the query)"
    )


def test_a_bad_word_for_the_order_of_asking_is_refused():
    assert message(options=Options(polling="in turn")) == (
        "PlanError[bad-option]: polling = 'in turn' is not an order in which streams are asked\n"
        "  hint: in step (the stream that is furthest behind first) or round robin (each in its turn)"
    )


def test_a_bad_word_for_how_operators_learn_what_has_expired_is_refused():
    assert message(options=Options(scheduling="lazy")) == (
        "PlanError[bad-option]: scheduling = 'lazy' does not say how operators learn what has "
        "expired\n"
        "  hint: tpa (by time, which they probe), nta (by negative tuples), ita (only when input "
        "arrives) or auto (as is cheaper)"
    )


def test_an_unbounded_join_is_refused_naming_the_streams_and_the_bound_to_add():
    assert message(bounds=(Bound(0, 1, 0, HOUR), Bound(1, 2, 0, UNBOUNDED))) == (
        "PlanError[unbounded-state]: the join of a, b and c keeps tuples of a forever\n"
        "  no window says how long after a tuple of a one of c may come\n"
        "  hint: add WINDOW (a, c) = INTERVAL '1' HOUR, or the bound that you mean"
    )


def test_a_contradiction_is_refused():
    bounds = (Bound(0, 1, -5, 5), Bound(1, 2, -5, 5), Bound(0, 2, 0, 9))
    assert message(bounds=bounds) == (
        "PlanError[contradicting-windows]: no tuples of a, b and c can satisfy all windows at once\n"
        "  together the bounds ask for a time difference below its own lower end\n"
        "  hint: widen or drop one of the windows"
    )


COUNT = (Aggregate("count", None, "n", "bigint"),)


def grouped(below):
    aggregate = WindowAggregate(below, (Named("a.k", column("a.k", "int")),), COUNT)
    return optimize(query(renamed(aggregate, {"n": "n"}), is_changelog=True), Options()).root


def test_an_aggregate_over_rows_that_never_end_is_refused():
    with pytest.raises(PlanError) as caught:
        grouped(Filter(INPUTS["a"], (expr("a.x > 1"),)))
    assert str(caught.value) == (
        "PlanError[unbounded-state]: the aggregate keeps its rows forever\n"
        "  no window says when a row leaves it\n"
        "  hint: give its streams a window, for instance sales [RANGE INTERVAL '1' HOUR]"
    )


def test_a_join_ends_its_rows_as_soon_as_one_of_its_streams_does():
    windowed = {**INPUTS, "b": Range(INPUTS["b"], HOUR)}
    node = grouped(join(windowed, "a.k = b.k", *HOURS)).input
    assert isinstance(node, SlidingAggregate)
    assert node.keys == ("a.k",)
    assert node.input.schema.names == ("a.k",)


def bestmatch(lo: int = 5, hi: int = 7) -> BestmatchJoin:
    dimensions = (Dimension("a.ts", "b.ts", "mindist", 5, is_time=True),)
    a, b = INPUTS["a"], INPUTS["b"]
    return BestmatchJoin(a, b, "left outer", dimensions, (), lo, hi, keep_unmatched=True)


def test_a_bestmatch_join_becomes_matwin():
    node = optimize(query(renamed(bestmatch(), {"x": "a.x", "y": "b.y"})), Options()).root.input
    assert isinstance(node, MatwinBestmatch)
    assert (node.lo, node.hi, node.keep) == (5, 7, (("a.x",), ("b.y",)))
    assert node.keep_unmatched
    assert node.schema.names == ("a.x", "b.y")


@pytest.mark.parametrize(
    ("lo", "hi", "condition"),
    [(5, UNBOUNDED, "unbounded-state"), (-7, 3, "contradicting-windows")],
)
def test_a_bestmatch_join_without_a_sound_time_bound_is_refused(lo, hi, condition):
    with pytest.raises(PlanError, match=condition):
        optimize(query(renamed(bestmatch(lo, hi), {"x": "a.x"})), Options())


def test_a_stream_without_event_time_is_refused():
    timeless = scan(stream("log", {"k": "int"}, time=None))
    with pytest.raises(PlanError) as caught:
        optimize(query(renamed(timeless, {"k": "log.k"})), Options())
    assert str(caught.value) == (
        "PlanError[no-time-column]: the stream log has no event time\n"
        "  windows are measured on event time\n"
        "  hint: register it with its time column: stream('log', .., time=..)"
    )


def test_a_physical_query_can_be_pickled():
    root = planned("a.k = b.k,b.k = c.k")
    assert pickle.loads(pickle.dumps(root)) == root
