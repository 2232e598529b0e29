"""Queries that shed, in process: exact where all fits, marked where not, the same after a restart."""

from __future__ import annotations

import pickle
from collections import Counter
from functools import cache

import numpy as np
import pyarrow as pa
import pytest
from bags import bag
from sessions import session

import windrow
from windrow.errors import DataError, PlanError

pytestmark = pytest.mark.slow

WINDOW, TICKS = 80, 500
QUERY = f"SELECT a.n, b.n AS m FROM a, b WHERE a.k = b.k WINDOW = {WINDOW}"
CASES = {
    "memory": {"memory": "90 tuples", "on_memory": "shed"},
    "processor": {"service_rate": 0.9, "on_service_rate": "shed"},
    "both": {"memory": "90 tuples", "on_memory": "shed",
             "service_rate": 0.9, "on_service_rate": "shed"},
}  # fmt: skip


def rows(rate: float, seed: int) -> pa.Table:
    dice = np.random.default_rng(seed)
    many = int(rate * TICKS)
    return pa.table(
        {
            "ts": np.sort(dice.integers(0, TICKS, many)),
            "k": dice.integers(0, 4, many),
            "n": np.arange(many),
            "x": dice.integers(0, 300, many),
        }
    )


def drawn_streams(batch: int = 200) -> windrow.Session:
    return session(
        {
            name: rows(rate, seed).to_batches(max_chunksize=batch)
            for seed, (name, rate) in enumerate({"a": 0.5, "b": 1.0}.items())
        },
        time="ts",
    )


@pytest.fixture(scope="module")
def exact() -> Counter:
    return bag(drawn_streams().sql(QUERY))


@cache
def shed(case: str):
    """The answer of a query that has run, and the query."""
    result = drawn_streams().sql(QUERY, **CASES[case])
    return result.to_arrow(), result


@pytest.mark.law
def test_where_all_fits_the_answer_is_exact(exact):
    plenty = {"memory": "200 tuples", "on_memory": "shed",
              "service_rate": 3, "on_service_rate": "shed"}  # fmt: skip
    result = drawn_streams().sql(QUERY, **plenty)
    assert bag(result) == exact
    assert result.recall.as_dict() == {"expected": 1.0, "estimated": 1.0}


@pytest.mark.parametrize("case", CASES)
def test_what_is_shed_is_marked_in_progress_and_metadata(case, exact):
    table, result = shed(case)
    found = bag(table)
    assert found < exact
    recall = found.total() / exact.total()
    assert result.recall.estimated == pytest.approx(recall, abs=0.1)
    assert result.recall.expected == pytest.approx(recall, abs=0.1)
    told = {k.decode(): float(v) for k, v in table.schema.metadata.items()}
    assert told == {
        "windrow.recall.expected": result.recall.expected,
        "windrow.recall.estimated": result.recall.estimated,
    }
    assert result.progress.as_dict()["recall"] == result.recall.as_dict()
    assert str(result.recall) in result.progress.line()


@pytest.mark.law
def test_where_nothing_that_waits_has_to_go_no_cut_changes_the_answer(exact):
    case = CASES["processor"]
    by_70 = bag(drawn_streams(70).sql(QUERY, **case))
    assert by_70 == bag(shed("processor")[0]) < exact
    other = bag(drawn_streams().sql(QUERY, **case, seed=1))
    assert other != by_70


@pytest.mark.law
def test_a_query_that_was_stopped_goes_on_as_if_it_had_not():
    table, whole = shed("both")
    first = drawn_streams().sql(QUERY, **CASES["both"])
    got = [next(first), next(first)]
    kept = pickle.loads(pickle.dumps(first.checkpoint()))
    first.stop()
    rest = drawn_streams().sql(QUERY, **CASES["both"], resume=kept)
    found = sum((bag(batch) for batch in got), Counter())
    assert found + bag(rest) == bag(table)
    assert rest.recall == whole.recall


def test_a_checkpoint_goes_on_only_with_its_own_draws():
    result = drawn_streams().sql(QUERY, **CASES["memory"])
    next(result)
    kept = result.checkpoint()
    result.stop()
    for others in ({}, {**CASES["memory"], "seed": 3}):
        with pytest.raises(PlanError, match="checkpoint-of-another-shedding"):
            drawn_streams().sql(QUERY, **others, resume=kept).to_arrow()


