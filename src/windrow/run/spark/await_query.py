"""A streaming query followed to its end, its progress shown as Spark reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from windrow.run.progress import Progress, Renderer
from windrow.run.spark.failures import in_our_words
from windrow.run.spark.progress import ProgressReader

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S = 1
"""How long to wait before looking for new reports; Spark keeps the last hundred."""


def _warn(reader: ProgressReader, shown: Renderer, *, is_end: bool) -> None:
    for warning in reader.streams.warnings(is_end=is_end):
        shown.warn(warning)


def await_query(
    running: StreamingQuery, reader: ProgressReader, shown: Renderer
) -> Progress | None:
    """Waits until the query ends, however it does, and shows each micro-batch.

    Args:
        running: a query that was started.
        reader: turns Spark's reports into records.
        shown: where the records go; closed at the end.

    Returns:
        The last record; None where Spark reported nothing.

    Raises:
        PlanError: the checkpoint belongs to a query with other streams or stages.
        Exception: what else the query failed with.
    """
    last: Progress | None = None
    seen = -1
    try:
        has_ended = False
        while not has_ended:
            has_ended = bool(running.awaitTermination(POLL_S))
            for report in running.recentProgress:
                # A trigger that finds nothing to do reports the last batch again.
                if report.batchId > seen:
                    seen = report.batchId
                    last = reader.read(report)
                    shown.show(last)
                    _warn(reader, shown, is_end=False)
        _warn(reader, shown, is_end=True)
    except StreamingQueryException as error:
        ours = in_our_words(error)
        if ours is None:
            raise
        raise ours from error
    finally:
        # Interrupted, say: nobody else would stop it.
        running.stop()
        shown.close()
    return last
