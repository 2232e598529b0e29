"""MAX_BY(x, y): x in the row with the greatest y. Rows with equal y are in the order of x."""

from __future__ import annotations

from windrow.plan.aggregates.ordered import value_by

MAX_BY = value_by("max_by", "greatest", "windrow.operators.accumulators.value_by:MaxBy")