def test_a_query_that_does_not_shed_has_no_recall():
    result = drawn_streams().sql(QUERY)
    assert result.recall is None
    assert not result.to_arrow().schema.metadata


def test_a_rate_that_is_exceeded_fails_the_query_unless_it_sheds(exact):
    with pytest.raises(DataError, match="service-rate-exceeded"):
        drawn_streams().sql(QUERY, service_rate=0.9).to_arrow()
    result = drawn_streams().sql(QUERY, service_rate=3)
    assert bag(result) == exact
    assert result.recall is None


def every_tick(ticks: int, step: int = 1, lateness: int = 0) -> windrow.Session:
    made = windrow.Session()
    for offset, name in enumerate("ab"):
        times = np.arange(0, ticks, step) + offset
        rows = pa.table({"ts": times, "k": times % 1, "n": times})
        made.stream(name, rows, time="ts", lateness=lateness)
    return made


@pytest.mark.parametrize("limit", [{"on_service_rate": "shed"}, {}])
def test_slow_streams_are_joined_whole_though_a_window_brings_no_whole_probe(limit):
    slow = every_tick(2_000, 100)
    query = "SELECT a.n FROM a, b WHERE a.k = b.k WINDOW = 5"
    assert slow.sql(query, service_rate=0.1, **limit).to_arrow().num_rows == 20


@pytest.mark.law
@pytest.mark.parametrize(
    ("memory", "lateness", "recall"),
    [
        (150, 0, 0.69),
        (202, 0, 0.95),
        (222, 0, 0.99),
        (242, 0, 1.0),
        (250, 50, 0.69),
        (350, 50, 1.0),
    ],
)
def test_explain_expects_what_then_comes(memory, lateness, recall):
    # The windows hold 100 tuples each; a pane of 6 ticks, and those that come late, wait. So does what
    # is at hand of a batch, which is more than a pane here.
    options = {"memory": f"{memory} tuples", "on_memory": "shed", "shed_strategy": "equal"}
    query = "SELECT a.n FROM a, b WHERE a.k = b.k WINDOW = 100"
    streams = every_tick(400, lateness=lateness)
    # Of one key: all that are at most 100 ticks apart, one of them a tick ahead.
    apart = np.subtract.outer(np.arange(400), np.arange(400) + 1)
    found = streams.sql(query, **options).to_arrow().num_rows / np.sum(np.abs(apart) <= 100)
    assert found == pytest.approx(recall, abs=0.05)
    assert (found == 1) == (recall == 1)
    assert f"recall {recall:.0%}\n" in streams.explain(query, **options)


@pytest.mark.parametrize(("window", "share"), [(0, 1.0), (1, 2 / 3), (2, 3 / 5)])
def test_where_tuples_share_their_instants_the_stream_that_comes_last_probes(window, share):
    # Each stream has 20 tuples a day, of which all could find those of their own: 20 in all probe.
    streams = windrow.Session()
    days = np.repeat(np.arange(60), 20).astype("datetime64[D]")
    for seed, name in enumerate("ab"):
        keys = np.random.default_rng(seed).integers(0, 5, len(days))
        rows = pa.table({"day": days, "k": keys})
        streams.stream(name, rows.to_batches(max_chunksize=70), time="day", rate="20 per day")
    query = f"SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = INTERVAL {window} DAYS"
    options = {"service_rate": "20 per day", "on_service_rate": "shed"}
    result = streams.sql(query, **options)
    found = result.to_arrow().num_rows / streams.sql(query).to_arrow().num_rows
    assert found == pytest.approx(share, abs=0.02)
    assert result.recall.expected == pytest.approx(found, rel=0.02)
    assert f"recall {min(share, 0.99):.0%}" in streams.explain(query, **options)


@pytest.mark.law
@pytest.mark.parametrize(
    ("lateness", "options"),
    [
        (0, {}),
        (300, {}),
        (0, {"polling": "round robin"}),
        (300, {"memory": "12 kB"}),
        (0, {"memory": "12 kB", "structure": "ttree/hash"}),
    ],
)
def test_memory_is_never_exceeded_whatever_waits(lateness, options, exact):
    streams = session(
        {
            name: rows(rate, seed).to_batches(max_chunksize=150 if name == "a" else 400)
            for seed, (name, rate) in enumerate({"a": 0.5, "b": 1.0}.items())
        },
        time="ts",
        lateness=lateness,
    )
    result = streams.sql(QUERY, **{"memory": "90 tuples", "on_memory": "shed", **options})
    held, found = [], Counter()
    for batch in result:
        found += bag(batch)
        held.append(result.progress.state_bytes if "memory" in options else result.progress.stored)
    assert max(held) <= (12_000 if "memory" in options else 90)
    assert Counter() < found < exact
    assert result.recall.estimated == pytest.approx(found.total() / exact.total(), abs=0.1)


