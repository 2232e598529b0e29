"""What a user may set per query, by keyword or by hint."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.algorithms import ASYMMETRIC
from windrow.plan.sizes import to_bytes

IN_STEP, ROUND_ROBIN = "in step", "round robin"
"""In which order a query in process asks its streams for batches."""


@dataclass(frozen=True)
class Options:
    """Choices of the user; None and defaults leave them to the planner.

    Attributes:
        algorithm: of window joins, one of "bew" (the default), "few", "nlw", "hw", "gca", "lca",
            "closure", "bew-graph", "ripple", "xjoin", "asymmetric"; "bew" and "few" look tuples up
            by hash where there is an equality, unless told with "-hash" or "-nested-loop" at their
            end.
        structure: of the algorithm "asymmetric", in what each window is kept: "hash/ttree" for the
            first stream's and the second's, of "buffer", "hash", "btree" and "ttree".
        order: of window joins, the order in which new tuples meet the other streams, or a pipeline
            takes them: "c, a, b", every stream of the join by the name that the query gives it. Or
            an order for the new tuples of each: "a: c, b; b: c, a; c: a, b".
        on_late: what to do with late rows: "count", "keep" (dead letters) or "fail".
        dead_letters: folder for late rows on Spark when `on_late` is "keep".
        memory: how much state the query may hold in memory, '512 MB' for instance or a number of
            bytes; None: as much as its windows need.
        on_memory: what happens when it would hold more: "fail", or "spill" old tuples to disk;
            None: "fail". Said only together with `memory`.
        buckets: how many parts a stage is cut into on Spark; None: one per shuffle partition.
        polling: in process, which stream is asked next: "in step" (the one that is furthest behind
            in event time) or "round robin" (each in its turn); None: "in step".
    """

    algorithm: str | None = None
    structure: str | None = None
    order: str | None = None
    on_late: str = "count"
    dead_letters: str | None = None
    memory: str | int | None = None
    on_memory: str | None = None
    buckets: int | None = None
    polling: str | None = None

    @property
    def asked_algorithm(self) -> str | None:
        """The algorithm that the user asked for: by its name, or by what only it has."""
        return ASYMMETRIC if self.algorithm is None and self.structure else self.algorithm

    @property
    def leaves_plans(self) -> bool:
        """Whether the plans of window joins are left to the planner.

        What a plan holds beside the rows is not estimated: with a bound on memory none is changed.
        """
        return not (self.asked_algorithm or self.order or self.memory is not None)

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes, or None."""
        return None if self.memory is None else to_bytes(self.memory)
