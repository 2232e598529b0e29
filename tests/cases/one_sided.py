"""Conditions on one side of a join: as SQL, and as what they say of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class OneSided:
    """A condition on the left (0) or right (1) side; a row that is None has NULL in every column."""

    side: int
    sql: str
    holds: Callable[[Row | None], bool]


def _parity(row: Row | None, name: str) -> int | None:
    value = None if row is None else row[name]
    return None if value is None else value % 2


def draw_one_sided(random: Random, aliases: tuple[str, str], present: str) -> OneSided:
    """A condition on the column x, which may be NULL, or on one that is there in every row."""
    side = random.randrange(2)
    alias = aliases[side]
    x, there = f"{alias}.x", f"{alias}.{present}"
    forms: list[tuple[str, Callable[[Row | None], bool]]] = [
        (f"{there} % 2 = 0", lambda row: _parity(row, present) == 0),
        (f"{x} % 2 = 0", lambda row: _parity(row, "x") == 0),
        (f"NOT {x} % 2 = 0", lambda row: _parity(row, "x") == 1),
        (f"{x} IS NULL", lambda row: _parity(row, "x") is None),
        (f"{there} IS NULL", lambda row: row is None),
        (f"{there} IS NOT NULL", lambda row: row is not None),
        (f"coalesce({x} % 2, 1) = 1", lambda row: _parity(row, "x") in (None, 1)),
        (
            f"({x} IS NULL OR {there} % 2 = 1)",
            lambda row: _parity(row, "x") is None or _parity(row, present) == 1,
        ),
    ]
    return OneSided(side, *random.choice(forms))


def draw_conditions(
    random: Random, aliases: tuple[str, str], present: str
) -> tuple[tuple[OneSided, ...], tuple[OneSided, ...]]:
    """Conditions of ON and of WHERE: none for many joins, one or two for others."""
    on, where = (
        tuple(
            draw_one_sided(random, aliases, present)
            for _ in range(random.choice([0, 0, 0, 1, 1, 2]))
        )
        for _ in range(2)
    )
    return on, where
