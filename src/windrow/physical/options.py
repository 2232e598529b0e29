"""What a user may set per query: the table of options, one row for each.

Keywords of `sql` and `explain`, hints, the keys of job files, what Spark refuses and the table of
docs/reference/options.md are these rows; an option is added by adding one, and its line to
`QueryOptions`, by which type checkers know it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict, get_args

from windrow.errors import PlanError
from windrow.physical.algorithms import ASYMMETRIC, MATCH_ALGORITHMS
from windrow.physical.load_shedding.limits import STRATEGIES, ShedStrategy, least_said, rate_said
from windrow.physical.option import (
    Needs,
    Option,
    RefusedBySpark,
    as_flag,
    as_number,
    as_signed_number,
    asked_order,
    check_algorithm,
    lacking,
    of_type,
    one_of,
    readable,
    rows_of,
    structure_names,
    whole,
)
from windrow.physical.structures import LEAST_BUCKET, LEAST_NODE, MOST, USUAL, PartSizes
from windrow.plan.units import Amount, to_amount

SHED, SPILL = "shed", "spill"

IN_STEP, ROUND_ROBIN = "in step", "round robin"
"""In which order a query in process asks its streams for batches."""

AUTO, ITA, TPA, NTA = "auto", "ita", "tpa", "nta"
"""How operators learn that rows have left their windows: by input that comes, by time, which they
probe, or by negative tuples."""

MOST_BUCKETS = 10_000

MOST_THREADS = 256

OnLate = Literal["count", "keep", "fail"]
OnMemory = Literal["fail", "spill", "shed"]
OnServiceRate = Literal["fail", "shed"]
Polling = Literal["in step", "round robin"]
Scheduling = Literal["auto", "tpa", "nta", "ita"]


@dataclass(frozen=True)
class Options:
    """Choices of the user; None and defaults leave them to the planner."""

    algorithm: Annotated[
        str | None,
        Option(
            'of window joins: `"bew"`, `"few"`, `"nlw"`, `"hw"`, `"asymmetric"`; with the look-up'
            ' named, `"bew-hash"`, `"bew-nested-loop"`, and likewise those of `few`; or one that an installed'
            ' package adds: `windrow-papers` has `"bew-tuple-at-a-time"`, `"gca"`, `"lca"`, `"closure"`,'
            ' `"bew-graph"`, `"ripple"`, `"xjoin"` ([which to take](../algorithms.md)). Of bestmatch joins:'
            ' `"matwin"`, `"matwin-grid"`, `"matwin-plain"`, `"nested-loops"`, and where `on_memory` is'
            ' `"spill"`, `"matwin-standard-pages"`, `"matwin-grid-pages"`'
            " ([which is which](../algorithms.md#bestmatch-joins))",
            unset='`"bew"`; for two streams with a band and no equality, `"asymmetric"`; `"matwin"`; with'
            ' `on_memory="spill"`, `"matwin-standard-pages"`',
            check=readable(check_algorithm),
        ),
    ] = None
    structure: Annotated[
        str | None,
        Option(
            "of joins of two streams: in what each window is kept, the first stream's and the second's:"
            ' `"hash/ttree"`, of `buffer`, `hash`, `btree`, `ttree`; by itself it asks for the algorithm'
            ' `"asymmetric"` ([structures](../algorithms.md#window-structures))',
            unset="as the conditions allow",
            check=readable(structure_names),
        ),
    ] = None
    bucket_size: Annotated[
        int | None,
        Option(
            "where windows are kept in structures: tuples in a bucket of a hash,"
            f" {LEAST_BUCKET} to {MOST:,}",
            unset=str(USUAL.bucket),
            check=whole(LEAST_BUCKET, MOST, "is not a number of tuples for a bucket"),
            read=as_number,
        ),
    ] = None
    node_size: Annotated[
        int | None,
        Option(
            f"likewise: the most tuples in a node of a B+tree or T-tree, {LEAST_NODE} to {MOST:,}",
            unset=str(USUAL.node),
            check=whole(LEAST_NODE, MOST, "is not a number of tuples for a node"),
            read=as_number,
        ),
    ] = None
    order: Annotated[
        str | None,
        Option(
            "of inner window joins by `bew`: the order in which new tuples meet the other streams,"
            ' `"c, a, b"`, or for those of each stream, `"a: c, b; b: c, a; c: a, b"`; by `hw`, `nlw` or'
            " `xjoin`: that in which the pipeline takes the streams",
            unset="by cost where numbers are known, else by keys, then the narrowest window",
            check=readable(asked_order),
        ),
    ] = None
    on_late: Annotated[
        OnLate,
        Option(
            'what happens to late rows: `"count"`, `"keep"` or `"fail"`',
            unset='`"count"`',
            check=one_of(
                get_args(OnLate),
                "is not a way to treat late rows",
                "count (count and drop them), keep (write them aside) or fail (stop the query)",
            ),
            needs=Needs(
                "keep",
                "dead_letters",
                "late rows are to be kept, but there is no folder for them",
                "name one with the option dead_letters: a path, or on Spark a path or a URI that all"
                " workers reach",
                example="late",
            ),
        ),
    ] = "count"
    dead_letters: Annotated[
        str | None,
        Option(
            "on Spark and of a run with a sink, the folder for late rows that are kept, and for"
            " records that could not be read; what `sql` gives in process has its late rows in"
            " `late`, and writes none",
            check=of_type(
                str,
                "names no folder",
                "give its path or URI as a text, for instance '/data/late'",
            ),
            is_hint=False,
            is_folder=True,
        ),
    ] = None
    memory: Annotated[
        str | int | None,
        Option(
            'how much state the query may hold in memory: `"512 MB"`, a whole number of bytes below'
            ' 2**63, or `"5000 tuples"` ([how](../how-to/memory.md))',
            unset="not limited",
            check=readable(to_amount),
        ),
    ] = None
    on_memory: Annotated[
        OnMemory | None,
        Option(
            'what happens when it would hold more: `"fail"`, `"spill"` old tuples to disk (window joins'
            " run by `bew` then, others are refused; of bestmatch joins, in"
            ' [pages](../algorithms.md#matwin-on-pages)), or `"shed"`, keep a random sample of each window'
            " and of waiting arrivals ([how](../how-to/shedding.md)); only together with `memory`",
            unset='`"fail"`',
            check=one_of(
                get_args(OnMemory),
                "is not a way to treat full memory",
                "fail (stop the query), spill (keep old tuples on disk) or shed (keep a random sample)",
            ),
        ),
    ] = None
    service_rate: Annotated[
        str | float | None,
        Option(
            'of window joins, how many arrivals may probe: `"1000 per second"` of event time, or a number'
            " per second (per day of a `DATE`, per tick of a `BIGINT`)",
            unset="not limited",
            check=readable(rate_said),
        ),
    ] = None
    on_service_rate: Annotated[
        OnServiceRate | None,
        Option(
            'what happens when more arrive: `"fail"`, or `"shed"`, let a random sample of them probe; only'
            " together with `service_rate`",
            unset='`"fail"`',
            check=one_of(
                get_args(OnServiceRate),
                "is not a way to treat tuples beyond the rate",
                "fail (stop the query) or shed (let a random sample of them probe)",
            ),
        ),
    ] = None
    shed_strategy: Annotated[
        ShedStrategy | None,
        Option(
            'how memory and probes are divided among the streams: `"best"`, `"equal"`, `"rates"`,'
            ' `"windows"` or `"inverse"`',
            unset='`"best"`',
            check=one_of(STRATEGIES, "is not a way to divide memory or probes"),
        ),
    ] = None
    shed_least: Annotated[
        str | int | None,
        Option(
            'what is kept of each window at least: `"100 tuples"`, a share of the memory that windows have'
            ' (`"10%"`), or for single streams `"a = 100, b = 10%"`',
            unset="nothing; 10% where totals are estimated",
            check=least_said,
        ),
    ] = None
    shed_least_rate: Annotated[
        str | float | None,
        Option(
            'how many arrivals of each stream probe at least: `"50 per second"`, `"10%"` of the service'
            " rate, or for single streams",
            unset="nothing; 10% where totals are estimated",
            check=least_said,
        ),
    ] = None
    seed: Annotated[
        int | None,
        Option(
            "of the draws that decide what is shed: a whole number of 64 bits",
            unset="0",
            check=whole(
                -(1 << 63),
                (1 << 63) - 1,
                "is not a seed",
                "a whole number of 64 bits, for instance 7",
            ),
            read=as_signed_number,
        ),
    ] = None
    buckets: Annotated[
        int | None,
        Option(
            "how many parts a stage is cut into on Spark; in process it shows in `explain` alone",
            unset="one per shuffle partition",
            check=whole(
                1,
                MOST_BUCKETS,
                "is not a number of parts",
                f"a whole number from 1 to {MOST_BUCKETS}, for instance one per core",
            ),
            read=as_number,
        ),
    ] = None
    threads: Annotated[
        int | None,
        Option(
            "in process, how many threads work on the rows of a stateful operator, divided among them by"
            " its keys ([when it pays](../how-to/threads.md)); Spark refuses it",
            unset="1",
            check=whole(
                1,
                MOST_THREADS,
                "is not a number of threads",
                f"a whole number from 1 to {MOST_THREADS}, for instance one per core",
            ),
            read=as_number,
            in_process=RefusedBySpark(
                "on Spark the buckets of a stage are tasks, as many at once as there are cores",
                "leave it out, or say how many buckets there are",
            ),
        ),
    ] = None
    polling: Annotated[
        Polling | None,
        Option(
            'in process, which stream is asked for the next batch: `"in step"`, the one that is furthest'
            ' behind in event time, or `"round robin"`, each in its turn'
            " ([which to take](../how-to/live-sources.md#whose-turn-it-is)); Spark refuses it",
            unset='`"in step"`',
            check=one_of(
                get_args(Polling),
                "is not an order in which streams are asked",
                f"{IN_STEP} (the stream that is furthest behind first) or {ROUND_ROBIN} (each in"
                " its turn)",
            ),
            in_process=RefusedBySpark(
                "Spark reads a part of every stream in each micro-batch", "leave it out"
            ),
        ),
    ] = None
    scheduling: Annotated[
        Scheduling | None,
        Option(
            'how stateful operators learn that tuples have left their windows: `"tpa"`, by time, which'
            ' they probe, `"nta"`, by negative tuples, `"ita"`, only when input arrives (only in'
            ' process), or `"auto"` ([what differs](../concepts/scheduling.md))',
            unset='`"auto"`',
            check=one_of(
                get_args(Scheduling),
                "does not say how operators learn what has expired",
                f"{TPA} (by time, which they probe), {NTA} (by negative tuples), {ITA} (only when"
                f" input arrives) or {AUTO} (as is cheaper)",
            ),
            in_process=RefusedBySpark(
                "on Spark each stage advances to the watermark in every micro-batch",
                f"leave it out, or say {NTA}",
                value=ITA,
            ),
        ),
    ] = None
    updates: Annotated[
        bool,
        Option(
            "of a changelog: `True` shows a delete and an insert of one `GROUP BY` key at one"
            " instant as"
            " `update_preimage` and `update_postimage` ([which"
            " rows](../concepts/changelogs.md#updates))",
            unset="`False`",
            check=of_type(
                bool,
                "is neither true nor false",
                "true (a delete and an insert of one key at one instant are an update) or false",
            ),
            read=as_flag,
        ),
    ] = False

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
    def limits_joins(self) -> bool:
        """Whether a window join is told how much it may hold or do: beyond that it sheds, or fails."""
        return self.sheds_memory or self.service_rate is not None

    @property
    def most_threads(self) -> int:
        """How many threads work on an operator at most: what bounds the whole state has one."""
        is_bound = self.memory is not None or self.limits_joins
        return 1 if is_bound or self.threads is None else self.threads

    @property
    def sheds(self) -> bool:
        """Whether the answer may be a part of the whole one."""
        return self.sheds_memory or self.sheds_probes

    @property
    def part_sizes(self) -> PartSizes:
        """How large buckets and nodes are made."""
        return PartSizes(self.bucket_size or USUAL.bucket, self.node_size or USUAL.node)


ROWS = rows_of(Options)
"""The table by name."""


def check_needs(options: Options) -> None:
    """Refuses a value without the option that it needs, where rows are written for good."""
    needs = lacking(ROWS, vars(options))
    if needs is not None:
        raise PlanError("no-dead-letters", needs.sentence, hint=needs.hint)


HINTS = tuple(name for name, row in ROWS.items() if row.is_hint)
"""The options that a hint may give."""


class QueryOptions(TypedDict, total=False):
    """The same options, as type checkers know the keywords of `sql` and `explain`."""

    algorithm: str | None
    structure: str | None
    bucket_size: int | None
    node_size: int | None
    order: str | None
    on_late: OnLate
    dead_letters: str | None
    memory: str | int | None
    on_memory: OnMemory | None
    service_rate: str | float | None
    on_service_rate: OnServiceRate | None
    shed_strategy: ShedStrategy | None
    shed_least: str | int | None
    shed_least_rate: str | float | None
    seed: int | None
    buckets: int | None
    threads: int | None
    polling: Polling | None
    scheduling: Scheduling | None
    updates: bool
