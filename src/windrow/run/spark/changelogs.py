"""Changelogs in DataFrames: the kinds of changes as signs, and the answer at an instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from windrow.errors import UnsupportedError
from windrow.plan.changelogs import (
    SIGNS,
    Instant,
    check_changelog,
    instant_ticks,
    more_deletes,
    unknown_change,
)
from windrow.plan.exprs import quote_spark
from windrow.run.spark.frames import describe
from windrow.run.spark.ticks import time_sql
from windrow.schema import CHANGE_TYPE, EVENT_TIME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_COPIES = "__copies"


def sign_of(column: str) -> Column:
    """Whether the change in a column makes a row come or go; one of no known kind fails the query."""
    kind = F.col(quote_spark(column))
    sign = F.when(kind.isNull(), F.raise_error(F.lit(str(unknown_change(None, column)))))
    for name, value in SIGNS.items():
        sign = sign.when(kind == name, F.lit(value))
    # The text is that of the error for some change, with the one at hand in its place.
    before, after = str(unknown_change("?", column)).split("'?'")
    told = F.concat(F.lit(f"{before}'"), kind, F.lit(f"'{after}"))
    return sign.otherwise(F.raise_error(told))


def state_at(changelog: DataFrame, instant: Instant) -> DataFrame:
    """The rows whose inserts outnumber their deletes up to the instant, each as often as that.

    The condition on time is one that Spark pushes down to files.
    """
    schema, is_streaming = describe(changelog)
    time_type = check_changelog(schema)
    if is_streaming:
        raise UnsupportedError(
            "streaming-changelog",
            "the changelog is a streaming DataFrame, which has no last change",
            hint="write it to a table, and give that: state_at(spark.read.parquet(..), T)",
        )
    last = time_sql(f"{instant_ticks(instant, time_type)}L", time_type)
    names = [name for name in schema.names if name not in {CHANGE_TYPE, EVENT_TIME}]
    own = [quote_spark(name) for name in names]
    counted = (
        changelog.where(f"{EVENT_TIME} <= {last}")
        .groupBy(*own)
        .agg(F.sum(sign_of(CHANGE_TYPE)).alias(_COPIES))
    )
    copies = F.col(_COPIES)
    checked = F.when(copies < 0, F.raise_error(F.lit(str(more_deletes())))).otherwise(copies)
    repeated = F.explode(F.array_repeat(F.lit(0), checked.cast("int"))).alias(_COPIES)
    return counted.select(*own, repeated).select(*own)
