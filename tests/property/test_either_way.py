"""Paths that are passed either way: each combination once, however it meets the windows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.base import Case
from cases.either_way import draw_either_way
from cases.tape import TAPES
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from oracle import asked_of_duckdb
from sessions import session

from windrow.physical.algorithms import choices

MULTIWAY = [name for name in choices() if name != "asymmetric"]
EXAMPLES = settings(
    max_examples=share_of(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


def answered(case: Case, algorithm: str) -> Counter[tuple[Any, ...]]:
    tables = {stream.name: stream.tables() for stream in case.streams}
    w = session(tables, time="ts", lateness=case.lateness)
    return bag(w.sql(case.sql, algorithm=algorithm))


@pytest.mark.law
@pytest.mark.parametrize("algorithm", ["bew-nested-loop", "bew"])
@EXAMPLES
@given(random=TAPES)
def test_the_answer_is_the_brute_force_one(algorithm: str, random: Random) -> None:
    case = draw_either_way(random)
    note(case.sql)
    assert answered(case, algorithm) == case.answer


@pytest.mark.law
@EXAMPLES
@given(random=TAPES, algorithm=st.sampled_from(MULTIWAY))
def test_every_algorithm_gives_the_same_bag(random: Random, algorithm: str) -> None:
    case = draw_either_way(random, has_key=True)
    note(case.sql)
    assert answered(case, algorithm) == case.answer


@pytest.mark.law
@EXAMPLES
@given(
    times=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=3, max_size=3),
    widths=st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_duckdb_finds_the_same_by_two_joins_and_a_union(times, widths) -> None:
    streams = {
        name: pa.table({"id": range(len(own)), "at": pa.array(own, pa.int64())})
        for name, own in zip("abc", times, strict=True)
    }
    w = session(streams, time="at")
    first, second = widths
    found = w.sql(
        "SELECT a.id AS a, b.id AS b, c.id AS c FROM a, b, c"
        f" DWINDOW (a, b) = {first} AND DWINDOW (b, c) = {second} EITHER WAY"
    )
    one_way = "SELECT a.id, b.id, c.id FROM {} WHERE {} AND {}"
    both_ways = (
        one_way.format(
            "a, b, c", f"b.at BETWEEN a.at AND a.at + {first}",
            f"c.at BETWEEN b.at AND b.at + {second}",
        )
        + " UNION "
        + one_way.format(
            "a, b, c", f"a.at BETWEEN b.at AND b.at + {first}",
            f"b.at BETWEEN c.at AND c.at + {second}",
        )
    )  # fmt: skip
    assert bag(found) == Counter(asked_of_duckdb(streams, both_ways))


def test_tuples_at_one_instant_meet_the_windows_both_ways_and_come_once() -> None:
    w = session({name: {"k": [1], "at": [7]} for name in "abc"}, time="at")
    found = w.sql(
        "SELECT a.k FROM a, b, c WHERE a.k = b.k AND b.k = c.k"
        " DWINDOW (a, b) = 5, DWINDOW (b, c) = 5 EITHER WAY"
    )
    assert found.to_arrow().num_rows == 1


def test_a_path_passed_back_and_forth_comes_once_for_each_passage_and_no_detour() -> None:
    # time   0     1     2     3     4        a - b - c at 0, 1, 2 and c - b - a at 2, 3, 4
    # seen   a     b     c     b     a        a - b at 3 - c at 2 is neither
    w = session(
        {name: {"at": times} for name, times in (("a", [0, 4]), ("b", [1, 3]), ("c", [2]))},
        time="at",
    )
    found = w.sql(
        "SELECT a.at AS a, b.at AS b, c.at AS c FROM a, b, c"
        " DWINDOW (a, b) = 9, DWINDOW (b, c) = 9 EITHER WAY"
    )
    assert bag(found) == Counter([(0, 1, 2), (4, 3, 2)])
