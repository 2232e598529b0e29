"""Spark's progress of a streaming query as Windrow's own record.

The counters of each stage travel as observed metrics (`windrow_<query>_stage_0`, .. from the bottom
of the plan up); Spark reports them per micro-batch, a `Progress` holds totals.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from windrow.operators.base import Counters
from windrow.physical.explain import stage_name
from windrow.physical.specs import PhysicalQuery, scans
from windrow.run.progress import Progress
from windrow.run.spark.fingerprint import metric_name
from windrow.run.spark.stages import COUNTERS, stateful_specs
from windrow.run.spark.ticks import watermark_ticks

_NOW = ("stored", "state_bytes")
"""Counters that tell a level, not work done."""

_INSTANT = re.compile(r"([+-]?\d+)-(\d\d)-(\d\d)T([\d:.]+)Z")
"""How Spark writes a watermark; BIGINT times may be told as years beyond 9999."""


class ProgressReader:
    """Adds up what Spark reports, one micro-batch after the other.

    `stored` and `state_bytes` cover the buckets that the batch touched: those with rows, and all
    that hold any when the watermark moved.

    Args:
        query: the query whose progress it is.
    """

    def __init__(self, query: PhysicalQuery) -> None:
        self._time_type = query.time_type
        self._names = _operator_names(query)
        self._root = query.root
        self._totals = {name: Counters() for name in self._names}
        self._rows_in = 0
        self._rows_out = 0

    def read(self, report: Mapping[str, Any]) -> Progress:
        """The record after one more of Spark's `StreamingQueryProgress`."""
        metrics = {name: _figures(row) for name, row in report["observedMetrics"].items()}

        def of(what: str) -> dict[str, int]:
            return metrics.get(metric_name(self._root, what), {})

        for number, name in enumerate(self._names):
            self._add(self._totals[name], of(f"stage_{number}"))
        for number in range(len(scans(self._root))):
            self._rows_in += of(f"scan_{number}").get("rows", 0)
        self._rows_out += of("answer").get("rows", 0)
        whole = Counters()
        for counters in self._totals.values():
            whole.add(counters)
        return Progress(
            batch=int(report["batchId"]),
            rows_in=self._rows_in,
            rows_out=self._rows_out,
            watermark=watermark_ticks(_millis(report["eventTime"]), self._time_type),
            time_type=self._time_type,
            late=whole.late,
            null_time=whole.null_time,
            stored=whole.stored,
            state_bytes=whole.state_bytes,
            ms=float(report["durationMs"].get("triggerExecution", 0)),
            operators={name: counters.as_dict() for name, counters in self._totals.items()},
        )

    def _add(self, total: Counters, figures: Mapping[str, int]) -> None:
        for name in COUNTERS:
            before = 0 if name in _NOW else getattr(total, name)
            setattr(total, name, before + figures.get(name, 0))


def _operator_names(query: PhysicalQuery) -> list[str]:
    """The stages' names from the bottom up; equal names are numbered."""
    names: list[str] = []
    for spec in stateful_specs(query.root):
        name = stage_name(spec)
        taken = sum(other.split(" #")[0] == name for other in names)
        names.append(f"{name} #{taken + 1}" if taken else name)
    return names


def _figures(row: Any) -> dict[str, int]:
    """Observed metrics as numbers by name; NULL, the sum over no rows, is 0."""
    if hasattr(row, "asDict"):
        row = row.asDict()
    if "values" in row and "schema" in row:
        names = [field["name"] for field in row["schema"]["fields"]]
        row = dict(zip(names, row["values"], strict=True))
    return {name: int(value or 0) for name, value in row.items()}


def _millis(event_time: Mapping[str, str]) -> int:
    """Spark's watermark in milliseconds; 0 where it has none."""
    shown = event_time.get("watermark")
    if not shown:
        return 0
    found = _INSTANT.fullmatch(shown)
    assert found is not None, shown
    year, month, day, clock = found.groups()
    months = np.datetime64(int(year) - 1970, "Y").astype("M8[M]") + (int(month) - 1)
    days = int(months.astype("M8[D]").astype(np.int64)) + int(day) - 1
    return days * 86_400_000 + int(np.datetime64(f"1970-01-01T{clock}", "ms").astype(np.int64))
