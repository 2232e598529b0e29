"""A function that takes the answer: what it raises, and what is none."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sessions import session

import windrow
from windrow.io import Unavailable

ROWS = pa.table({"k": [1, 2], "t": [1, 2]})


def run(function, **about: object):
    w = session({"s": ROWS}, time="t")
    return w.run("SELECT k FROM s", to=windrow.call(function), **about)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(windrow.BindError) as refused:
        windrow.call(5)
    assert str(refused.value) == (
        "BindError[bad-argument]: the argument function of call(..) must be a function, not 5\n"
        "  hint: for instance  function=lambda rows, epoch: print(rows.num_rows)"
    )


def test_what_a_function_raises_is_the_cause_of_an_error_that_names_it():
    def breaks(rows, epoch):
        raise ValueError("no more room")

    with pytest.raises(windrow.DataError) as failed:
        run(breaks).wait(60)
    assert failed.value.condition == "function-failed"
    assert failed.value.sentence == (
        "the function breaks of windrow.call(..), which takes the answer, raised"
        " ValueError: no more room"
    )
    assert failed.value.reason.endswith(f" of {__file__}")
    assert isinstance(failed.value.__cause__, ValueError)


def test_a_function_of_other_arguments_is_said_to_be_one():
    with pytest.raises(windrow.DataError) as failed:
        run(len).wait(60)
    assert failed.value.reason == "it cannot be called with a table and the number of an epoch"


def test_a_function_that_is_away_gets_its_rows_when_it_is_back():
    got, errors = [], [Unavailable("away", "it is away")]

    def takes(rows, epoch):
        if errors:
            raise errors.pop()
        got.extend(rows["k"].to_pylist())

    assert run(takes).wait(60)
    assert got == [1, 2]


@pytest.mark.parametrize("place", ["out", [], None, windrow.files])
def test_an_answer_goes_to_a_place_and_to_nothing_else(place):
    w = session({"s": ROWS}, time="t")
    with pytest.raises(windrow.BindError) as refused:
        w.run("SELECT k FROM s", to=place)
    assert refused.value.condition == "bad-argument"
    assert refused.value.sentence.startswith(
        "the argument to of run(..) must be a place that takes the answer, not "
    )
    assert refused.value.hint == "for instance  to=windrow.files('out/')"
