"""Tables compared as bags: the same rows, each as often, in any order.

    assert same_rows(actual, expected)      # a failure shows the rows that differ
    assert_same_rows(actual, expected)      # the same, for places without pytest

Finite floats are compared by tolerance, everything else exactly; NaN equals NaN and NULL equals
NULL. Column names and their order must agree. Types need not, as long as the values are equal: a
decimal 5 equals an integer 5, but a float never equals an integer.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

Rows: TypeAlias = "pa.Table | pa.RecordBatch | Sequence[Mapping[str, Any]]"

RELATIVE = 1e-9
ABSOLUTE = 1e-12
MOST_SHOWN = 20
"""Rows of a difference that are printed for each side."""


@dataclass(frozen=True)
class Comparison:
    """What two bags have apart; true when that is nothing, and readable when it is not."""

    columns: tuple[str, ...]
    missing: tuple[tuple[Any, ...], ...]
    unexpected: tuple[tuple[Any, ...], ...]
    equal: int
    names_differ: str = ""

    def __bool__(self) -> bool:
        return not (self.missing or self.unexpected or self.names_differ)

    def __repr__(self) -> str:
        if self:
            return f"the same {self.equal} rows"
        if self.names_differ:
            return self.names_differ
        lines = [
            f"{len(self.missing)} rows are missing, {len(self.unexpected)} are unexpected, "
            f"{self.equal} agree",
            "    " + " | ".join(self.columns),
        ]
        lines += _shown("-", self.missing)
        lines += _shown("+", self.unexpected)
        return "\n".join(lines)


def same_rows(
    actual: Rows, expected: Rows, *, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> Comparison:
    """Whether two tables hold the same rows, each as often, in any order.

    Gives a value to assert: false when rows differ, and its text lists them (`-` missing, `+`
    unexpected).
    """
    names, found = _rows(actual)
    expected_names, wanted = _rows(expected)
    if names and expected_names and names != expected_names:
        text = f"the columns are {list(names)}, expected {list(expected_names)}"
        return Comparison(names, (), (), 0, text)

    remaining: dict[Any, list[_Row]] = defaultdict(list)
    for row in map(_Row.of, wanted):
        remaining[row.exact].append(row)
    here: dict[Any, list[_Row]] = defaultdict(list)
    for row in map(_Row.of, found):
        here[row.exact].append(row)

    missing: list[tuple[Any, ...]] = []
    unexpected: list[tuple[Any, ...]] = []
    for exact in {**remaining, **here}:
        lost, extra = _unmatched(remaining[exact], here[exact], relative, absolute)
        missing += lost
        unexpected += extra
    columns = names or expected_names
    return Comparison(columns, tuple(missing), tuple(unexpected), len(found) - len(unexpected))


def assert_same_rows(
    actual: Rows, expected: Rows, *, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> None:
    """Raises AssertionError, with the rows that differ, unless both bags are the same."""
    comparison = same_rows(actual, expected, relative=relative, absolute=absolute)
    if not comparison:
        raise AssertionError(repr(comparison))


@dataclass(frozen=True)
class _Row:
    """A row with its finite floats apart: the rest decides which rows can be equal at all."""

    values: tuple[Any, ...]
    exact: Any
    floats: tuple[float, ...]

    @staticmethod
    def of(values: tuple[Any, ...]) -> _Row:
        floats: list[float] = []
        return _Row(values, _exact(values, floats), tuple(floats))

    def is_near(self, other: _Row, relative: float, absolute: float) -> bool:
        return all(
            math.isclose(a, b, rel_tol=relative, abs_tol=absolute)
            for a, b in zip(self.floats, other.floats, strict=True)
        )


def _exact(value: Any, floats: list[float]) -> Any:
    """The hashable part of a value that must agree exactly; finite floats go to the list."""
    if isinstance(value, float):
        if math.isfinite(value):
            floats.append(value)
            return "a float"
        return repr(value)
    if isinstance(value, Mapping):
        return tuple((name, _exact(part, floats)) for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_exact(part, floats) for part in value)
    return value


def _unmatched(
    wanted: list[_Row], found: list[_Row], relative: float, absolute: float
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The rows of either list without a partner in the other, floats compared by tolerance."""
    wanted = sorted(wanted, key=lambda row: row.floats)
    extra: list[tuple[Any, ...]] = []
    for row in sorted(found, key=lambda row: row.floats):
        # Both are in order, so that the partner is nearly always the first one left.
        for place, other in enumerate(wanted):
            if row.is_near(other, relative, absolute):
                del wanted[place]
                break
        else:
            extra.append(row.values)
    return [row.values for row in wanted], extra


def _rows(rows: Rows) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The column names and the rows as plain tuples."""
    if isinstance(rows, (pa.Table, pa.RecordBatch)):
        columns = [column.to_pylist() for column in rows.columns]
        return tuple(rows.schema.names), list(zip(*columns, strict=True))
    names = tuple(rows[0]) if rows else ()
    return names, [tuple(row[name] for name in names) for row in rows]


def _shown(mark: str, rows: tuple[tuple[Any, ...], ...]) -> list[str]:
    texts = [
        ["NULL" if value is None else str(value) for value in row] for row in rows[:MOST_SHOWN]
    ]
    lines = [f"  {mark} " + " | ".join(row) for row in texts]
    if len(rows) > MOST_SHOWN:
        lines.append(f"  {mark} ... and {len(rows) - MOST_SHOWN} more")
    return lines
