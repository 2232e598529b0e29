"""A checkpoint counts rows: resumed with other batches, or in the middle of one, the answer is the same."""

from __future__ import annotations

import pickle
from itertools import islice, pairwise
from typing import Any

import pyarrow as pa
import pytest
from bags import bag
from case_share import share_of
from cases.in_process import cut_again
from cases.tape import TAPES
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sessions import session

from windrow import DataError, ResourceError, WindrowError
from windrow.run.local.checkpoint import CHECKPOINT_VERSION, Checkpoint

COUNTS = "SELECT COUNT(*) AS n FROM s [RANGE 9]"
QUERIES = {
    "join": "SELECT s.x, r.x AS y FROM s, r WHERE s.k = r.k WINDOW = 6",
    "counts": "SELECT k, COUNT(*) AS n FROM s [RANGE 6] GROUP BY k",
    "union": "SELECT k, x FROM s UNION ALL SELECT k, x FROM r",
    "newest": "SELECT s.x, r.x AS y FROM s [ROWS 3], r [ROWS 2] WHERE s.k = r.k",
}
PROMISES: dict[str, dict[str, Any]] = {
    "lateness": {"lateness": 3},
    "read-ahead": {"lateness": None, "read_ahead": 4},
    "punctuations": {"lateness": None, "punctuation": "told"},
}
MEANS: dict[str, Any] = {"list": list, "iterator": iter, "reader": None}


def batch(*times: int) -> pa.RecordBatch:
    return pa.record_batch({"x": list(range(len(times))), "at": list(times)})


def by(means: str, batches: list[pa.RecordBatch]) -> Any:
    if means == "reader":
        return pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    return MEANS[means](batches)


def counted(data: Any, checkpoint: Checkpoint | None = None) -> Any:
    w = session({"s": data}, time="at")
    return w.sql(COUNTS, resume=checkpoint)


@pytest.mark.law
def test_a_checkpoint_after_a_batch_of_four_is_resumed_with_batches_of_three():
    times = [0, 1, 2, 3, 4, 5, 6]
    fours = [batch(*times[:4]), batch(*times[4:])]
    threes = [batch(*times[:3]), batch(*times[3:6]), batch(*times[6:])]
    first = counted(fours)
    given_out = [next(first)]
    checkpoint = first.checkpoint()
    assert checkpoint.positions["s"].rows == 4
    for means in MEANS:
        rest = counted(by(means, threes), checkpoint)
        assert bag([*given_out, *rest]) == bag(counted(fours))
        assert rest.progress.rows_in == 7


@pytest.mark.law
def test_a_table_is_resumed_by_rows_too():
    table = pa.table({"x": range(7), "at": [6, 2, 4, 0, 1, 5, 3]})
    first = counted(table)
    checkpoint = first.checkpoint()
    assert bag(counted(table, checkpoint)) == bag(counted(table))
    with pytest.raises(DataError) as caught:
        counted(table.to_batches(), counted_to_the_end(table))
    assert str(caught.value) == (
        "DataError[checkpoint-of-another-order]: the checkpoint counts the rows of s in another order\n"
        "  a table is read in the order of time, an iterable of batches as they come, and rows that were"
        " read are skipped by their number\n"
        "  hint: register s as a table again, or as batches again, as it was"
    )


def counted_to_the_end(data: Any) -> Checkpoint:
    result = counted(data)
    result.to_arrow()
    return result.checkpoint()


@pytest.mark.parametrize("means", MEANS)
def test_fewer_rows_than_were_read_are_refused(means):
    first = counted([batch(0, 1, 2, 3), batch(4)])
    next(first)
    rest = counted(by(means, [batch(0, 1), batch(2)]), first.checkpoint())
    with pytest.raises(DataError) as caught:
        rest.to_arrow()
    assert str(caught.value) == (
        "DataError[too-few-rows]: the stream s ends after 3 rows, and the checkpoint was made after 4\n"
        "  a query that is resumed skips the rows that were read before\n"
        "  hint: register s from its beginning, with the rows that it had"
    )


def test_a_table_with_fewer_rows_than_were_read_is_refused():
    first = counted([batch(0, 1, 2, 3), batch(4)])
    next(first)
    with pytest.raises(DataError, match="too-few-rows"):
        counted(pa.table({"x": [1], "at": [0]}), first.checkpoint()).to_arrow()


def test_a_checkpoint_that_counts_batches_is_refused():
    old = Checkpoint(COUNTS, {}, 0, (), (), version=5)  # type: ignore[arg-type]
    with pytest.raises(ResourceError) as caught:
        counted([batch(0)], old)
    assert str(caught.value) == (
        "ResourceError[unknown-state-version]: the checkpoint has state version 5\n"
        f"  this version of Windrow reads state version {CHECKPOINT_VERSION}\n"
        "  hint: resume with the version of Windrow that made the checkpoint, or start afresh"
    )


def drawn(random: Any, promise: str) -> list[pa.RecordBatch]:
    """Batches whose rows are out of order by less than every promise allows."""
    rows = []
    for number in range(random.randint(1, 5)):
        # Three rows of one stretch of time, then those of the next: a read-ahead of four goes as far.
        stretch = [4 * number + random.randint(0, 3) for _ in range(3)]
        rows += [
            {"k": random.randint(0, 1), "x": len(rows), "at": at, "told": False} for at in stretch
        ]
        if promise == "punctuations":
            rows.append({"k": None, "x": None, "at": 4 * number + 3, "told": True})
    schema = pa.schema([(name, pa.int64()) for name in ("k", "x", "at")] + [("told", pa.bool_())])
    cuts = sorted(random.randint(0, len(rows)) for _ in range(3))
    parts = [rows[a:b] for a, b in pairwise([0, *cuts, len(rows)])]
    return [pa.RecordBatch.from_pylist(part, schema) for part in parts]


@pytest.mark.law
@pytest.mark.parametrize("promise", PROMISES)
@settings(max_examples=share_of(60), deadline=None)
@given(random=TAPES, query=st.sampled_from(list(QUERIES)), memory=st.sampled_from([None, 40, 200]))
def test_any_other_cut_into_batches_gives_the_rest_of_the_answer(promise, random, query, memory):
    inputs = {name: drawn(random, promise) for name in "sr"}
    # With little memory batches are put in order, and cut: a query may stop in the middle of one.
    options = {} if memory is None else {"memory": f"{memory} tuples"}

    def ask(streams: dict[str, list[pa.RecordBatch]], resume: Checkpoint | None = None) -> Any:
        w = session(
            {name: by(random.choice(list(MEANS)), batches) for name, batches in streams.items()},
            time="at",
            **PROMISES[promise],
        )
        return w.sql(QUERIES[query], resume=resume, **options)

    try:
        whole = bag(ask(inputs))
    except WindrowError as error:
        assert error.condition in {"memory-exceeded", "out-of-memory"}  # noqa: PT017
        reject()
    first = ask(inputs)
    given_out = list(islice(first, random.randint(0, 5)))
    checkpoint = pickle.loads(pickle.dumps(first.checkpoint()))
    rest = ask({name: cut_again(own, random) for name, own in inputs.items()}, checkpoint)
    assert bag([*given_out, *rest]) == whole
    assert rest.progress.late == 0
