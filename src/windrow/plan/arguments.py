"""What the calls of the public face take: each argument is of a kind, or refused in our words.

A call says its kinds in one place, above its signature:

    @takes(query=SQL_TEXT, progress=PROGRESS)
    def sql(self, query: str, *, progress: str = "none") -> Any: ...

Kinds look at the type alone. What a value of the right kind must be like (a known column, a length
of time) is checked by whoever uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from windrow.errors import BindError
from windrow.schema import OnArrival

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class ArgumentKind:
    """What an argument may be.

    Attributes:
        name: the kind in words, after "must be".
        accepts: whether a value is of the kind.
        example: what to write.
    """

    name: str
    accepts: Callable[[object], bool]
    example: str


def _of(*types: type) -> Callable[[object], bool]:
    """Whether a value is of one of the types; True and False are no numbers."""
    return lambda value: isinstance(value, types) and not isinstance(value, bool)


_is_text = _of(str)


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, Sequence) and not _is_text(value) and all(map(_is_text, value))


def _is_counts(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_text(name) and _of(int, float)(count) for name, count in value.items()
    )


def _or_none(accepts: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or accepts(value)


SQL_TEXT = ArgumentKind("the SQL as a text", _is_text, "'SELECT item FROM sales WHERE price > 4'")
NAME = ArgumentKind("a name as a text", _is_text, "'sales'")
PROGRESS = ArgumentKind("a text", _is_text, "'log'")
CLOCK = ArgumentKind(
    "a function without arguments", _or_none(callable), "lambda: datetime.now(UTC)"
)
TIME = ArgumentKind(
    "the name of a column, or windrow.ON_ARRIVAL",
    _or_none(lambda value: isinstance(value, str | OnArrival)),
    "'ts'",
)
CHANGES = ArgumentKind("the name of a column", _or_none(_is_text), "'_change_type'")
PUNCTUATION = ArgumentKind("the name of a column", _or_none(_is_text), "'is_punctuation'")
ROWS = ArgumentKind("a whole number of rows", _or_none(_of(int)), "3")
LENGTH = ArgumentKind(
    "a length of time: a text, a timedelta or a whole number of ticks",
    _or_none(_of(str, int, timedelta)),
    "'5 seconds'",
)
RATE = ArgumentKind(
    "a number of tuples, or a text", _or_none(_of(str, int, float)), "'1000 per second'"
)
COUNTS = ArgumentKind(
    "the number of different values by column", _or_none(_is_counts), "{'item': 10000}"
)
BODY = ArgumentKind("a function", callable, "lambda a, b: pc.equal(a, b)")
TYPES = ArgumentKind(
    "a list with one type per argument", _or_none(_is_list_of_texts), "['string', 'int']"
)
TYPE = ArgumentKind("a type as a text", _or_none(_is_text), "'boolean'")
FLAG = ArgumentKind("True or False", lambda value: isinstance(value, bool), "True")


def takes(**kinds: ArgumentKind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Has a call refuse arguments that are not of their kind, before it does anything."""

    def checking(call: Callable[P, R]) -> Callable[P, R]:
        parameters = signature(call)

        @wraps(call)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            check_kinds(call.__name__, parameters.bind(*args, **kwargs).arguments, **kinds)
            return call(*args, **kwargs)

        return checked

    return checking


def check_kinds(call: str, given: Mapping[str, object], /, **kinds: ArgumentKind) -> None:
    """Refuses what is given and not of its kind, as `takes` does for the call that it stands above."""
    for name, kind in kinds.items():
        if name not in given or kind.accepts(given[name]):
            continue
        value = given[name]
        known = value is None or isinstance(value, str | int | float)
        shown = repr(value) if known else f"a value of type {type(value).__name__}"
        owner = "Session" if call == "__init__" else call
        raise BindError(
            "bad-argument",
            f"the argument {name} of {owner}(..) must be {kind.name}, not {shown}",
            hint=f"for instance  {name}={kind.example}",
        )
