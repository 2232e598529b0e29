"""What a user may set per query, by keyword or by hint."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.algorithms import ASYMMETRIC
from windrow.physical.match_algorithms import MATCH_ALGORITHMS
from windrow.physical.structures import USUAL, PartSizes
from windrow.plan.sizes import Amount, to_amount

SHED, SPILL = "shed", "spill"

IN_STEP, ROUND_ROBIN = "in step", "round robin"
"""In which order a query in process asks its streams for batches."""

AUTO, ITA, TPA, NTA = "auto", "ita", "tpa", "nta"
"""How operators learn that rows have left their windows: by input that comes, by time, which they
probe, or by negative tuples."""


@dataclass(frozen=True)
class Options:
    """Choices of the user; None and defaults leave them to the planner.

    Attributes:
        algorithm: of window joins, one of "bew" (the default), "few", "nlw", "hw", "asymmetric", or
            one that an installed package adds (`windrow.extend`); those of "bew" and "few" look tuples up by hash where there is an equality, unless told with
            "-hash" or "-nested-loop" at their end. Of bestmatch joins, one of "matwin" (the
            default), "matwin-grid" and "matwin-plain" (with the epsilon grid order, and without),
            "nested-loops"; where `on_memory` is "spill", "matwin-standard-pages" (the default there)
            and "matwin-grid-pages", whose windows go to pages on disk.
        structure: of the algorithm "asymmetric", in what each window is kept: "hash/ttree" for the
            first stream's and the second's, of "buffer", "hash", "btree" and "ttree".
        bucket_size: tuples in a bucket of a hash, where windows are kept in structures; None: 10.
        node_size: the most tuples in a node of a tree, likewise; None: 100.
        order: of window joins, the order in which new tuples meet the other streams, or a pipeline
            takes them: "c, a, b", every stream of the join by the name that the query gives it. Or
            an order for the new tuples of each: "a: c, b; b: c, a; c: a, b".
        on_late: what to do with late rows: "count", "keep" (dead letters) or "fail".
        dead_letters: folder for late rows on Spark when `on_late` is "keep".
        memory: how much state the query may hold in memory, '512 MB' or '5000 tuples' for instance,
            or a number of bytes; None: as much as its windows need.
        on_memory: what happens when it would hold more: "fail", "spill" old tuples to disk, or
            "shed": keep a random part of each window; None: "fail". Said only together with
            `memory`.
        service_rate: how many arrivals may probe, '1000 per second' of event time for instance, or
            a number per second (per day of a DATE, per tick of a BIGINT); None: all of them.
        on_service_rate: what happens when more arrive: "fail", or "shed": probe with a random part
            of them; None: "fail". Said only together with `service_rate`.
        shed_strategy: how what there is is divided among the streams when something is shed: "best",
            for the most results, or "equal", by "rates", by "windows" or "inverse" to rates;
            None: "best".
        shed_least: what is kept of each window at least when memory is short: '100 tuples', or a
            share of the memory that windows have, '10%'; for single streams 'a = 100, b = 10%'.
            None: nothing, or 10% where totals are estimated.
        shed_least_rate: how many arrivals of each stream probe at least when the service rate is
            short: '50 per second' or '10%', and for single streams as `shed_least`.
        seed: of the draws that decide what is shed, a whole number; None: 0.
        buckets: how many parts a stage is cut into on Spark; None: one per shuffle partition.
        polling: in process, which stream is asked next: "in step" (the one that is furthest behind
            in event time) or "round robin" (each in its turn); None: "in step".
        scheduling: how stateful operators learn that rows have left their windows: "tpa" (they
            probe those below for the time), "nta" (a negative tuple follows each row) or, in
            process, "ita" (they take note of time only when input arrives, so that changes may come
            out late); "auto" and None: one of those in time, by what they handle and hold.
        updates: of a changelog, whether a delete and an insert of the same GROUP BY key at one
            instant are shown as `update_preimage` and `update_postimage`.
    """

    algorithm: str | None = None
    structure: str | None = None
    bucket_size: int | None = None
    node_size: int | None = None
    order: str | None = None
    on_late: str = "count"
    dead_letters: str | None = None
    memory: str | int | None = None
    on_memory: str | None = None
    service_rate: str | float | None = None
    on_service_rate: str | None = None
    shed_strategy: str | None = None
    shed_least: str | int | None = None
    shed_least_rate: str | float | None = None
    seed: int | None = None
    buckets: int | None = None
    polling: str | None = None
    scheduling: str | None = None
    updates: bool = False

    @property
    def asked_algorithm(self) -> str | None:
        """The algorithm that the user asked for: by its name, or by what only it has."""
        named = self.join_algorithm
        return ASYMMETRIC if named is None and self.structure else named

    @property
    def join_algorithm(self) -> str | None:
        """The algorithm of window joins that the user named."""
        return None if self.algorithm in MATCH_ALGORITHMS else self.algorithm

    @property
    def match_algorithm(self) -> str | None:
        """The algorithm of bestmatch joins that the user named."""
        return self.algorithm if self.algorithm in MATCH_ALGORITHMS else None

    @property
    def leaves_plans(self) -> bool:
        """Whether the plans of window joins are left to the planner.

        What a plan holds beside the rows is not estimated: with a bound on it none is changed, nor is
        that of a join that sheds.
        """
        is_bound = self.memory is not None or self.service_rate is not None
        return not (self.asked_algorithm or self.order or is_bound)

    @property
    def memory_amount(self) -> Amount | None:
        """The memory in bytes or tuples, or None."""
        return None if self.memory is None else to_amount(self.memory)

    @property
    def spills(self) -> bool:
        """Whether what does not fit into memory goes to disk."""
        return self.memory is not None and self.on_memory == SPILL

    @property
    def sheds_memory(self) -> bool:
        """Whether windows are kept in part when memory is short."""
        return self.on_memory == SHED

    @property
    def sheds_probes(self) -> bool:
        """Whether arrivals do not probe when the service rate is short."""
        return self.on_service_rate == SHED

    @property
    def sheds(self) -> bool:
        """Whether the answer may be a part of the whole one."""
        return self.sheds_memory or self.sheds_probes

    @property
    def part_sizes(self) -> PartSizes:
        """How large buckets and nodes are made."""
        return PartSizes(self.bucket_size or USUAL.bucket, self.node_size or USUAL.node)
