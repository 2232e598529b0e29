"""Where the rows of a count-window join go on Spark."""

from __future__ import annotations

import pytest

from windrow.physical.nodes.base import KeyClass
from windrow.physical.nodes.count_join import CountJoin
from windrow.physical.nodes.scans import ScanStream
from windrow.physical.partitioning.buckets import HashShares, Single
from windrow.plan.windows import CountWindows, OwnWindow, WindowGraph
from windrow.schema import Schema

STREAM = ScanStream("s", "s", (), Schema(()), "ts", "timestamp", 0)
K, M = KeyClass(("a.k", "b.k"), "int"), KeyClass(("a.m", "b.m"), "int")


def counted(*own: OwnWindow, keys=(K,), within: int | None = None) -> CountJoin:
    counts = CountWindows(own, within, "WINDOW = 9 ROWS" if within else "")
    aliases = ("a", "b")
    return CountJoin(
        (STREAM, STREAM), aliases, keys, WindowGraph(aliases, ()), ((), ()), "hash", Schema(()),
        counts=counts,
    )  # fmt: skip


def by(*names: str) -> OwnWindow:
    return OwnWindow(5, names)


@pytest.mark.parametrize(
    ("node", "classes"),
    [
        (counted(by("a.k"), by("b.k")), (0,)),
        (counted(by("a.k", "a.x"), by("b.k")), (0,)),
        (counted(by("a.k"), OwnWindow(ticks=9)), (0,)),
        (counted(by("a.k", "a.m"), by("b.k", "b.m"), keys=(K, M)), (0, 1)),
        (counted(by("a.k", "a.m"), by("b.m"), keys=(K, M)), (1,)),
    ],
)
def test_windows_divided_by_a_join_key_are_spread_by_it(node, classes):
    assert node.partitioning(8) == HashShares((classes,), (8,), (1, 1))


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (
            counted(OwnWindow(5), by("b.k")),
            "count windows are kept in one place; a [PARTITION BY a.k ROWS 5] would spread them",
        ),
        (
            counted(OwnWindow(5), by("b.x")),
            "count windows are kept in one place; a [PARTITION BY a.k ROWS 5] and"
            " b [PARTITION BY b.k ROWS 5] would spread them",
        ),
        (
            counted(by("a.k"), by("b.m"), keys=(K, M)),
            "count windows are kept in one place; b [PARTITION BY b.k ROWS 5] would spread them",
        ),
        (
            counted(by("a.k"), OwnWindow(5), keys=(KeyClass(("a.k", "b.$key0"), "int"),)),
            "count windows are kept in one place; b [PARTITION BY k, computed in a derived table,"
            " ROWS 5] would spread them",
        ),
        (
            counted(by("a.k"), by("b.k"), keys=()),
            "count windows are kept in one place; an equality between all streams, and"
            " [PARTITION BY k ROWS n] by its columns, would spread them",
        ),
        (
            counted(by("a.k"), by("b.k"), within=9),
            "WINDOW = 9 ROWS numbers the tuples of all streams together; [PARTITION BY k ROWS n]"
            " after each stream, k a join key, would spread it",
        ),
    ],
)
def test_any_other_window_is_kept_in_one_place_with_what_to_write_instead(node, reason):
    assert node.partitioning(8) == Single(reason)
