"""Bags compared for the demo's verdict."""

from __future__ import annotations

import pyarrow as pa

from windrow.demo.show import Verdict, compare


def test_answers_are_compared_in_whatever_order():
    assert compare(pa.table({"n": [2, 1]}), pa.table({"n": [1, 2]})) == Verdict(2)


def test_answers_that_differ_in_copies_of_a_row_are_not_equal():
    verdict = compare(pa.table({"n": [1, 1, 3]}), pa.table({"n": [1, 2, 3]}))
    assert verdict == Verdict(rows=2, missing=1, unexpected=1)
    assert not verdict.is_equal


def test_answers_that_differ_in_the_last_bit_of_a_double_are_not_equal():
    almost = pa.table({"n": [0.1 + 0.2]})
    assert not compare(almost, pa.table({"n": [0.3]})).is_equal
