"""Amounts of memory."""

from __future__ import annotations

import pytest

from windrow.errors import PlanError
from windrow.plan.sizes import show_bytes, to_bytes


@pytest.mark.parametrize(
    ("size", "count"),
    [("512 MB", 512_000_000), ("1.5GiB", 3 << 29), (4096, 4096), ("10", 10), ("2 kib", 2048)],
)
def test_sizes_are_read_with_or_without_a_unit(size, count):
    assert to_bytes(size) == count


@pytest.mark.parametrize("size", ["", "much", "-1", "0", "3 apples", None, True, 1.5, "0.2 b"])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(PlanError, match="is no amount of memory"):
        to_bytes(size)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_500_000_000, "2.5 GB"), (10**13, "10.0 TB")],
)
def test_bytes_are_shown_in_the_unit_that_fits(count, text):
    assert show_bytes(count) == text
