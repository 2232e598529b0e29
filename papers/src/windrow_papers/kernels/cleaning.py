"""When the baselines clean their buffers that know no windows by themselves."""

from __future__ import annotations

CLEAN_EVERY = 10_000
"""How many tuples they take between two cleanings."""
