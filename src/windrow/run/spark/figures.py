"""The figures of a batch run: observed while an action computes the answer, read afterwards.

Spark's `Observation` keeps what the first action on a DataFrame finds. Asked earlier it waits, on
a classic session for ever; so it is asked aside, and given a little time.
"""

from __future__ import annotations

import contextlib
import time
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import Observation

from windrow.errors import PlanError
from windrow.run.spark.progress import batch_progress, run_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from windrow.physical.query import PhysicalQuery
    from windrow.run.progress import Progress

WAIT_S = 10.0
"""How long to wait for figures; Spark hands them on just after an action has ended."""


class BatchFigures:
    """What one batch run of a query counts.

    Args:
        query: the query that is run.
    """

    def __init__(self, query: PhysicalQuery) -> None:
        self._query = query
        self._named = run_names(query)
        self._observed: dict[str, Observation] = {}

    def observe(self, rows: DataFrame, what: str, *columns: Column) -> DataFrame:
        """The same rows; their figures are kept as `what`."""
        observed = Observation(self._named(what))
        self._observed[what] = observed
        return rows.observe(observed, *columns)

    def read(self, wait_s: float = WAIT_S) -> Progress:
        """The figures of the first action on the answer.

        Raises:
            PlanError: there was none yet.
        """
        deadline = time.monotonic() + wait_s
        found = {
            what: _figures(observed, deadline - time.monotonic())
            for what, observed in self._observed.items()
        }
        return batch_progress(self._query, found)


def _figures(observed: Observation, wait_s: float) -> dict[str, Any]:
    told: Queue[dict[str, Any]] = Queue()

    def ask() -> None:
        # What an action that failed has to say, the action has said.
        with contextlib.suppress(PySparkException):
            told.put(observed.get)

    Thread(target=ask, daemon=True).start()
    try:
        figures = told.get(timeout=max(wait_s, 0.1))
    except Empty:
        figures = {}
    if not figures:
        raise PlanError(
            "no-figures",
            "the answer has not been computed yet, and so there are no figures",
            hint="write, count or collect the DataFrame first; its first action is what is counted",
        )
    return figures
