"""Amounts of memory."""

from __future__ import annotations

import math

import pytest

from windrow.errors import PlanError
from windrow.plan.units import Amount, show_bytes, to_amount, to_bytes


@pytest.mark.parametrize(
    ("size", "count"),
    [
        ("512 MB", 512_000_000),
        ("1.5GiB", 3 << 29),
        (4096, 4096),
        ("10", 10),
        ("2 kib", 2048),
        ("0.3 kB", 300),
        (2**63 - 1, 2**63 - 1),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_sizes_are_read_with_or_without_a_unit(size, count):
    assert to_bytes(size) == count


@pytest.mark.parametrize(
    "size",
    [
        "", "much", "-1", "0", "3 apples", None, True, 1.5, "0.2 b", -5, 0, "nan", "inf",
        math.nan, math.inf, -math.inf, object(), b"1", "1e9", "9" * 5_000,
    ],
)  # fmt: skip
def test_what_is_no_size_is_refused(size):
    with pytest.raises(PlanError, match="is not an amount of memory"):
        to_bytes(size)


@pytest.mark.parametrize("size", ["1.5", "2.5 B", "0.0015 kB", "0.1 KiB"])
def test_a_fraction_of_a_byte_is_refused(size):
    with pytest.raises(PlanError, match="is not a whole number of bytes"):
        to_bytes(size)


@pytest.mark.parametrize(
    "size",
    [2**63, pytest.param(10**5_000, id="huge"), "9223372036854775808", "10000000 TB"],
)
def test_more_bytes_than_can_be_counted_are_refused(size):
    with pytest.raises(PlanError) as error:
        to_bytes(size)
    assert str(error.value) == (
        "PlanError[bad-option]: the memory is more than 2**63 - 1 bytes, which no machine has\n"
        "  hint: for instance '512 MB', '2 GiB', '5000 tuples', or a number of bytes; without a limit, leave it out"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2_500_000_000, "2.5 GB"), (10**13, "10.0 TB")],
)
def test_bytes_are_shown_in_the_unit_that_fits(count, text):
    assert show_bytes(count) == text


@pytest.mark.parametrize(
    ("size", "amount", "shown"),
    [
        ("5000 tuples", Amount(5000, is_tuples=True), "5,000 tuples"),
        ("1_000 Tuples", Amount(1000, is_tuples=True), "1,000 tuples"),
        ("1 tuple", Amount(1, is_tuples=True), "1 tuples"),
        ("64 kB", Amount(64_000), "64.0 kB"),
        (512, Amount(512), "512 B"),
    ],
)
def test_memory_is_counted_in_tuples_or_bytes(size, amount, shown):
    assert to_amount(size) == amount
    assert str(amount) == shown


@pytest.mark.parametrize("size", ["0 tuples", "tuples", "-5 tuples", "1.5 tuples"])
def test_what_is_no_number_of_tuples_is_refused(size):
    with pytest.raises(PlanError, match="is not an amount of memory"):
        to_amount(size)
