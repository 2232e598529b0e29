"""What a DataFrame looks like: its columns with Spark's type texts, and whether it is endless."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from windrow.errors import BindError
from windrow.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def describe(df: DataFrame) -> tuple[Schema, bool]:
    """The schema of a DataFrame and whether it is streaming.

    Raises:
        BindError: what was given is no DataFrame of Spark's.
    """
    if not (hasattr(df, "isStreaming") and isinstance(getattr(df, "schema", None), StructType)):
        raise BindError(
            "not-a-dataframe",
            f"a session on Spark takes DataFrames of Spark's, not {type(df).__name__}",
            hint="make one with spark.createDataFrame(..), or use windrow.Session() without Spark",
        )
    fields = tuple(Field(field.name, type_text(field.dataType)) for field in df.schema.fields)
    return Schema(fields), bool(df.isStreaming)


def with_arrival(df: DataFrame, column: str) -> DataFrame:
    """The rows with the instant of their arrival.

    Streaming, that is the instant at which Spark began their micro-batch. Spark notes it in its
    offset log before it runs the batch, so that a batch that is run again repeats it. A batch run
    has one instant, that of the run.
    """
    return df.withColumn(column, F.current_timestamp())


def type_text(data_type: DataType) -> str:
    """A type as Spark's DDL reads it back; names inside structs are quoted where they must be."""
    if isinstance(data_type, ArrayType):
        return f"array<{type_text(data_type.elementType)}>"
    if isinstance(data_type, MapType):
        return f"map<{type_text(data_type.keyType)},{type_text(data_type.valueType)}>"
    if isinstance(data_type, StructType):
        fields = [f"{_quoted(f.name)}:{type_text(f.dataType)}" for f in data_type.fields]
        return f"struct<{','.join(fields)}>"
    return data_type.simpleString()


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"
