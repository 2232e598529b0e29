"""Any question: Spark batch and Spark streaming give the brute-force answer."""

from __future__ import annotations

from random import Random

import pytest
from bags import bag
from case_share import picked
from cases import FAMILIES, draw_outer_join
from cases.query_trees import draw_tree
from cases.window_trees import draw_window_tree
from spark_runs import SingleRun, session_of

pytestmark = [pytest.mark.partitions(2), pytest.mark.law]

SEEDS = {"join": 10, "aggregate": 10, "bestmatch": 3, "count": 5}
RUNS = [(family, seed) for family, seeds in SEEDS.items() for seed in picked(range(seeds))]
RUNS += [("values by", seed) for seed in picked((1, 3, 6, 9, 10, 11))]
TREES = picked(range(15))
WINDOW_TREES = (0, 1, 4, 5, 12, 14, 17, 22, 24, 27, 50, 79, 190)
"""Seeds of trees with outer, semi and anti joins, windows between, a second window, and, in the last
three, a union of a stream with what another stage gives."""

STREAMED_TREES = (1, 4, 5, 24, 27, 50, 79, 190)
"""Those of which some changes, and not all, are final at the end of a streaming run."""

OUTER_RUNS = [("left", 4), ("right", 101), ("full", 24), ("semi", 30), ("anti", 61)]
"""Seeds of joins with rows that are matched, unmatched for good, and not yet final at the end."""


@pytest.mark.parametrize(("family", "seed"), RUNS)
def test_a_batch_run_gives_the_whole_answer(spark, tmp_path, family: str, seed: int) -> None:
    case = FAMILIES[family](Random(seed))
    session = session_of(spark, case, tmp_path, is_streaming=False)
    assert bag(session.sql(case.sql, buckets=3).toArrow()) == case.answer, case.sql


@pytest.mark.parametrize(("family", "seed"), RUNS)
def test_a_streaming_run_gives_the_answer_up_to_its_watermark(
    spark, tmp_path, family: str, seed: int
) -> None:
    case = FAMILIES[family](Random(seed))
    run = SingleRun(tmp_path / "run")
    run.finish(session_of(spark, case, tmp_path, is_streaming=True).sql(case.sql, buckets=3))
    assert bag(run.rows(spark)) == case.answer_below_watermark(), case.sql


@pytest.mark.parametrize(("kind", "seed"), OUTER_RUNS)
def test_a_join_that_is_not_inner_gives_the_whole_answer_in_a_batch_run(
    spark, tmp_path, kind: str, seed: int
) -> None:
    case = draw_outer_join(Random(seed), most_rows=60, kind=kind)
    session = session_of(spark, case, tmp_path, is_streaming=False)
    assert bag(session.sql(case.sql, buckets=3).toArrow()) == case.answer, case.sql


@pytest.mark.parametrize(("kind", "seed"), OUTER_RUNS)
def test_a_join_that_is_not_inner_gives_what_is_final_in_a_streaming_run(
    spark, tmp_path, kind: str, seed: int
) -> None:
    case = draw_outer_join(Random(seed), most_rows=60, kind=kind)
    run = SingleRun(tmp_path / "run")
    run.finish(session_of(spark, case, tmp_path, is_streaming=True).sql(case.sql, buckets=3))
    assert bag(run.rows(spark)) == case.answer_below_watermark(), case.sql


@pytest.mark.parametrize("seed", TREES)
def test_a_tree_of_queries_gives_its_changelog_in_a_batch_run(spark, tmp_path, seed: int) -> None:
    case = draw_tree(Random(seed), depth=2)
    session = session_of(spark, case, tmp_path, is_streaming=False)
    assert bag(session.sql(case.sql, buckets=3).toArrow()) == case.answer, case.sql


@pytest.mark.parametrize("seed", TREES)
def test_a_tree_of_queries_gives_its_changelog_up_to_the_watermark_in_a_streaming_run(
    spark, tmp_path, seed: int
) -> None:
    case = draw_tree(Random(seed), depth=2)
    run = SingleRun(tmp_path / "run")
    run.finish(session_of(spark, case, tmp_path, is_streaming=True).sql(case.sql, buckets=3))
    assert bag(run.rows(spark)) == case.answer_below_watermark(), case.sql


@pytest.mark.parametrize("seed", WINDOW_TREES)
def test_a_tree_with_windows_anywhere_gives_its_changelog_in_a_batch_run(
    spark, tmp_path, seed: int
) -> None:
    case = draw_window_tree(Random(seed), depth=2, places=(0,))
    session = session_of(spark, case, tmp_path, is_streaming=False)
    assert bag(session.sql(case.sql, buckets=3).toArrow()) == case.answer, case.sql


@pytest.mark.parametrize("seed", STREAMED_TREES)
def test_a_tree_with_windows_anywhere_gives_its_changelog_up_to_the_watermark_in_a_streaming_run(
    spark, tmp_path, seed: int
) -> None:
    case = draw_window_tree(Random(seed), depth=2, places=(0,))
    run = SingleRun(tmp_path / "run")
    run.finish(session_of(spark, case, tmp_path, is_streaming=True).sql(case.sql, buckets=3))
    assert bag(run.rows(spark)) == case.answer_below_watermark(), case.sql
