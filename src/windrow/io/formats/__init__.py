"""How values outside are written: texts and bytes to columns, and columns to texts."""

from __future__ import annotations
