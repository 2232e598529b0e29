"""Values of options that are a text to be read: algorithms, structures, orders of streams."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.errors import PlanError, nearest
from windrow.physical.algorithms import ALGORITHMS, choice, choices
from windrow.physical.match_algorithms import MATCH_ALGORITHMS
from windrow.physical.structures import NAMES

ALL = ""
"""Stands for every stream where one order is given for all."""


def check_algorithm(asked: object) -> None:
    """Refuses what is no algorithm, of window joins or of bestmatch joins.

    Raises:
        PlanError: there is none of that name.
    """
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
