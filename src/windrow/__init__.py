"""Sliding-window questions over streams, in SQL and Python, in process and on Spark."""

from __future__ import annotations