@pytest.mark.law
def test_a_batch_is_taken_in_parts_and_a_checkpoint_knows_how_much_of_it():
    first = drawn_streams().sql(QUERY, **CASES["memory"])
    got = bag(next(first))
    kept = pickle.loads(pickle.dumps(first.checkpoint()))
    assert any(position.part for position in kept.positions.values())
    rest = drawn_streams().sql(QUERY, **CASES["memory"], resume=kept)
    assert got + bag(rest) == bag(shed("memory")[0])


@pytest.mark.parametrize("limit", [{"memory": "150 tuples", "on_memory": "shed"},
                                   {"service_rate": 0.9, "on_service_rate": "shed"}])  # fmt: skip
@pytest.mark.parametrize("where", ["abs(a.x - b.x) < 4", "a.x BETWEEN b.x AND b.x + 9",
                                   "a.x < b.x - 280"])  # fmt: skip
def test_a_comparison_that_sheds_looks_at_the_tuples_of_its_range_alone(where, limit):
    query = f"SELECT a.n, b.n AS m FROM a, b WHERE {where} WINDOW = {WINDOW}"
    scanned = drawn_streams().sql(query, algorithm="bew", **limit)
    by_trees = drawn_streams().sql(query, structure="ttree/btree", **limit)
    found = bag(scanned)
    assert bag(by_trees) == found
    assert found.total() > 0
    compared = [one.progress.operators["WJoin a, b"]["comparisons"] for one in (scanned, by_trees)]
    # Beside results, those of the range that are not in the period, or that are marked.
    assert compared[1] < 1.6 * found.total() + 50 < compared[0] / 10


def test_where_nothing_was_found_the_recall_says_so():
    apart = QUERY.replace("a.k = b.k", "a.k = b.k + 10")
    result = drawn_streams().sql(apart, **CASES["memory"])
    found = result.to_arrow()
    assert found.num_rows == 0
    assert str(result.recall) == "recall not known: nothing was found"
    assert not found.schema.metadata


def test_memory_may_be_counted_in_tuples_whatever_happens_beyond(exact):
    with pytest.raises(DataError, match=r"holds \d+ tuples of state, more than its memory of 100"):
        drawn_streams().sql(QUERY, memory="100 tuples").to_arrow()
    spilled = drawn_streams().sql(QUERY, memory="100 tuples", on_memory="spill").to_arrow()
    assert bag(spilled) == exact


@pytest.mark.law
def test_a_table_needs_no_more_memory_than_windows_though_it_is_one_batch(exact):
    # Some 120 tuples in the windows, and 250 and 500 of the streams in their only batches.
    query = drawn_streams(2_000).sql(QUERY, memory="180 tuples")
    got = bag(next(query))
    kept = pickle.loads(pickle.dumps(query.checkpoint()))
    query.stop()
    assert any(position.part for position in kept.positions.values())
    for memory in ({"memory": "180 tuples"}, {"memory": "180 tuples", "on_memory": "spill"}, {}):
        rest = drawn_streams(2_000).sql(QUERY, **memory, resume=kept)
        assert got + bag(rest) == exact


def test_minima_are_kept_whatever_the_strategy_says():
    # The slower stream would get all of the memory.
    alone = drawn_streams().sql(QUERY, memory="40 tuples", on_memory="shed")
    shared = drawn_streams().sql(QUERY, memory="40 tuples", on_memory="shed", shed_least="b = 50%")
    assert shared.to_arrow().num_rows != alone.to_arrow().num_rows
    assert shared.recall.expected < alone.recall.expected


def test_pandas_frames_are_marked_too():
    result = drawn_streams().sql(QUERY, **CASES["memory"])
    frame = result.to_pandas()
    assert frame.attrs["recall"] == result.recall.as_dict()
