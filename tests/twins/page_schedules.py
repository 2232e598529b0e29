"""Page reads by the book: buffers as a list, the page used longest ago first.

Columns are what `schedule.py` calls so: a left page and the right pages that it meets, by page.
"""

from __future__ import annotations

from collections.abc import Sequence

Column = tuple[int, list[int]]


def gallop_reads(columns: Sequence[Column], buffers: int) -> int:
    """Left page by left page; the right page used longest ago makes room."""
    reads, held = 0, []
    for _, rights in columns:
        reads += 1
        for right in rights:
            if right in held:
                held.remove(right)
            else:
                reads += 1
            held = [*held, right][-buffers:]
    return reads


def band(pages: int, reach: int) -> list[Column]:
    """Pages of two windows with the same layout: each meets those up to `reach` pages away."""
    return [
        (i, [j for j in range(1, pages + 1) if abs(i - j) <= reach]) for i in range(1, pages + 1)
    ]
