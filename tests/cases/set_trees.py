"""Random trees of set operations, DISTINCT, joins and aggregates over windowed streams.

A tree is drawn whole, has a text in Windrow's SQL, one for DuckDB over the rows alive at an instant,
and an answer at that instant in plain Python. All relations have two columns of whole numbers, k and
v, so that any tree fits below any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

from twins.set_operation import Bag, combined

Stored = Mapping[str, list[tuple[int, Any, Any]]]
"""Rows (t, k, v) of each stream."""

WINDOWS = (0, 1, 3, 6)
KINDS = ("union", "union all", "except", "except all", "intersect", "intersect all")


@dataclass(frozen=True)
class Alive:
    """The rows of a stream that are in their window."""

    stream: str
    window: int

    def instants(self, stored: Stored) -> Iterator[int]:
        """When its rows come and go."""
        for t, _, _ in stored[self.stream]:
            yield from (t, t + self.window + 1)

    def at(self, stored: Stored, instant: int) -> list[tuple[Any, Any]]:
        """Its rows at an instant."""
        return [(k, v) for t, k, v in stored[self.stream] if t <= instant <= t + self.window]

    def snapshot(self) -> str:
        """The same in DuckDB's SQL; $1 is the instant."""
        inside = f"t <= $1 AND $1 <= t + {self.window}"
        return f"(SELECT k, v FROM {self.stream} WHERE {inside})"


@dataclass(frozen=True)
class Select:
    """SELECT k, v FROM a stream, some of it."""

    source: Alive
    least: int | None
    is_changelog = False

    def leaves(self) -> list[Alive]:
        return [self.source]

    def sql(self, _: Iterator[int]) -> str:
        stream = f"{self.source.stream} [RANGE {self.source.window}]"
        return f"SELECT k, v FROM {stream}{self._where()}"

    def snapshot(self, names: Iterator[int]) -> str:
        return f"SELECT k, v FROM {self.source.snapshot()} s{next(names)}{self._where()}"

    def at(self, stored: Stored, instant: int) -> Bag:
        rows = self.source.at(stored, instant)
        least = self.least
        return Counter(row for row in rows if least is None or (row[1] or -1) >= least)

    def _where(self) -> str:
        return "" if self.least is None else f" WHERE v >= {self.least}"


@dataclass(frozen=True)
class Join:
    """A window join of two streams by k, inner or left outer."""

    left: Alive
    right: Alive
    kind: str
    is_changelog = False

    def leaves(self) -> list[Alive]:
        return [self.left, self.right]

    def sql(self, _: Iterator[int]) -> str:
        left, right = (f"{one.stream} [RANGE {one.window}]" for one in (self.left, self.right))
        return self._text(left, right)

    def snapshot(self, _: Iterator[int]) -> str:
        return self._text(self.left.snapshot(), self.right.snapshot())

    def _text(self, left: str, right: str) -> str:
        return f"SELECT p.k, q.v FROM {left} p {self.kind}JOIN {right} q ON p.k = q.k"

    def at(self, stored: Stored, instant: int) -> Bag:
        right = self.right.at(stored, instant)
        rows: Bag = Counter()
        for k, _ in self.left.at(stored, instant):
            matches = [(k, w) for j, w in right if k == j is not None]
            rows.update(matches or ([(k, None)] if self.kind else []))
        return rows


ABOVE = {
    "distinct": "SELECT DISTINCT k, v FROM {}",
    "group": "SELECT k, COUNT(*) AS v FROM {} GROUP BY k",
    "least": "SELECT k, MIN(v) AS v FROM {} GROUP BY k",
    "hidden": "SELECT COUNT(v) AS k, COUNT(*) AS v FROM {} GROUP BY k",
    "swap": "SELECT v AS k, k AS v FROM {} WHERE k IS NOT NULL",
    "cut": "SELECT k, CAST(0 AS BIGINT) AS v FROM {}",
}
CHANGELOGS = {"distinct", "group", "least", "hidden"}


