"""Sliding-window questions over streams, in SQL and Python, in process and on Spark.

    import windrow
    w = windrow.Session()
    w.stream("a", table, time="ts", lateness="5 seconds")
    w.sql("SELECT ...").to_arrow()

Names are loaded when they are first used: importing windrow costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.errors import (
        BindError,
        DataError,
        InternalError,
        ParseError,
        PlanError,
        ResourceError,
        UnknownColumn,
        UnsupportedError,
        WindrowError,
    )
    from windrow.run.local.sources import NOTHING_NOW
    from windrow.schema import ON_ARRIVAL
    from windrow.session import Session

    __version__: str

__all__ = [
    "NOTHING_NOW",
    "ON_ARRIVAL",
    "BindError",
    "DataError",
    "InternalError",
    "ParseError",
    "PlanError",
    "ResourceError",
    "Session",
    "UnknownColumn",
    "UnsupportedError",
    "WindrowError",
    "__version__",
]


_HOMES = {
    "NOTHING_NOW": "windrow.run.local.sources",
    "ON_ARRIVAL": "windrow.schema",
    "Session": "windrow.session",
}
"""Where names are that are no errors."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("windrow")
    found: object = getattr(import_module(_HOMES.get(name, "windrow.errors")), name)
    globals()[name] = found  # asked for again, it is there
    return found


def __dir__() -> list[str]:
    return __all__
