"""One aggregate: all that Windrow knows of it, said in one object.

The parser takes its names from here, the binder its types, EXPLAIN its words, the reference its row;
operators find the accumulator by import path, where rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from windrow.plan.aggregates.arguments import Argument


class DistinctRule(Enum):
    """What DISTINCT in front of the arguments does."""

    once = "equal values count once"
    same = "the answer is the same"
    refused = "it is not supported"


class Merging(Enum):
    """What rows that come and go together become, before they are sent to the task that has all."""

    counted = "their number"
    added = "their number and the sum of their values"
    outermost = "the least and the greatest of their values"


@dataclass(frozen=True)
class Kept:
    """What is kept per group, in the words of EXPLAIN.

    Attributes:
        words: what it is.
        of_distinct: the same for distinct values, where the words are other ones.
        beside: what there is of it beside one accumulator row per group, made from the rows alive;
            "" for nothing.
        cost: what a change costs, where that is more than its own rows; "" where it is not.
    """

    words: str
    of_distinct: str = ""
    beside: str = ""
    cost: str = ""


@dataclass(frozen=True)
class AggregateFunction:
    """An aggregate function, as a query may call it.

    It has an accumulator, or is computed as another one over what it `reads`.

    Attributes:
        name: its name in plans, EXPLAIN and checkpoints, in lower case.
        takes: of what kind each of its arguments is.
        says: what it gives, for the reference; sentences without a period at the end.
        aliases: further names that queries may call it by.
        accumulator: what computes it, as `module:name`: a function or class that is given the
            aggregates of a query (`window_aggregate.Aggregate`) that share it and have the same
            argument, and makes an `Accumulator` (`windrow.operators.accumulators.base`).
        computed_as: the aggregate that gives its answers, from what it reads.
        reads: what is read of a row, in SQL: `{0}` stands for the first argument. "" for the argument
            itself, of several for a struct of them that is NULL where one is. NULL is left out.
        gives: the Spark type of its value, or what tells it from the types of the arguments.
        of_nothing: its value where there is no row, if that is not NULL.
        counts_rows: whether `*` stands for rows, and several expressions for one value.
        takes_nulls_clause: whether IGNORE NULLS and RESPECT NULLS may follow, and change nothing.
        distinct: what DISTINCT does.
        instead_of_distinct: what to write where DISTINCT is refused.
        kept: what is kept per group.
        kept_in_order: the same where rows leave in the order in which they came, if that is less.
        adds_up: whether a value is taken back by subtracting it, with no need of the others.
        merging: what rows that come and go together are merged into, which Windrow's own accumulators
            alone take; None: they stay apart.
        estimated_by: over a join that sheds, what its estimate is made of, in the words of EXPLAIN;
            "" where it cannot be estimated, as COUNT, SUM and AVG alone can.
    """

    name: str
    takes: tuple[Argument, ...]
    says: str
    aliases: tuple[str, ...] = ()
    accumulator: str = ""
    computed_as: AggregateFunction | None = None
    reads: str = ""
    gives: str | Callable[..., str] = ""
    of_nothing: int | None = None
    counts_rows: bool = False
    takes_nulls_clause: bool = False
    distinct: DistinctRule = DistinctRule.refused
    instead_of_distinct: str = ""
    kept: Kept = Kept("the values alive")
    kept_in_order: Kept | None = None
    adds_up: bool = False
    merging: Merging | None = None
    estimated_by: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names that queries may call it by, its own first."""
        return (self.name, *self.aliases)

    @property
    def usage(self) -> str:
        """A call of it: `MAX_BY(x, y)`."""
        return f"{self.name.upper()}({', '.join('xyzuvw'[: len(self.takes)])})"

    @property
    def computed(self) -> AggregateFunction:
        """What is computed: this one, or that which gives its answers."""
        return self.computed_as or self

    def type_of(self, arguments: tuple[str, ...]) -> str:
        """The Spark type of its value over arguments of these types, which it takes."""
        return self.gives if isinstance(self.gives, str) else self.gives(*arguments)
