"""COUNT_IF: the rows for which a condition holds."""

from __future__ import annotations

from windrow.plan.aggregates.arguments import CONDITION
from windrow.plan.aggregates.count import COUNT
from windrow.plan.aggregates.function import AggregateFunction

COUNT_IF = AggregateFunction(
    "count_if",
    takes=(CONDITION,),
    says="`BIGINT`: the rows for which it holds",
    aliases=("countif",),
    computed_as=COUNT,
    reads="CASE WHEN {0} THEN 1 END",
    instead_of_distinct="write COUNT_IF(..), or BOOL_OR(..) to ask whether there is one",
)
