"""The last step of a changelog whose rows may look alike: what an instant undoes is taken out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.operators.arrow_types import arrow_schema
from windrow.operators.net import net_by_instant
from windrow.plan.exprs import quote_spark
from windrow.run.spark.failures import told_first
from windrow.run.spark.packing import to_changes, to_rows
from windrow.run.spark.stages import row_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from windrow.physical.specs import Spec


def netted(rows: DataFrame, spec: Spec) -> DataFrame:
    """The rows of a spec above an aggregate, net per instant.

    No shuffle: the answer shows every key, so that alike rows come from one group and so from one
    task, which hands them on in the order of their instants.
    """
    schema = row_schema(spec)

    def net(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arrow = arrow_schema(schema)
        with told_first():
            changes = (to_changes([batch], arrow) for batch in batches)
            for left in net_by_instant(changes):
                yield to_rows(left, arrow)

    # mapInArrow takes no names with dots; the task knows the columns by their places.
    plain = rows.selectExpr(*(f"{quote_spark(n)} AS c{i}" for i, n in enumerate(schema.names)))
    return plain.mapInArrow(net, schema.ddl())
