"""Joins of changelogs: what is refused, and how they are spread."""

from __future__ import annotations

import pytest
from plans import join, like, scan, stream
from sessions import session

import windrow
from windrow.errors import PlanError, UnsupportedError
from windrow.plan.nodes.own_windows import Range
from windrow.plan.nodes.window_join import SnapshotWindowJoin

COUNTS = "(SELECT k, COUNT(*) AS n FROM a [RANGE 5] GROUP BY k) x"
JOINED = f"SELECT x.k, x.n FROM {COUNTS} JOIN b [RANGE 1] ON x.k = b.k"


def two_streams() -> windrow.Session:
    return session({name: {"k": [1], "ts": [1]} for name in ("a", "b")}, time="ts")


def test_algorithms_that_keep_tuples_for_their_window_are_refused() -> None:
    with pytest.raises(UnsupportedError) as refused:
        two_streams().explain(JOINED, algorithm="few")
    assert str(refused.value) == (
        "UnsupportedError[unsupported-algorithm-of-snapshot-join]: the algorithm few does not run"
        " the join of x and b\n"
        f"  1 | {JOINED}\n"
        f"    |                      {'^' * len(f'{COUNTS} JOIN b [RANGE 1]')}\n"
        "  it needs tuples that stay for their whole window, and some of these are taken back\n"
        "  hint: use algorithm bew"
    )


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        (JOINED, "a join with a changelog"),
        (
            "SELECT a.k FROM a [RANGE 5], b [RANGE 5] WHERE a.k = b.k EMIT CHANGES",
            "EMIT CHANGES, or a GROUP BY key that it does not show",
        ),
    ],
)
def test_what_takes_rows_back_is_not_shed(sql: str, what: str) -> None:
    with pytest.raises(UnsupportedError, match=f"is set, and the query has {what}\n"):
        two_streams().explain(sql, memory="100 tuples", on_memory="shed")


def test_every_input_of_a_plan_must_end() -> None:
    first, second = (scan(stream(name, {"k": "int"})) for name in ("a", "b"))
    plan = join({"a": Range(first, 5), "b": Range(second, 5)}, "a.k = b.k")
    like(plan, SnapshotWindowJoin).verify()
    with pytest.raises(PlanError) as refused:
        like(plan, SnapshotWindowJoin, inputs=(Range(first, 5), second)).verify()
    assert str(refused.value) == (
        "PlanError[unbounded-state]: the join of a and b keeps tuples of b forever\n"
        "  no window says when a tuple of b leaves\n"
        "  hint: give it one, for instance b [RANGE INTERVAL '1' HOUR]"
    )
