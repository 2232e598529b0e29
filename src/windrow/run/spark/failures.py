"""Errors that reach the user through Spark, said in our own words.

What a worker raises leads Spark's exception with our text; some refusals of Spark's own, that of a
checkpoint with other stages for one, are put in our words afterwards.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from windrow.errors import DataError, PlanError, WindrowError, error_inside

_ANOTHER_QUERY = (
    "sources in the checkpoint offsets",
    "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
)
"""What Spark says, before it reads a row, of a checkpoint with other sources or other stages."""

_UNREADABLE = re.compile(
    r"\[(?:FAILED_READ_FILE|MALFORMED_RECORD_IN_PARSING|MALFORMED_CSV_RECORD|CANNOT_READ_FILE_FOOTER)"
    r"[^\]]*\] (.*)|(CSV header does not conform to the schema\..*)"
)
"""What Spark says of a file that is not what its format or its schema says."""


@contextmanager
def told_first(sql: str = "") -> Iterator[None]:
    """Raises a user's error in a worker so that its text comes first, with its place in the SQL.

    Spark copies the text of a worker's exception behind its own condition, the traceback first.
    For an error that is the user's to mend, the traceback is noise: the worker is told to leave
    it out (it ends with the exception), and the exception's class is named as the message begins.
    """
    try:
        yield
    except WindrowError as error:
        tell(error.in_sql(sql))


def tell(error: WindrowError) -> NoReturn:
    """Raises the error under a name that makes Spark's copy of it begin with our own text."""
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
    headline, _, rest = str(error).partition(": ")
    named = type(headline, (RuntimeError,), {"__module__": "builtins"})
    raise named(rest) from error


@contextmanager
def within_sparks_stack() -> Iterator[None]:
    """Has an expression that is too deep for Spark refused in our words.

    How deep is too deep depends on the stack of the driver's JVM, and on how much of Spark's code it
    has compiled by then.
    """
    try:
        yield
    except Exception as error:
        ours = _too_deep(error)
        if ours is None:
            raise
        raise ours from error


def _too_deep(error: Exception) -> WindrowError | None:
    if "StackOverflowError" not in str(error):
        return None
    return PlanError(
        "query-too-deep",
        "the query is nested too deeply for Spark",
        reason="Spark reads chained operators recursively, on the stack of the driver's JVM",
        hint="give it a larger one: --conf spark.driver.extraJavaOptions=-Xss16m; or compute a part of"
        " the expression in a derived table",
    )


def of_another_query(reason: str) -> PlanError:
    """The error of a query that finds the checkpoint of another one."""
    return PlanError(
        "checkpoint-of-another-query",
        "the checkpoint was made by a different query",
        reason=reason,
        hint="give this query a checkpointLocation of its own",
    )


def in_our_words(error: Exception) -> WindrowError | None:
    """The error to raise in place of one of Spark's; None where Spark's is the best there is."""
    if any(mark in str(error) for mark in _ANOTHER_QUERY):
        return of_another_query("that one has another number of streams or of stages")
    unreadable = _UNREADABLE.search(str(error))
    if unreadable is not None:
        return DataError(
            "unreadable-data",
            "a file of a stream cannot be read",
            reason=(unreadable[1] or unreadable[2]).split(" SQLSTATE:")[0].strip(),
            hint="check the stream's format and schema",
        )
    return _too_deep(error)


def as_ours(error: Exception) -> WindrowError | None:
    """The error of ours that Spark carries out of a worker, or the one to raise in place of Spark's own."""
    return error_inside(str(error)) or in_our_words(error)
