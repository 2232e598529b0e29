"""Bags compared for the demo's verdict."""

from __future__ import annotations

import pyarrow as pa

from windrow.demo.show import compare


def test_order_does_not_matter():
    verdict = compare(pa.table({"n": [2, 1]}), pa.table({"n": [1, 2]}))
    assert (verdict.equal, verdict.missing, verdict.unexpected) == (2, (), ())


def test_copies_count():
    verdict = compare(pa.table({"n": [1, 1, 3]}), pa.table({"n": [1, 2, 3]}))
    assert (verdict.equal, verdict.missing, verdict.unexpected) == (2, ((2,),), ((1,),))
    assert not verdict


def test_the_last_bit_counts():
    almost = pa.table({"n": [0.1 + 0.2]})
    assert not compare(almost, pa.table({"n": [0.3]}))
