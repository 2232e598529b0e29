"""The compiled structures on the bench: what is counted, and that searching changes nothing."""

from __future__ import annotations

import pytest

from windrow.calibration.measuring import CompiledBench
from windrow.optimize.cost.structures import Sizes, Structure
from windrow_papers.experiments.kang.counted_work import CountingBench


@pytest.mark.parametrize("structure", Structure)
def test_searches_cost_the_same_work_again_and_again(structure):
    bench = CountingBench(structure, 200, Sizes())
    first = bench.search(50)
    assert bench.search(50) == first
    assert bench.search(100) > first
    assert CompiledBench(structure, 200, Sizes()).search(50) >= 0.0


def test_a_search_of_a_buffer_touches_the_window_and_an_arrival_two_tuples():
    bench = CountingBench(Structure.buffer, 200, Sizes())
    assert bench.search(10) == 10 * 200
    assert bench.update(10) == 10 * 2


def test_a_search_of_a_hash_table_touches_a_bucket():
    small, large = (
        CountingBench(Structure.hash, 2_000, Sizes(bucket=bucket)).search(1_000) / 1_000
        for bucket in (2, 20)
    )
    # The bucket's tuples, the look-up of the bucket, and half a bucket's spread for chance.
    assert 1 < small < 5
    assert 15 < large < 26


def test_the_same_work_is_counted_on_every_bench():
    first, second = (CountingBench(Structure.ttree, 500, Sizes()).update(200) for _ in range(2))
    assert first == second
