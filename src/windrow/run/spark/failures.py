"""Errors of workers: our text leading the exception that Spark raises for the user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from windrow.errors import WindrowError


@contextmanager
def told_first() -> Iterator[None]:
    """Raises a user's error in a worker so that its text comes first.

    Spark copies the text of a worker's exception behind its own condition, the traceback first.
    For an error that is the user's to mend, the traceback is noise: the worker is told to leave
    it out (it ends with the exception), and the exception's class is named as the message begins.
    """
    try:
        yield
    except WindrowError as error:
        tell(error)


def tell(error: WindrowError) -> NoReturn:
    """Raises the error under a name that makes Spark's copy of it begin with our own text."""
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
    headline, _, rest = str(error).partition(": ")
    named = type(headline, (RuntimeError,), {"__module__": "builtins"})
    raise named(rest) from error
