"""Where checkpoints in process that were made before operators had rooms look for their classes."""

from __future__ import annotations

from windrow.operators.engine.base import Counters, Snapshot

__all__ = ["Counters", "Snapshot"]
