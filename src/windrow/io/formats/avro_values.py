"""Avro values as rows, by a schema that is given or one of a schema registry.

With a registry a value begins with a zero byte and the number of its schema, in four bytes:

    00 | 00 00 00 07 | the record as schema 7 writes it

Each value is read by itself (fastavro), with the schema that wrote it. To read many at once as one block
of an Avro file would be faster, but a value that is cut short could then borrow bytes of the next one,
and both would be read as rows that nobody wrote.
"""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import BindError, ResourceError
from windrow.io.formats.decoded import Decoded, one_batch, parse_around_bad
from windrow.io.protocol import Unavailable

ANSWER_S = 10.0
_MAGIC, _PREFIX = b"\0", 5

_SIMPLE = {
    "boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(),
    "double": pa.float64(), "bytes": pa.binary(), "string": pa.string(), "enum": pa.string(),
    "fixed": pa.binary(), "null": pa.null(),
}  # fmt: skip
_LOGICAL = {
    "date": pa.date32(), "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"), "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"), "time-millis": pa.time64("ns"),
    "time-micros": pa.time64("ns"), "uuid": pa.string(),
}  # fmt: skip


class AvroValues:
    """Makes rows of Avro records.

    Args:
        columns: the columns that are wanted; None for those of the schema.
        schema: the schema that wrote the values, as JSON; "" where a registry has it.
        registry: the registry's address, or "".
        subject: what the registry calls the values of the topic.
    """

    def __init__(self, columns: pa.Schema | None, schema: str, registry: str, subject: str) -> None:
        if bool(schema) == bool(registry):
            raise BindError(
                "no-schema",
                "Avro is read with a schema, and"
                + (" both avro_schema and registry are given" if schema else " none is given"),
                hint="give avro_schema='{..}' or registry='http://..', one of them",
            )
        self._registry = registry.rstrip("/")
        self._known: dict[int, Any] = {}
        self._given = _parsed(schema) if schema else None
        if columns is None:
            told = schema or self._asked(f"subjects/{subject}/versions/latest")["schema"]
            columns = _columns(json.loads(told))
        self.columns = columns

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The rows of records."""
        records: list[Any] = []
        numbers: list[int] = []
        bad: list[tuple[int, str]] = []
        for number, value in enumerate(values):
            try:
                records.append(self._record(value))
                numbers.append(number)
            except (ResourceError, BindError):
                raise
            except Exception as error:  # noqa: BLE001  # whatever bytes may do to the reader
                bad.append((number, str(error) or type(error).__name__))
        tables, good, unfit = parse_around_bad(self._table, records)
        places = np.array(numbers, np.int64)
        bad += [(int(places[own]), why) for own, why in unfit]
        return Decoded(one_batch(tables, self.columns), places[good], sorted(bad))

    def _table(self, records: Sequence[Any]) -> pa.Table:
        try:
            return pa.Table.from_pylist(list(records), schema=self.columns)
        except (TypeError, OverflowError, pa.ArrowTypeError) as error:
            raise ValueError(str(error)) from error

    def _record(self, value: bytes) -> Any:
        import fastavro  # noqa: PLC0415

        schema, begin = self._given, 0
        if schema is None:
            if value[:1] != _MAGIC or len(value) < _PREFIX:
                raise ValueError("it does not begin with the number of a schema")
            schema, begin = self._schema(int.from_bytes(value[1:_PREFIX], "big")), _PREFIX
        stream = io.BytesIO(value)
        stream.seek(begin)
        record = fastavro.schemaless_reader(stream, schema, None)
        if stream.tell() != len(value):
            raise ValueError("there are bytes behind the record")
        if not isinstance(record, dict):
            raise TypeError("it is no record")
        return record

    def _schema(self, number: int) -> Any:
        if number not in self._known:
            self._known[number] = _parsed(self._asked(f"schemas/ids/{number}")["schema"])
        return self._known[number]

    def _asked(self, path: str) -> Any:
        url = f"{self._registry}/{path}"
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise LookupError(f"the registry has nothing at {path}") from error
            raise self._away(error) from error
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(
            "registry-away",
            f"the schema registry at {self._registry} does not answer",
            reason=str(error),
            hint="start it, or mend registry=",
        )


def _parsed(schema: str) -> Any:
    try:
        import fastavro  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ResourceError(
            "kafka-missing",
            "Avro is read by fastavro, which is not installed",
            hint="pip install 'windrow[kafka]'",
        ) from error
    try:
        return fastavro.parse_schema(json.loads(schema))
    except Exception as error:
        raise BindError(
            "bad-avro-schema",
            "avro_schema is no schema of Avro's",
            reason=str(error).partition("\n")[0],
            hint='for instance {"type": "record", "name": "order", "fields": [..]}',
        ) from error


def _columns(schema: Any) -> pa.Schema:
    """The columns of a record."""
    return pa.schema([(own["name"], _arrow(own["type"])) for own in schema["fields"]])


def _arrow(kind: Any) -> pa.DataType:  # noqa: PLR0911  # one for each kind
    if isinstance(kind, list):
        others = [own for own in kind if own != "null"]
        if len(others) == 1:
            return _arrow(others[0])
        raise _no_column(kind)
    if isinstance(kind, str):
        kind = {"type": kind}
    logical, name = kind.get("logicalType"), kind["type"]
    if logical == "decimal":
        return pa.decimal128(kind["precision"], kind.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if isinstance(name, dict | list):
        return _arrow(name)
    if name == "record":
        return pa.struct([(own["name"], _arrow(own["type"])) for own in kind["fields"]])
    if name == "array":
        return pa.list_(_arrow(kind["items"]))
    if name == "map":
        return pa.map_(pa.string(), _arrow(kind["values"]))
    if name in _SIMPLE:
        return _SIMPLE[name]
    raise _no_column(kind)


def _no_column(kind: Any) -> BindError:
    return BindError(
        "unsupported-type",
        f"the Avro type {json.dumps(kind)} has no column type",
        hint="name the columns that you need with schema='..'",
    )
