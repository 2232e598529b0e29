"""A checkpoint fits the plan that made it: hints and options that give another one are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from windrow import Session
from windrow.errors import PlanError

PAIRS = "SELECT DISTINCT l.k, r.v FROM a [RANGE 5] l, b [RANGE 5] r WHERE l.k = r.k"
HINTS = {"rate": 1000, "distinct": {"k": 1, "v": 1}}


def two_streams(*hinted: str) -> Session:
    made = Session()
    for name in ("a", "b"):
        batches = [pa.record_batch({"k": [1], "v": [at % 2], "at": [at]}) for at in range(6)]
        made.stream(name, batches, time="at", **(HINTS if name in hinted else {}))
    return made


@pytest.mark.parametrize(
    ("hinted", "hinted_then"), [("ab", ""), ("", "ab"), ("a", "b")], ids=["less", "more", "other"]
)
def test_hints_by_which_distinct_goes_elsewhere_are_refused(hinted, hinted_then):
    first = two_streams(*hinted).sql(PAIRS)
    next(first)
    checkpoint = first.checkpoint()
    with pytest.raises(PlanError) as error:
        two_streams(*hinted_then).sql(PAIRS, resume=checkpoint)
    assert str(error.value) == (
        "PlanError[checkpoint-of-another-plan]: the checkpoint was made by another plan of the query\n"
        f"  it holds the state of: {'; '.join(checkpoint.operators)}\n"
        "  hint: resume with the options, and the rate= and distinct= of streams, that it was made"
        " with, or start without resume"
    )


def test_hints_that_leave_the_stages_as_they_are_may_change():
    first = two_streams().sql(PAIRS)
    found = next(first).num_rows
    other = two_streams()
    other.stream("c", pa.table({"k": [1], "at": [1]}), time="at", rate=5)
    rest = other.sql(PAIRS, resume=first.checkpoint(), algorithm="few")
    assert found + rest.to_arrow().num_rows == two_streams().sql(PAIRS).to_arrow().num_rows
