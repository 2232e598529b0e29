"""PySpark's types under names for the rooms above: they hold such things, and name no pyspark."""

from __future__ import annotations

from typing import TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

Frame: TypeAlias = DataFrame
Running: TypeAlias = StreamingQuery
Spark: TypeAlias = SparkSession
