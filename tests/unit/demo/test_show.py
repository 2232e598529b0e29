"""Figures of the demo."""

from __future__ import annotations

from windrow.demo.show import steady_per_s
from windrow.run.progress import Progress


def batch(number: int, rows_in: int, ms: float) -> Progress:
    return Progress(number, rows_in, 0, 0, "bigint", ms=ms)


def test_the_steady_rate_leaves_out_the_first_two_batches_and_empty_ones():
    batches = [
        batch(0, 100, 9_000.0),
        batch(1, 200, 9_000.0),
        batch(2, 300, 100.0),
        batch(3, 400, 50.0),
        batch(4, 500, 100.0),
        batch(5, 500, 70.0),
    ]
    assert steady_per_s(batches) == 1_000.0


def test_a_run_without_steady_batches_has_no_rate():
    assert steady_per_s([batch(0, 100, 10.0)]) == 0.0
