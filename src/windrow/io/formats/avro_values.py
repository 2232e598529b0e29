"""Avro values as rows, by a schema that is given or one of a schema registry.

With a registry a value begins with a zero byte and the number of its schema, in four bytes:

    00 | 00 00 00 07 | the record as schema 7 writes it

Each value is read by itself (fastavro), with the schema that wrote it. To read many at once as one block
of an Avro file would be faster, but a value that is cut short could then borrow bytes of the next one,
and both would be read as rows that nobody wrote.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import BindError, ResourceError
from windrow.io.formats.avro_columns import ColumnReading, columns_of, readings_of
from windrow.io.formats.avro_schema import Writer, writer_of
from windrow.io.formats.decoded import Decoded, one_batch, parse_around_bad
from windrow.io.formats.schema_registry import SchemaRegistry

_MAGIC, _PREFIX = b"\0", 5
_GIVEN = -1


@dataclass(frozen=True)
class _Known:
    """A schema that wrote values, and how columns are read from it; or why they are not."""

    writer: Writer | None = None
    readings: Mapping[str, ColumnReading] | None = None
    why_not: str = ""


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
        self._registry = SchemaRegistry(registry) if registry else None
        given = writer_of(schema) if schema else None
        if columns is None:
            told = given
            if self._registry is not None:
                told = writer_of(self._registry.latest(subject), f"the schema of {subject!r}")
            assert told is not None
            columns = columns_of(told.kind)
        self.columns = columns
        self._known: dict[int, _Known] = {}
        if given is not None:
            self._known[_GIVEN] = _Known(given, readings_of(given.kind, columns))

    def decode(self, values: Sequence[bytes]) -> Decoded:
        """The rows of records."""
        records: dict[int, list[Any]] = {}
        numbers: dict[int, list[int]] = {}
        bad: list[tuple[int, str]] = []
        unknown: dict[int, str] = {}
        for number, value in enumerate(values):
            try:
                schema, begin = self._place(value)
                if schema not in self._known and schema not in unknown:
                    self._ask(schema, unknown)
                if schema in unknown:
                    raise LookupError(unknown[schema])  # noqa: TRY301
                record = self._record(schema, begin, value)
            except ResourceError:
                raise
            except EOFError:
                bad.append((number, "it ends before the record does"))
            except Exception as error:  # noqa: BLE001  # whatever bytes may do to the reader
                bad.append((number, str(error) or type(error).__name__))
            else:
                records.setdefault(schema, []).append(record)
                numbers.setdefault(schema, []).append(number)
        tables: list[pa.Table] = []
        places: list[Any] = []
        for schema, own in records.items():
            parsed, good, unfit = parse_around_bad(self._parser(schema), own)
            tables += parsed
            of_schema = np.array(numbers[schema], np.int64)
            places.append(of_schema[good])
            bad += [(int(of_schema[at]), why) for at, why in unfit]
        rows = one_batch(tables, self.columns)
        messages = np.concatenate(places) if places else np.empty(0, np.int64)
        if len(records) > 1:
            order = np.argsort(messages, kind="stable")
            rows, messages = rows.take(pa.array(order)), messages[order]
        return Decoded(rows, messages, sorted(bad))

    def _place(self, value: bytes) -> tuple[int, int]:
        """The number of the schema of a value, and where its record begins."""
        if self._registry is None:
            return _GIVEN, 0
        if value[:1] != _MAGIC or len(value) < _PREFIX:
            raise ValueError("it does not begin with the number of a schema")
        return int.from_bytes(value[1:_PREFIX]), _PREFIX

    def _ask(self, number: int, unknown: dict[int, str]) -> None:
        """Asks the registry for a schema; one that it does not have now, it may have later."""
        assert self._registry is not None
        try:
            writer = writer_of(self._registry.schema(number), f"schema {number} of the registry")
            self._known[number] = _Known(writer, readings_of(writer.kind, self.columns))
        except LookupError as error:
            unknown[number] = str(error)
        except BindError as error:
            reason = f": {error.reason}" if error.reason else ""
            self._known[number] = _Known(why_not=f"{error.sentence}{reason}")

    def _record(self, schema: int, begin: int, value: bytes) -> Any:
        import fastavro  # noqa: PLC0415

        known = self._known[schema]
        if known.writer is None:
            raise ValueError(known.why_not)
        stream = io.BytesIO(value)
        stream.seek(begin)
        record = fastavro.schemaless_reader(stream, known.writer.parsed, None)
        if stream.tell() != len(value):
            raise ValueError("there are bytes behind the record")
        return record

    def _parser(self, schema: int) -> Any:
        readings = self._known[schema].readings
        assert readings is not None

        def table(records: Sequence[Any]) -> pa.Table:
            arrays = [
                readings[own.name].column([record[own.name] for record in records])
                if own.name in readings
                else pa.nulls(len(records), own.type)
                for own in self.columns
            ]
            return pa.Table.from_arrays(arrays, schema=self.columns)

        return table
