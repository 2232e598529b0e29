"""Where checkpoints in process that were made before operators had rooms look for their classes."""

from __future__ import annotations

from windrow.operators.columns.chunks import Chunk, ChunkSlice, _unpickled

__all__ = ["Chunk", "ChunkSlice", "_unpickled"]
