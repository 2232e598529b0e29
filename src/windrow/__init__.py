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
    from windrow.io.delta_sink import Delta as delta  # noqa: N813
    from windrow.io.files import Files as files  # noqa: N813
    from windrow.io.function_sink import CalledFunction as call  # noqa: N813  # users call it
    from windrow.io.generator import Generate as generate  # noqa: N813
    from windrow.io.kafka import Kafka as kafka  # noqa: N813
    from windrow.io.postgres.connector import Postgres as postgres  # noqa: N813
    from windrow.run.local.sources import NOTHING_NOW
    from windrow.run.terminal_sink import Shown as terminal  # noqa: N813
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
    "call",
    "delta",
    "files",
    "generate",
    "kafka",
    "postgres",
    "terminal",
]


_HOMES = {
    "NOTHING_NOW": "windrow.run.local.sources:NOTHING_NOW",
    "ON_ARRIVAL": "windrow.schema:ON_ARRIVAL",
    "Session": "windrow.session:Session",
    "call": "windrow.io.function_sink:CalledFunction",
}
"""Where names are that are no errors, and no connectors: those are where `CONNECTORS` says."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("windrow")
    module, _, own = _home(name).partition(":")
    found: object = getattr(import_module(module), own)
    globals()[name] = found  # asked for again, it is there
    return found


def _home(name: str) -> str:
    if name in _HOMES or not name.islower():
        return _HOMES.get(name, f"windrow.errors:{name}")
    from windrow.io.protocol import CONNECTORS  # noqa: PLC0415

    return CONNECTORS[name]


def __dir__() -> list[str]:
    return __all__
