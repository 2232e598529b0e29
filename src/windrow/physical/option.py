"""One option of a query, as a row of the table of options (`options.py`).

    seed: Annotated[
        int | None,
        Option(
            "of the draws that decide what is shed: a whole number of 64 bits",
            unset="0",
            check=whole(-(1 << 63), (1 << 63) - 1, "is no seed", "a whole number of 64 bits"),
            read=as_signed_number,
        ),
    ] = None

Keywords, hints, job files, what a runner refuses and the page of the reference follow from the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

from windrow.errors import PlanError, nearest

Check = Callable[[str, Any], object]
"""Given an option's name and value, raises a PlanError where the value cannot be."""


@dataclass(frozen=True)
class InProcess:
    """What Spark refuses: the option, or one value of it.

    Attributes:
        reason: why it works in process alone.
        instead: what to write.
        value: the one value that is refused; None: all are.
    """

    reason: str
    instead: str
    value: str | None = None


@dataclass(frozen=True)
class Option:
    """A row.

    Attributes:
        says: what it means, for the reference.
        unset: what holds where it is not given, for the reference; "" where there is nothing to say.
        check: refuses values that it cannot have.
        read: the value that a hint's text stands for; what it cannot be, the check refuses.
        is_hint: whether a hint may give it.
        is_folder: whether it names a folder, which in a job file is relative to that file.
        in_process: what of it Spark refuses.
    """

    says: str
    check: Check
    unset: str = ""
    read: Callable[[str], Any] = str
    is_hint: bool = True
    is_folder: bool = False
    in_process: InProcess | None = None


def as_number(text: str) -> int | str:
    """A hint's text as a whole number without a sign, where it is one."""
    return int(text) if text.isascii() and text.isdigit() else text


def as_signed_number(text: str) -> int | str:
    """A hint's text as a whole number, perhaps below zero, where it is one."""
    return text if isinstance(as_number(text.removeprefix("-")), str) else int(text)


def as_flag(text: str) -> bool | str:
    """A hint's text as yes or no, where it says one of them."""
    return {"true": True, "false": False}.get(text.lower(), text)


def rows_of(table: type) -> dict[str, Option]:
    """The rows of a table of options, by name, in order: each is said with the type of its field."""
    said = get_type_hints(table, include_extras=True)
    return {name: row for name, kind in said.items() for row in kind.__metadata__}


def one_of(values: Iterable[object], sentence: str, hint: str = "") -> Check:
    """A check for one of some values.

    Args:
        values: these.
        sentence: what another value is, after `name = value`.
        hint: what to write; "" for those of the values that come nearest.
    """
    known = tuple(values)

    def check(name: str, value: object) -> None:
        if value not in known:
            near = hint or f"one of {nearest(str(value), map(str, known))}"
            raise PlanError("bad-option", f"{name} = {value!r} {sentence}", hint=near)

    return check


def whole(least: int, most: int, sentence: str, hint: str) -> Check:
    """A check for a whole number from the least to the most."""

    def check(name: str, value: object) -> None:
        if type(value) is not int or not least <= value <= most:
            raise PlanError("bad-option", f"{name} = {value!r} {sentence}", hint=hint)

    return check


def of_type(kind: type, sentence: str, hint: str) -> Check:
    """A check for values of a type."""

    def check(name: str, value: object) -> None:
        if not isinstance(value, kind):
            raise PlanError("bad-option", f"{name} = {value!r} {sentence}", hint=hint)

    return check


def readable(read: Callable[[Any], object]) -> Check:
    """A check for what can be read, by what reads it and raises errors of its own."""

    def check(name: str, value: object) -> None:  # noqa: ARG001
        read(value)

    return check
