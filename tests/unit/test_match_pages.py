"""Bestmatch joins in pages, asked in SQL: when there are pages, what is counted, what is said."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.errors import DataError, PlanError

ROWS, BATCH = 600, 100
QUERY = (
    "SELECT l.id AS l, r.id AS r FROM l LEFT OUTER BESTMATCH JOIN r"
    " ON l.ts MINDIST r.ts WITHIN 200, l.x MINDIST r.x WITHIN 2, l.y MINDIST r.y WITHIN 1.5"
)
BY_KEY = f"{QUERY} WHERE l.name = r.name"
SPILL = {"memory": "24 kB", "on_memory": "spill"}
WORK = ("page_reads", "page_writes", "gallops", "crabsteps")


@pytest.fixture
def drawn_streams() -> windrow.Session:
    random = np.random.default_rng(7)
    return session(
        {
            name: pa.table(
                {
                    "ts": np.sort(random.integers(0, 1000, ROWS)),
                    "id": np.arange(ROWS),
                    "x": random.integers(0, 30, ROWS),
                    "y": random.uniform(0, 9, ROWS),
                    "name": [
                        f"a name that is not a word: {n}" for n in random.integers(0, 3, ROWS)
                    ],
                    "tags": [["a", "b"][: n % 3] for n in range(ROWS)],
                }
            ).to_batches(max_chunksize=BATCH)
            for name in ("l", "r")
        },
        time="ts",
    )


def ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([("l", "ascending"), ("r", "ascending")])


def work(result) -> dict[str, int]:
    (figures,) = result.progress.operators.values()
    return {name: figures[name] for name in WORK}


@pytest.mark.parametrize("query", [QUERY, BY_KEY, f"{QUERY} KEEP UNMATCHED"])
def test_what_does_not_fit_goes_to_pages_and_the_answer_stays(drawn_streams, query):
    expected = ordered(drawn_streams.sql(query).to_arrow())
    for options in ({}, {"algorithm": "matwin-grid-pages", "memory": "160 tuples"}):
        result = drawn_streams.sql(query, **{**SPILL, **options})
        memory = result.execution.memory
        batches = []
        for batch in result:
            batches.append(batch)
            result.checkpoint()  # ends the micro-batch under way
            assert memory.held <= memory.limit
        assert ordered(pa.Table.from_batches(batches)).equals(expected)
        assert min(work(result)["page_reads"], work(result)["page_writes"]) > 0


@pytest.mark.parametrize("algorithm", [None, "matwin-standard-pages", "matwin-grid-pages"])
def test_while_both_windows_fit_no_page_is_written(drawn_streams, algorithm):
    result = drawn_streams.sql(QUERY, memory="1 MB", on_memory="spill", algorithm=algorithm)
    assert ordered(result.to_arrow()).equals(ordered(drawn_streams.sql(QUERY).to_arrow()))
    assert work(result) == dict.fromkeys(WORK, 0)
    assert result.execution.memory.spilled_chunks == 0


def test_the_smaller_the_memory_the_more_pages_are_read(drawn_streams):
    counted = {}
    for memory in ("50 kB", "24 kB"):
        result = drawn_streams.sql(QUERY, memory=memory, on_memory="spill")
        result.to_arrow()
        counted[memory] = work(result)
    assert counted["24 kB"]["page_reads"] > counted["50 kB"]["page_reads"] > 0
    # With few frames, what a page meets outgrows them.
    assert counted["24 kB"]["crabsteps"] > 0
    assert counted["50 kB"]["gallops"] > counted["50 kB"]["crabsteps"]


@pytest.mark.parametrize("memory", [1, "6 tuples", "900 B"])
def test_memory_that_is_too_little_for_pages_still_gives_the_answer(drawn_streams, memory):
    result = drawn_streams.sql(QUERY, memory=memory, on_memory="spill")
    assert ordered(result.to_arrow()).equals(ordered(drawn_streams.sql(QUERY).to_arrow()))
    assert work(result)["page_writes"] == 0


@pytest.mark.law
def test_a_checkpoint_of_one_algorithm_is_continued_by_another(drawn_streams):
    ways = [
        {**SPILL, "algorithm": "matwin-standard-pages"},
        {},
        {**SPILL, "algorithm": "matwin-grid-pages"},
        {**SPILL, "algorithm": "nested-loops"},
        SPILL,
    ]
    kept, batches, figures = None, [], []
    for way in ways:
        result = drawn_streams.sql(QUERY, resume=kept, **way)
        batches.append(next(result))
        kept = result.checkpoint()
        figures.append(work(result)["page_writes"])
    batches += list(result)
    assert ordered(pa.Table.from_batches(batches)).equals(
        ordered(drawn_streams.sql(QUERY).to_arrow())
    )
    assert figures == sorted(figures)  # what was counted is not forgotten
    assert 0 < figures[0] < figures[-1]


def test_rows_that_come_in_grid_order_are_not_sorted():
    """Slabs of 100 ticks, in each by cells of x, in these by time."""
    counted = {}
    for is_in_order in (True, False):
        found = windrow.Session()
        random = np.random.default_rng(7)
        for name in ("l", "r"):
            ts, x = random.integers(0, 1000, 2_000), random.integers(0, 60, 2_000)
            order = np.lexsort((ts, x // 3, ts // 100)) if is_in_order else np.argsort(ts)
            rows = pa.table({"ts": ts[order], "x": x[order], "id": np.arange(2_000)})
            batches = rows.to_batches(max_chunksize=200)
            found.stream(name, batches, time="ts", lateness=100)
        query = (
            "SELECT l.id AS l, r.id AS r FROM l LEFT OUTER BESTMATCH JOIN r"
            " ON l.ts MINDIST r.ts WITHIN 100, l.x MINDIST r.x WITHIN 3"
        )
        result = found.sql(query, memory="30 kB", on_memory="spill")
        answer = ordered(result.to_arrow())
        assert answer.equals(ordered(found.sql(query).to_arrow()))
        (driver,) = result.execution.scheduler.operators
        counted[is_in_order] = (driver.operator._counts.sorted_rows, work(result)["page_writes"])
    # Those that came before memory was short were in chunks by time.
    assert counted[True][0] < counted[False][0] / 2
    assert counted[True][1] < counted[False][1]


def test_explain_says_what_is_in_pages_and_why(drawn_streams):
    plan = drawn_streams.explain(BY_KEY, **SPILL)
    assert "algorithm   matwin-standard-pages: " in plan
    assert (
        "pages       of r, once the windows do not fit into memory: l.name = r.name, then cells of"
        " l.x ~ r.x, l.y ~ r.y, about as wide as the limits, then time\n"
    ) in plan
    assert "pages: on_memory = 'spill', and no dimension is compared by value" in plan
    assert "pages" not in drawn_streams.explain(BY_KEY, memory="1 MB")
    spilled = "of what does not fit into memory chunks of rows go to disk, not pages"
    by_value = drawn_streams.explain(f"{QUERY}, l.tags SUBSET r.tags", **SPILL)
    assert "algorithm   matwin: " in by_value
    assert f"{spilled}: SUBSET looks at values" in by_value
    assert f"{spilled}\n" in drawn_streams.explain(QUERY, algorithm="nested-loops", **SPILL)


@pytest.mark.parametrize(
    ("options", "reason"),
    [({}, "memory is not bounded"), ({"memory": "1 MB"}, "on_memory is 'fail'")],
)
def test_pages_are_refused_where_nothing_goes_to_disk(drawn_streams, options, reason):
    with pytest.raises(PlanError) as caught:
        drawn_streams.sql(QUERY, algorithm="matwin-grid-pages", **options)
    assert str(caught.value) == (
        "PlanError[pages-without-spilling]: the algorithm matwin-grid-pages has pages for what memory does not hold, but nothing goes to disk\n"
        f"  {reason}\n"
        "  hint: set memory, and on_memory to 'spill', or use algorithm matwin"
    )


def test_pages_of_what_is_compared_by_value_are_refused(drawn_streams):
    query = f"{QUERY}, l.tags SUBSET r.tags"
    with pytest.raises(PlanError) as caught:
        drawn_streams.sql(query, algorithm="matwin-standard-pages", **SPILL)
    assert str(caught.value) == (
        "PlanError[orders-not-in-pages]: the windows of the bestmatch join cannot be kept in pages:"
        " l.tags SUBSET r.tags looks at values\n"
        f"  1 | {query}\n"
        f"    | {' ' * query.index('l.tags')}{'^' * len('l.tags SUBSET r.tags')}\n"
        "  a page holds numbers: times, keys and what distances are measured by\n"
        "  hint: use algorithm matwin: chunks of rows go to disk where memory does not hold them"
    )


def test_a_folder_that_cannot_be_written_is_told(drawn_streams, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(DataError, match="old tuples cannot be moved to disk") as caught:
        drawn_streams.sql(QUERY, **SPILL).to_arrow()
    assert caught.value.condition == "cannot-spill"
    assert caught.value.hint == "set TMPDIR to a folder with room, or raise memory"
