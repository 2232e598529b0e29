"""Equal questions have equal fingerprints, whatever the algorithm."""

from __future__ import annotations

import pytest
from plans import planned
from sessions import session

from windrow.run.spark.stages import stateful_nodes
from windrow.run.spark.state import about, fingerprint, plain

JOIN = "SELECT a.v FROM a, b WHERE a.k = b.k AND a.v > 1 WINDOW = {}"


def root_of(sql: str, *, lateness: int = 0, **options: str):
    w = session(
        {name: {"ts": [1], "k": [1], "v": [1.0]} for name in ("a", "b")},
        time="ts",
        lateness=lateness,
    )
    return planned(w, sql, options).root


def stage_of(sql: str, *, lateness: int = 0, **options: str):
    return stateful_nodes(root_of(sql, lateness=lateness, **options))[-1]


def test_the_algorithm_and_the_lateness_may_change() -> None:
    first = stage_of(JOIN.format(5), algorithm="bew-hash")
    second = stage_of(JOIN.format(5), algorithm="bew-nested-loop", lateness=3)
    assert first != second
    assert fingerprint(first) == fingerprint(second)


def test_the_layout_of_the_text_does_not_count() -> None:
    assert fingerprint(stage_of(JOIN.format(5))) == fingerprint(
        stage_of(JOIN.format(5).replace(" ", "\n  "))
    )


def test_spaces_inside_quotes_count() -> None:
    first, second = (
        JOIN.replace("a.v > 1", f"CAST(a.v AS STRING) < '{x}'").format(5) for x in ("a  a", "a a")
    )
    assert fingerprint(stage_of(first)) != fingerprint(stage_of(second))


def test_another_window_is_another_query() -> None:
    assert fingerprint(stage_of(JOIN.format(5))) != fingerprint(stage_of(JOIN.format(6)))


def test_another_filter_is_another_query() -> None:
    changed = JOIN.replace("> 1", "> 2").format(5)
    assert fingerprint(stage_of(JOIN.format(5))) != fingerprint(stage_of(changed))


@pytest.mark.parametrize("above", ["SELECT a.v + 1 AS v", "SELECT -a.v AS v"])
def test_another_select_list_is_another_query_over_the_same_stage(above: str) -> None:
    changed = JOIN.replace("SELECT a.v", above).format(5)
    assert fingerprint(stage_of(JOIN.format(5))) == fingerprint(stage_of(changed))
    assert fingerprint(root_of(JOIN.format(5))) != fingerprint(root_of(changed))


def test_a_whole_query_is_the_same_by_any_algorithm_and_in_any_layout() -> None:
    first = root_of(JOIN.format(5), algorithm="bew-hash")
    spread = JOIN.format(5).replace(" ", "\n  ")
    second = root_of(spread, algorithm="bew-nested-loop", lateness=3, updates=False)
    assert fingerprint(first) == fingerprint(second)


def test_how_an_aggregate_was_written_is_not_part_of_what_it_is() -> None:
    first, second = (
        stage_of(f"SELECT {call} AS n FROM a [RANGE 5]") for call in ("ANY_VALUE(v)", "MIN(v)")
    )
    assert first.title != second.title
    assert fingerprint(first) == fingerprint(second)


def test_stages_are_named_for_people() -> None:
    assert about(stage_of(JOIN.format(5))) == "window join of a, b"


def test_another_count_window_is_another_query_however_it_is_written() -> None:
    counted = "SELECT a.v FROM a [PARTITION BY {0} ROWS {1}], b [ROWS 3] WHERE a.k = b.k"
    first = fingerprint(stage_of(counted.format("k", 5)))
    assert first == fingerprint(stage_of(counted.format("a.k", 5)))
    assert first != fingerprint(stage_of(counted.format("k", 6)))
    assert first != fingerprint(stage_of(counted.format("v", 5)))


def test_checkpoints_of_windows_of_time_know_nothing_of_count_windows() -> None:
    assert "counts" not in repr(plain(stage_of(JOIN.format(5))))
