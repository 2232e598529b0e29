"""One option of a query, as a row of the table of options (`options.py`), and how its text is read.

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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from windrow.errors import PlanError, nearest
from windrow.physical.algorithms import ALGORITHMS, MATCH_ALGORITHMS, choice, choices
from windrow.physical.structures import NAMES

Check = Callable[[str, Any], object]
"""Given an option's name and value, raises a PlanError where the value cannot be."""


@dataclass(frozen=True)
class RefusedBySpark:
    """What Spark refuses: the option, or one value of it.

    Attributes:
        reason: why it works only in process.
        instead: what to write.
        value: the one value that is refused; None: all are.
    """

    reason: str
    instead: str
    value: str | None = None


@dataclass(frozen=True)
class Needs:
    """What a value of an option needs, where rows are written for good: another option, a text.

    Attributes:
        value: the value that needs it.
        option: the name of the other.
        sentence, hint: of the error, where it is not there.
        example: what it may be, for job files.
    """

    value: str
    option: str
    sentence: str
    hint: str
    example: str


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
        needs: what one of its values needs.
    """

    says: str
    check: Check
    unset: str = ""
    read: Callable[[str], Any] = str
    is_hint: bool = True
    is_folder: bool = False
    in_process: RefusedBySpark | None = None
    needs: Needs | None = None


def lacking(rows: Mapping[str, Option], given: Mapping[str, Any]) -> Needs | None:
    """What some value that is given needs, and is not given; None where nothing is missing."""
    for name, row in rows.items():
        needs = row.needs
        if (
            needs
            and given.get(name) == needs.value
            and not isinstance(given.get(needs.option), str)
        ):
            return needs
    return None


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


def whole(least: int, most: int, sentence: str, hint: str = "") -> Check:
    """A check for a whole number from the least to the most."""
    near = hint or f"a whole number from {least} to {most:,}"
    return _refusing(
        lambda value: type(value) is not int or not least <= value <= most, sentence, near
    )


def of_type(kind: type, sentence: str, hint: str) -> Check:
    """A check for values of a type."""
    return _refusing(lambda value: not isinstance(value, kind), sentence, hint)


def _refusing(is_bad: Callable[[Any], bool], sentence: str, hint: str) -> Check:
    def check(name: str, value: object) -> None:
        if is_bad(value):
            raise PlanError("bad-option", f"{name} = {value!r} {sentence}", hint=hint)

    return check


def readable(read: Callable[[Any], object]) -> Check:
    """A check for what can be read, by what reads it and raises errors of its own."""

    def check(name: str, value: object) -> None:  # noqa: ARG001
        read(value)

    return check


ALL = ""
"""Stands for every stream where one order is given for all."""


def check_algorithm(asked: object) -> None:
    """Refuses what is no algorithm, of window joins or of bestmatch joins."""
    if isinstance(asked, str):
        if asked in MATCH_ALGORITHMS or choice(asked):
            return
        ALGORITHMS.check_installed(asked)
    raise PlanError(
        "unknown-algorithm",
        f"there is no algorithm {asked!r}",
        hint=f"one of {nearest(str(asked), (*choices(), *MATCH_ALGORITHMS))}",
    )


def structure_names(text: str) -> tuple[str, str]:
    """The two names in `hash/ttree`.

    Raises:
        PlanError: they are not two, or not names of structures.
    """
    names = tuple(name.strip().lower() for name in str(text).split("/"))
    if len(names) != 2 or not set(names) <= set(NAMES):
        raise PlanError(
            "unknown-structure",
            f"structure = {text!r} does not say in what the two windows are kept",
            hint=f"two of {', '.join(NAMES)}, the first stream's and the second's: 'hash/ttree'",
        )
    return names[0], names[1]


def asked_order(order: object) -> Mapping[str, tuple[str, ...]]:
    """The streams in `c, a, b`, one order for all; or those of each in `a: c, b; b: c, a; c: a, b`.

    Raises:
        PlanError: it is neither.
    """
    parts = order.split(";") if isinstance(order, str) else []
    read = [_read(part) for part in parts]
    asked = {start.lower(): names for start, names in read}
    is_whole = len(asked) == len(read) and ((ALL in asked) == (len(read) == 1))
    if not read or not is_whole or not all(_is_list(start, own) for start, own in asked.items()):
        raise PlanError(
            "bad-order",
            f"order = {order!r} does not say in which order streams are met",
            hint="every stream of the join once, as the query calls it: 'c, a, b'; or for each the"
            " others: 'a: c, b; b: c, a; c: a, b'",
        )
    return asked


def _read(part: str) -> tuple[str, tuple[str, ...]]:
    start, colon, others = part.rpartition(":")
    names = tuple(name.strip().lower() for name in others.split(","))
    return start.strip() if colon else ALL, names


def _is_list(start: str, names: tuple[str, ...]) -> bool:
    least = 1 if start else 2
    return len(names) >= least and all(names) and len({start, *names}) == len(names) + 1
