"""Schemas of Avro: their types, with names resolved, and what is refused of them before a message is read.

A few bytes of a message can make a reader do anything, if its schema lets them:

    a type within itself       20,000 levels of it overflow the stack, and end the process
    an array of nothing        of 2,000,000,000 items, as six bytes say, each in no byte
    a type of 40 pairs of it   2**40 empty records, in no byte at all

All are refused with the schema, whether a column is read from them or not: what is skipped is decoded, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from windrow.errors import BindError, ResourceError

_DEEPEST, _MOST_TYPES = 64, 100_000
_PRIMITIVE_BYTES = {
    "null": 0, "boolean": 1, "int": 1, "long": 1, "float": 4, "double": 8, "bytes": 1, "string": 1,
}  # fmt: skip
_COMPLEX = {"record", "error", "enum", "fixed", "array", "map"}
_LOGICAL = {
    ("int", "date"), ("int", "time-millis"), ("long", "time-micros"), ("string", "uuid"),
    *(("long", f"{local}timestamp-{unit}") for local in ("", "local-") for unit in ("millis", "micros", "nanos")),
}  # fmt: skip
_UUID_BYTES = 16


@dataclass(frozen=True)
class AvroType:
    """A type of Avro's.

    Attributes:
        name: what it is: long, string, record, union ..
        logical: what its values mean, where Avro knows that of such a type; else "".
        parts: the types of fields, items, values, or those of a union.
        fields: the names of fields.
        precision: the digits of a decimal.
        scale: how many of them are behind the point.
        least_bytes: the fewest bytes that a value takes.
        count: how many types it is made of.
        depth: how deep they are nested.
    """

    name: str
    logical: str = ""
    parts: tuple[AvroType, ...] = ()
    fields: tuple[str, ...] = ()
    precision: int = 0
    scale: int = 0
    least_bytes: int = 1
    count: int = 1
    depth: int = 1

    def __str__(self) -> str:
        if self.logical == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "union":
            return f"union of {', '.join(map(str, self.parts))}"
        return self.logical or self.name


@dataclass(frozen=True)
class Writer:
    """What reads records of a schema.

    Attributes:
        parsed: the schema, as fastavro takes it; without logical types, so that it gives what was written.
        kind: the type of the records.
    """

    parsed: Any
    kind: AvroType


def writer_of(schema: str, called: str = "avro_schema") -> Writer:
    """What reads records of a schema, given as JSON.

    Raises:
        BindError: it is no schema of records, or one that is not read.
    """
    try:
        import fastavro  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ResourceError(
            "kafka-missing",
            "Avro is read by fastavro, which is not installed",
            hint="pip install 'windrow[kafka]'",
        ) from error
    try:
        named = fastavro.parse_schema(_unwrapped(json.loads(schema)))
        kind = _Resolver().kind(named)
        parsed = fastavro.parse_schema(_without_logical(named))
    except BindError:
        raise
    except Exception as error:  # the schema may be anything
        raise _bad_schema(called, str(error).partition("\n")[0] or type(error).__name__) from error
    if kind.name != "record":
        raise _bad_schema(called, f"values are records, and this is of the type {kind}")
    return Writer(parsed, kind)


def _bad_schema(called: str, reason: str) -> BindError:
    return BindError(
        "bad-avro-schema",
        f"{called} is not a schema of Avro's for records",
        reason=reason,
        hint='for instance {"type": "record", "name": "order", "fields": [..]}',
    )


def _unwrapped(schema: Any) -> Any:
    """The schema without objects that only say {"type": ..}, around a name or another type."""
    if isinstance(schema, list):
        return [_unwrapped(own) for own in schema]
    if not isinstance(schema, dict):
        return schema
    inner = schema.get("type")
    if not isinstance(inner, str) or inner not in {*_COMPLEX, *_PRIMITIVE_BYTES}:
        return _unwrapped(inner)
    made = {key: own for key, own in schema.items() if key not in {"items", "values", "fields"}}
    for key in ("items", "values"):
        if key in schema:
            made[key] = _unwrapped(schema[key])
    if "fields" in schema:
        made["fields"] = [{**own, "type": _unwrapped(own["type"])} for own in schema["fields"]]
    return made


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(own) for own in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_logical(own) if key in {"type", "items", "values", "fields"} else own
        for key, own in schema.items()
        if key != "logicalType" and not key.startswith("__")
    }


class _Resolver:
    """Makes types of a schema whose names are whole, and knows those that it has met."""

    def __init__(self) -> None:
        self._known: dict[str, AvroType] = {}
        self._open: set[str] = set()

    def kind(self, schema: Any) -> AvroType:
        """The type of a schema."""
        if isinstance(schema, list):
            parts = tuple(self.kind(own) for own in schema)
            least = 1 + min((own.least_bytes for own in parts), default=0)
            return _counted(AvroType("union", parts=parts, least_bytes=least))
        if isinstance(schema, str):
            if schema in _PRIMITIVE_BYTES:
                return AvroType(schema, least_bytes=_PRIMITIVE_BYTES[schema])
            if schema in self._open:
                raise _refused(f"the type {schema!r} holds values of itself", "to any depth")
            return self._known[schema]
        name = schema["type"]
        if name not in _COMPLEX:
            return _logical(schema, AvroType(name, least_bytes=_PRIMITIVE_BYTES[name]))
        if name in {"array", "map"}:
            part = self.kind(schema["items" if name == "array" else "values"])
            if name == "array" and not part.least_bytes:
                raise _refused(
                    f"items of the type {part} take no bytes", "so there may be any number"
                )
            return _counted(AvroType(name, parts=(part,)))
        self._open.add(schema["name"])
        made = self._named(schema, name)
        self._open.discard(schema["name"])
        self._known[schema["name"]] = made
        return made

    def _named(self, schema: Mapping[str, Any], name: str) -> AvroType:
        if name == "enum":
            return AvroType("enum")
        if name == "fixed":
            return _logical(schema, AvroType("fixed", least_bytes=schema["size"]))
        fields = tuple(own["name"] for own in schema["fields"])
        if len(set(fields)) < len(fields):
            raise ValueError(f"two fields of {schema['name']!r} have one name")
        parts = tuple(self.kind(own["type"]) for own in schema["fields"])
        least = sum(own.least_bytes for own in parts)
        return _counted(AvroType("record", parts=parts, fields=fields, least_bytes=least))


def _counted(kind: AvroType) -> AvroType:
    count = 1 + sum(own.count for own in kind.parts)
    depth = 1 + max((own.depth for own in kind.parts), default=0)
    if count > _MOST_TYPES:
        raise _refused("a value is made of others", f"more than {_MOST_TYPES:,} of them")
    if depth > _DEEPEST:
        raise _refused("types are nested", f"more than {_DEEPEST} deep")
    return replace(kind, count=count, depth=depth)


def _logical(schema: Mapping[str, Any], kind: AvroType) -> AvroType:
    """The type with what its values mean; what Avro does not know of such a type is passed over."""
    logical = schema.get("logicalType", "")
    if logical == "decimal" and kind.name in {"bytes", "fixed"}:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision > 0:
            least = kind.least_bytes
            return AvroType(
                kind.name, "decimal", precision=precision, scale=scale, least_bytes=least
            )
        return kind
    is_uuid = (kind.name, logical, kind.least_bytes) == ("fixed", "uuid", _UUID_BYTES)
    if is_uuid or (kind.name, logical) in _LOGICAL:
        return AvroType(kind.name, logical, least_bytes=kind.least_bytes)
    return kind


def _refused(what: str, how: str) -> BindError:
    return BindError(
        "unsupported-type",
        f"in the Avro schema {what}: {how}",
        reason="a short message could keep a reader busy forever, or crash it",
        hint="have the messages written with another schema, or read them with format='raw'",
    )
