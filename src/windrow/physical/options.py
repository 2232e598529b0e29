"""What a user may set per query, by keyword or by hint."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Choices of the user; None and defaults leave them to the planner.

    Attributes:
        algorithm: "bew" (the planner chooses the method), "bew-hash" or "bew-nested-loop".
        on_late: what to do with late rows: "count", "keep" (dead letters) or "fail".
        dead_letters: folder for late rows on Spark when `on_late` is "keep".
        buckets: how many parts a stage is cut into on Spark; None: one per shuffle partition.
    """

    algorithm: str | None = None
    on_late: str = "count"
    dead_letters: str | None = None
    buckets: int | None = None