@dataclass(frozen=True)
class Above:
    """One SELECT over a derived table."""

    kind: str
    below: Tree

    @property
    def is_changelog(self) -> bool:
        return self.kind in CHANGELOGS or self.below.is_changelog

    def leaves(self) -> list[Alive]:
        return self.below.leaves()

    def sql(self, names: Iterator[int]) -> str:
        return ABOVE[self.kind].format(f"({self.below.sql(names)}) d{next(names)}")

    def snapshot(self, names: Iterator[int]) -> str:
        return ABOVE[self.kind].format(f"({self.below.snapshot(names)}) d{next(names)}")

    def at(self, stored: Stored, instant: int) -> Bag:
        rows = self.below.at(stored, instant)
        if self.kind == "distinct":
            return Counter(set(rows))
        if self.kind == "swap":
            return Counter((v, k) for k, v in rows.elements() if k is not None)
        if self.kind == "cut":
            return Counter((k, 0) for k, _ in rows.elements())
        groups: dict[Any, list[Any]] = {}
        for k, v in rows.elements():
            groups.setdefault(k, []).append(v)
        if self.kind == "group":
            return Counter((k, len(members)) for k, members in groups.items())
        if self.kind == "least":
            return Counter(
                (k, min((v for v in members if v is not None), default=None))
                for k, members in groups.items()
            )
        counted = [[v for v in members if v is not None] for members in groups.values()]
        return Counter(
            (len(own), len(members)) for own, members in zip(counted, groups.values(), strict=True)
        )


@dataclass(frozen=True)
class Operation:
    """A set operation between two trees, in parentheses."""

    kind: str
    left: Tree
    right: Tree

    @property
    def is_changelog(self) -> bool:
        return self.kind != "union all" or self.left.is_changelog or self.right.is_changelog

    def leaves(self) -> list[Alive]:
        return self.left.leaves() + self.right.leaves()

    def sql(self, names: Iterator[int]) -> str:
        return f"({self.left.sql(names)}) {self.kind.upper()} ({self.right.sql(names)})"

    def snapshot(self, names: Iterator[int]) -> str:
        return f"({self.left.snapshot(names)}) {self.kind.upper()} ({self.right.snapshot(names)})"

    def at(self, stored: Stored, instant: int) -> Bag:
        return combined(self.kind, self.left.at(stored, instant), self.right.at(stored, instant))


Tree = Select | Join | Above | Operation


def draw_tree(random: Random, depth: int) -> Tree:
    """A tree of at most so many levels."""
    what = (
        random.choice(["select", "operation", "operation", "above", "join"]) if depth else "select"
    )
    if what == "select":
        return Select(_alive(random), random.choice([None, None, 1]))
    if what == "join":
        return Join(_alive(random), _alive(random), random.choice(["", "LEFT "]))
    if what == "above":
        return Above(random.choice(list(ABOVE)), draw_tree(random, depth - 1))
    return Operation(
        random.choice(KINDS), draw_tree(random, depth - 1), draw_tree(random, depth - 1)
    )


def draw_changelog(random: Random, depth: int = 3) -> Tree:
    """A tree whose answer is a changelog."""
    tree = draw_tree(random, depth)
    return tree if tree.is_changelog else Above("distinct", tree)


def _alive(random: Random) -> Alive:
    return Alive(random.choice("xyz"), random.choice(WINDOWS))


def sql_of(tree: Tree) -> str:
    """The tree in Windrow's SQL."""
    return tree.sql(count())


def snapshot_of(tree: Tree) -> str:
    """The tree at the instant $1 in DuckDB's SQL, over tables with the columns t, k and v."""
    return tree.snapshot(count())


def instants_of(tree: Tree, stored: Stored) -> list[int]:
    """When anything may change."""
    return sorted({instant for leaf in tree.leaves() for instant in leaf.instants(stored)})
