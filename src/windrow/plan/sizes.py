"""Amounts of memory, as people write and read them."""

from __future__ import annotations

import re

from windrow.errors import PlanError

_UNITS = {
    "": 1, "b": 1,
    "kb": 1_000, "mb": 1_000**2, "gb": 1_000**3, "tb": 1_000**4,
    "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def to_bytes(size: str | int) -> int:
    """A size in bytes: '512 MB', '1.5 GiB', or a number of bytes.

    Raises:
        PlanError: it is no size, or less than a byte.

    Examples:
        >>> to_bytes("1.5 GiB")
        1610612736
    """
    found = _SIZE.fullmatch(str(size)) if type(size) in (str, int) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    count = int(float(found[1]) * unit) if found and unit else 0
    if count < 1:
        raise PlanError(
            "bad-option",
            f"memory = {size!r} is no amount of memory",
            hint="for instance '512 MB', '2 GiB', or a number of bytes",
        )
    return count


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
