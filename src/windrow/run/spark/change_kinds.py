"""The kinds of changes, as users write them, to signs, in Spark SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from windrow.plan.changelogs import SIGNS, unknown_change
from windrow.plan.exprs import quote_spark

if TYPE_CHECKING:
    from pyspark.sql import Column


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
