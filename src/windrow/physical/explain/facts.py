"""What EXPLAIN tells of a node: a fact is a label and one or more lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Fact: TypeAlias = tuple[str, list[str]]

Show: TypeAlias = Callable[[str], str]
"""Gives a flat column name as the user knows it."""


def said(*facts: Fact) -> list[Fact]:
    """The facts that have something to say."""
    return [fact for fact in facts if fact[1]]
