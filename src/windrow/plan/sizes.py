"""Amounts of memory, as people write and read them: bytes, or tuples."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from windrow.errors import PlanError

_UNITS = {
    "": 1, "b": 1,
    "kb": 1_000, "mb": 1_000**2, "gb": 1_000**3, "tb": 1_000**4,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
_EXAMPLES = "for instance '512 MB', '2 GiB', '5000 tuples', or a number of bytes"
_TUPLES = re.compile(r"\s*([0-9][0-9_,]{0,25})\s*tuples?\s*", re.IGNORECASE)
_SIZE = re.compile(r"\s*([0-9]{1,40}(?:\.[0-9]{1,40})?)\s*([a-z]*)\s*", re.IGNORECASE)

MOST_BYTES = 2**63 - 1
"""What the counters of operators, and Spark's, can hold."""


@dataclass(frozen=True)
class Amount:
    """How much memory: so many bytes, or so many tuples of whatever size."""

    count: int
    is_tuples: bool = False

    def __str__(self) -> str:
        return f"{self.count:,} tuples" if self.is_tuples else show_bytes(self.count)


def to_amount(size: str | int) -> Amount:
    """An amount of memory: '5000 tuples', or what `to_bytes` reads.

    Raises:
        PlanError: it is no amount of memory.

    Examples:
        >>> str(to_amount("5000 tuples")), str(to_amount(1_000))
        ('5,000 tuples', '1.0 kB')
    """
    found = _TUPLES.fullmatch(size) if isinstance(size, str) else None
    count = int(re.sub("[_,]", "", found[1])) if found else 0
    if 1 <= count <= MOST_BYTES:
        return Amount(count, is_tuples=True)
    return Amount(to_bytes(size))


def to_bytes(size: str | int) -> int:
    """A size in bytes: '512 MB', '1.5 GiB', or a number of bytes.

    Raises:
        PlanError: it is no size, no whole number of bytes, less than a byte, or beyond counting.

    Examples:
        >>> to_bytes("1.5 GiB")
        1610612736
    """
    count = Fraction(size) if type(size) is int else _read(size)
    if count is None or count < 1:
        raise PlanError(
            "bad-option",
            f"memory = {size!r} is no amount of memory",
            hint=_EXAMPLES,
        )
    if count > MOST_BYTES:
        raise PlanError(
            "bad-option",
            "the memory is more than 2**63 - 1 bytes, which no machine has",
            hint=f"{_EXAMPLES}; without a limit, leave it out",
        )
    if count.denominator != 1:
        raise PlanError(
            "bad-option",
            f"memory = {size!r} is no whole number of bytes",
            hint=_EXAMPLES,
        )
    return int(count)


def _read(size: object) -> Fraction | None:
    """The bytes that a text says; None for what says none."""
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    return Fraction(found[1]) * unit if found and unit else None


def show_bytes(count: int) -> str:
    """A number of bytes as people read it.

    Examples:
        >>> show_bytes(3_500_000)
        '3.5 MB'
    """
    if count < 1_000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1_000
        if size < 1_000:
            return f"{size:.1f} {unit}"
    return f"{size / 1_000:.1f} TB"
