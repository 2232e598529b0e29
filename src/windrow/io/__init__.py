"""Data in and out: sources and sinks, for every runner.

What one is says `protocol.py`; each connector is a module of its own. A new one is a class over `Source`
or `Sink`: `session.stream` and `session.run` take it as it is.
"""

from __future__ import annotations

from windrow.io.protocol import Answer, Aside, Connector, Json, Offsets, Sink, Source, Unavailable

__all__ = ["Answer", "Aside", "Connector", "Json", "Offsets", "Sink", "Source", "Unavailable"]
