"""A checkpoint fits the query that made it, over streams of the same columns, and nothing else."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

from windrow import Session
from windrow.errors import PlanError

JOIN = "SELECT a.k FROM a, b WHERE a.k = b.k WINDOW = 4"
TOTALS = "SELECT k, SUM(v) AS total FROM a [RANGE 7] GROUP BY k"


def streams_of_type(kind: pa.DataType, lateness: int = 0) -> Session:
    return session(
        {
            name: [
                pa.record_batch(
                    {"k": pa.array([1]).cast(kind), "v": pa.array([at]).cast(kind), "at": [at]}
                )
                for at in range(6)
            ]
            for name in ("a", "b")
        },
        time="at",
        lateness=lateness,
    )


@pytest.mark.parametrize("query", [JOIN, TOTALS])
def test_streams_whose_columns_have_other_types_are_refused(query):
    first = streams_of_type(pa.int64()).sql(query)
    next(first)
    with pytest.raises(PlanError) as error:
        streams_of_type(pa.float64()).sql(query, resume=first.checkpoint())
    alias = "a.k" if query == JOIN else "a.k` bigint, `a.v"
    assert str(error.value) == (
        "PlanError[checkpoint-of-another-schema]: the checkpoint was made over other columns of a\n"
        f"  it was made over at (bigint), `{alias}` bigint\n"
        "  hint: register it with the columns it had, or start without resume"
    )


def test_another_lateness_is_no_reason_to_refuse():
    first = streams_of_type(pa.int64()).sql(JOIN)
    next(first)
    rest = streams_of_type(pa.int64(), lateness=3).sql(JOIN, resume=first.checkpoint())
    assert rest.to_arrow().num_rows > 0


def test_what_is_no_checkpoint_is_refused():
    with pytest.raises(PlanError) as error:
        streams_of_type(pa.int64()).sql(JOIN, resume=b"pickled")
    assert str(error.value) == (
        "PlanError[not-a-checkpoint]: resume takes a checkpoint, not bytes\n"
        "  hint: give what checkpoint() of an earlier result returned, unpickled if it was pickled"
    )
