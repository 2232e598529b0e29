"""What an aggregate takes: kinds of arguments, by their Spark types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from windrow.plan.types import is_number

_ORDERED = {"string", "binary", "boolean", "date", "timestamp", "timestamp_ntz"}
"""Types beside numbers that have an order."""


@dataclass(frozen=True)
class Argument:
    """One kind of argument.

    Attributes:
        words: what it is, in the plural, for the reference.
        fits: whether a Spark type is of the kind.
        hint: what to write where it is not: `{name}` is the aggregate, `{text}` the argument.
        is_condition: whether it is a condition, of which errors speak as of those in WHERE.
    """

    words: str
    fits: Callable[[str], bool]
    hint: str = ""
    is_condition: bool = False


def is_ordered(type_: str) -> bool:
    """Whether values of a Spark type have an order that aggregates know."""
    return is_number(type_) or type_ in _ORDERED or type_.startswith(("varchar(", "char("))


def is_any(type_: str) -> bool:  # noqa: ARG001
    """Every Spark type."""
    return True


def is_truth(type_: str) -> bool:
    """Whether a Spark type is that of conditions."""
    return type_ == "boolean"


ANYTHING = Argument("anything", is_any)
NUMBERS = Argument(
    "numbers", is_number, "cast it to a number, for instance {name}(CAST({text} AS DOUBLE))"
)
ORDERED = Argument(
    "numbers, texts and bytes (byte by byte), dates, timestamps, booleans",
    is_ordered,
    "give {name} a number, a text, bytes, a time or a boolean",
)
CONDITION = Argument("conditions", is_truth, is_condition=True)
