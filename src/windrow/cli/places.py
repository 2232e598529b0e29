"""Places outside that a job file names: `kafka = "orders"`, with what else is to be said of them.

    [streams.orders]
    kafka = "orders"                  # the connector, and the first thing that it is told
    servers = "localhost:9092"        # the others, by the names that Python has for them
    time = "ts"                       # what is said of any stream

The connector's own fields say what there is to say, and of which kind it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from windrow.cli.errors import JobError
from windrow.errors import BindError
from windrow.io.protocol import CONNECTORS, Connector
from windrow.registry import load

FOLDERS = {"path"}
"""Fields of connectors that are paths, relative to the job file."""

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    Mapping: "a table",
    Sequence: "a list",
}


def place_in(
    where: str, table: Mapping[str, Any], folder: Path, kept: Collection[str] = ()
) -> tuple[Connector | None, dict[str, Any]]:
    """The place that a table of the file names, if one does, and the rest of what it says.

    Args:
        where: the table, for messages.
        table: what it says.
        folder: where the file is.
        kept: keys that are never the place's, whatever it is: `changes` of a stream names a column, while
            a sink of Kafka's has an option of that name.

    Raises:
        JobError: it names two, or says something of it that does not fit.
    """
    named = [key for key in table if key in CONNECTORS]
    if not named:
        return None, dict(table)
    if len(named) > 1 or "path" in table:
        both = " and ".join([*named, *(["path"] if "path" in table else [])][:2])
        raise JobError("two-places", f"{where} names both {both}", hint="name one of them")
    kind = load(CONNECTORS[named[0]])
    first, *others = [own.name for own in fields(kind)]
    said = {own: table[own] for own in others if own in table and own not in kept}
    said[first] = table[named[0]]
    hints = get_type_hints(kind)
    for key, value in said.items():
        if not _fits(value, hints[key]):
            shown = named[0] if key == first else key
            raise JobError.wrong_type(where, shown, value, _told(hints[key]))
        if key in FOLDERS and "://" not in value:
            said[key] = str(folder / value)
    try:
        place = kind(**{key: _frozen(value) for key, value in said.items()})
    except TypeError as error:  # something that it must be told is missing
        raise JobError.missing_key(where, str(error).rpartition(": ")[2], "see its page") from error
    except BindError as error:
        raise JobError(
            error.condition, error.sentence, reason=error.reason, hint=error.hint
        ) from error
    return place, {key: value for key, value in table.items() if key not in {*said, *named}}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value of TOML's is what a field takes."""
    origin = get_origin(hint)
    if origin in {Union, UnionType}:
        return any(_fits(value, own) for own in get_args(hint))
    if origin is Literal:
        return value in get_args(hint)
    kind = {tuple: list, float: int | float}.get(origin or hint, origin or hint)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(kind, type | UnionType) and isinstance(value, kind)


def _told(hint: Any) -> str:
    """What a field takes, in words."""
    if get_origin(hint) in {Union, UnionType}:
        return ", or ".join(_told(own) for own in get_args(hint) if own is not NoneType)
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    kind = get_origin(hint) or hint
    words = [
        word for own, word in _KINDS.items() if isinstance(kind, type) and issubclass(kind, own)
    ]
    return words[0] if words else "a list" if kind in {tuple, list} else "something else"
