"""What an engine says of its functions: which of them are no plain values of a row."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FunctionKinds:
    """The functions of an engine that are more than a value of their arguments, in lower case.

    Attributes:
        version: the engine's.
        aggregates: a value of many rows.
        windows: a value of a row among others; meant for OVER.
        row_makers: many rows of one.
        volatile: another value at another time, or at each call, of the same arguments.
    """

    version: str
    aggregates: frozenset[str]
    windows: frozenset[str]
    row_makers: frozenset[str]
    volatile: frozenset[str]
