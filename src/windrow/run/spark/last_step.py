"""The last step of a changelog on Spark: its rows made net, updates told apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.operators.arrow_types import arrow_schema
from windrow.plan.exprs import quote_spark
from windrow.run.spark.failures import told_first
from windrow.run.spark.packing import to_changes, to_rows
from windrow.run.spark.stages import row_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from windrow.operators.last_step import LastStep
    from windrow.physical.nodes.base import PhysicalNode


def with_last_step(rows: DataFrame, spec: PhysicalNode, step: LastStep) -> DataFrame:
    """The rows of a spec above an aggregate, after the last step.

    No shuffle: the answer shows every key, so that alike rows come from one group and so from one
    task, which hands them on in the order of their instants.
    """
    schema = row_schema(spec)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = arrow_schema(schema)
        with told_first():
            changes = (to_changes([batch], arrow) for batch in batches)
            for left in step(changes):
                yield to_rows(left, arrow)

    # mapInArrow takes no names with dots; the task knows the columns by their places.
    plain = rows.selectExpr(*(f"{quote_spark(n)} AS c{i}" for i, n in enumerate(schema.names)))
    return plain.mapInArrow(run, schema.ddl())
