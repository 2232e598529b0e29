"""What is said of a connector, checked when it is made: each option is of its field's type.

    @dataclass(frozen=True)
    class Files(Connector):
        batch_rows: int | None = None

        def __post_init__(self) -> None:
            check_options(self)        # files("x", batch_rows="5") is refused in our words

Types are looked at as job files look at them; that a value of the right type fits is for the connector.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from windrow.errors import BindError
from windrow.io.protocol import Connector

_KINDS: Mapping[Any, type] = {int: Integral, float: Real}
"""What else is of a type of fields."""

IN_PYTHON: Mapping[Any, str] = {
    str: "a text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    Mapping: "a dictionary",
    Sequence: "a list",
    NoneType: "None",
}
"""What types are called in messages."""

PATHS = ("path",)
"""Options that may be a path of pathlib's, and are kept as texts."""


def check_options(connector: Connector) -> None:
    """Refuses options that are of another type than their field.

    Raises:
        BindError: one is.
    """
    hints = get_type_hints(type(connector))
    for own in fields(connector):  # type: ignore[arg-type]  # connectors are dataclasses
        value = getattr(connector, own.name)
        if own.name in PATHS and isinstance(value, os.PathLike):
            value = os.fspath(value)
            object.__setattr__(connector, own.name, value)
        if not is_of(value, hints[own.name]):
            raise bad_option(connector.name, own.name, value, told(hints[own.name]))


def bad_option(connector: str, option: str, value: object, wanted: str) -> BindError:
    """The error of an option with a value that it cannot have."""
    is_plain = value is None or isinstance(value, str | int | float)
    shown = repr(value) if is_plain else f"{_short(value)}, of type {type(value).__name__}"
    return BindError(
        f"bad-{connector}-option",
        f"{option} of {connector} is {shown}",
        hint=f"it must be {wanted}",
    )


def listed_names(connector: str, option: str, given: Any) -> tuple[str, ...]:
    """The names in a list, each once.

    Args:
        connector: of which it is an option, for messages.
        option: its name.
        given: what was said: Python takes one text for a list of its letters, which nobody means.

    Raises:
        BindError: it is no list of names.

    Examples:
        >>> listed_names("postgres", "keys", ["store", "day", "store"])
        ('store', 'day')
    """
    if isinstance(given, list | tuple) and all(isinstance(name, str) for name in given):
        return tuple(dict.fromkeys(given))
    raise BindError(
        "not-a-list",
        f"{option} of {connector} is {given!r}",
        reason="it takes a list of column names",
        hint=f"{option}=[{given!r}]" if isinstance(given, str) else f"for instance  {option}=['k']",
    )


def is_of(value: object, hint: Any) -> bool:
    """Whether a value is of a field's type; True and False are no numbers, a text is no list."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in {Any, NoneType}:
        return hint is Any or value is None
    if origin in {Union, UnionType}:
        return any(is_of(value, own) for own in inner)
    if origin is Literal:
        return value in inner
    if origin in {Mapping, Sequence}:
        return _are_of(value, origin, inner)
    kind = _KINDS.get(hint, origin or hint)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _are_of(value: object, origin: Any, inner: tuple[Any, ...]) -> bool:
    if isinstance(value, str | bytes) or not isinstance(value, origin):
        return False
    if isinstance(value, Mapping):
        return all(is_of(key, inner[0]) and is_of(own, inner[1]) for key, own in value.items())
    return isinstance(value, Sequence) and all(is_of(own, inner[0]) for own in value)


def told(hint: Any, words: Mapping[Any, str] = IN_PYTHON) -> str:
    """What a field takes, in words; what these do not have is left out."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        in_order = sorted(inner, key=lambda own: own is NoneType)
        return ", or ".join(filter(None, (told(own, words) for own in in_order)))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, inner))
    each = inner[-1] if inner else Any
    return words.get(origin or hint, "") + (
        "" if each is Any else f", each value {told(each, words)}"
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + ".."
