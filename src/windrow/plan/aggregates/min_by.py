"""MIN_BY(x, y): x in the row with the least y. Rows with equal y are in the order of x."""

from __future__ import annotations

from windrow.plan.aggregates.ordered import value_by

MIN_BY = value_by("min_by", "least", "windrow.operators.accumulators.value_by:MinBy")
