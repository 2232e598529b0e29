"""What window joins of any number of inputs have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from windrow.physical.algorithms import (
    ALGORITHMS,
    ASYMMETRIC,
    DEFAULT,
    HASH,
    NESTED_LOOP,
    PIPELINE,
)
from windrow.physical.estimates import ORDERED, Estimate, estimate_facts
from windrow.physical.explain.algorithm_facts import (
    algorithm_facts,
    search_facts,
    structure_facts,
    tests,
)
from windrow.physical.explain.facts import (
    Fact,
    Show,
    closure_facts,
    drop_condition,
    said,
    state_bound,
    stated_windows,
    window_meanings,
)
from windrow.physical.nodes.base import KeyClass, PhysicalNode
from windrow.physical.nodes.shapes import StreamJoin, fields_of
from windrow.physical.options import Options
from windrow.physical.partitioning.buckets import Partitioning, Slices, hypercube, show_class
from windrow.physical.probe_orders import path_order
from windrow.plan.exprs import Expr
from windrow.plan.functions import UserFunction
from windrow.plan.statistics import Figure, Rates
from windrow.plan.windows import WindowGraph
from windrow.schema import Schema


@dataclass(frozen=True)
class MultiJoin(StreamJoin):
    """Every combination of a row per input that meets keys, predicates and windows.

    Attributes:
        inputs: what is joined.
        aliases: how the user calls each input.
        classes: the keys.
        graph: the windows, one stream per input; `graph.upper` is the closed bound of each
            ordered pair.
        keep: per input, the columns that the result carries; `schema` lists them in order.
        method: "hash" or "nested-loop".
        schema: the columns of the result.
        predicates: further conditions over the inputs' columns.
        alternative: windows that do as well as those of `graph` (EITHER WAY).
        functions: the user's functions that the predicates call.
        orders: per input, the order in which its new tuples meet the others; of a pipeline one
            order, of all inputs from the bottom up. () leaves it to `physical.probe_orders`.
        estimate: what it and other plans cost, where enough is known.
    """

    inputs: tuple[PhysicalNode, ...]
    aliases: tuple[str, ...]
    classes: tuple[KeyClass, ...]
    graph: WindowGraph
    keep: tuple[tuple[str, ...], ...]
    method: str
    schema: Schema
    predicates: tuple[Expr, ...] = ()
    alternative: WindowGraph | None = None
    functions: tuple[UserFunction, ...] = ()
    orders: tuple[tuple[int, ...], ...] = ()
    estimate: Estimate | None = None

    is_joined = True
    is_priced = True

    kind = "inner"
    """Which rows come, as checkpoints say it."""

    algorithm = DEFAULT
    chosen = ALGORITHMS[DEFAULT]
    """By which algorithm it is joined, and what is known of that: by backward evaluation, if nothing
    else is said."""

    structures = tuple[str, ...]()
    """Per input the structure of its window, where windows are kept in structures."""

    identity_name = "WJoin"
    identity_fields = (
        "inputs", "aliases", "classes", "graph", "keep", "schema", "predicates", "kind", "alternative",
        "functions",
    )  # fmt: skip

    @property
    def ways(self) -> tuple[WindowGraph, ...]:
        """The graphs of windows of which a combination meets one; under EITHER WAY two."""
        return (self.graph,) if self.alternative is None else (self.graph, self.alternative)

    @property
    def joins_what_is_alive(self) -> bool:
        """Whether it asks nothing of the times of rows but that they are alive together."""
        return False

    has_one_plan: ClassVar[bool] = False
    """Whether there is nothing to weigh."""

    error_name: ClassVar[str]
    only_backward: ClassVar[str]
    """Of a join that backward evaluation alone runs: its name in errors, and why no other does."""

    alternatives: ClassVar[tuple[str, ...]] = ()
    """The algorithms beside backward evaluation that it may run by, and whose costs are weighed."""

    workload: ClassVar[str] = ""
    """What tells which part of its inputs is left for it, as `module:function`; "" where all is.

    It is given the join and its numbers at the rates known, and gives both as they are then.
    """

    @property
    def is_for_what_is_left(self) -> bool:
        """Whether it is known what its limits leave, and its plan is chosen for that."""
        return False

    @property
    def is_backward(self) -> bool:
        """Whether it is joined by backward evaluation."""
        return self.algorithm == DEFAULT

    @property
    def is_in_structures(self) -> bool:
        """Whether its windows are kept in structures, by which tuples are looked up."""
        return self.algorithm == ASYMMETRIC

    @property
    def has_usual_sizes(self) -> bool:
        """Whether parts of structures are as large as those whose costs were measured."""
        return True

    @property
    def method_by_ends(self) -> str:
        """How it looks tuples up where they are found by their ends, by backward evaluation alone."""
        return self.method if self.is_backward else (HASH if self.classes else NESTED_LOOP)

    def cannot_shed(self, asked: str | None) -> str:
        """It joins by time, by an algorithm that counts what it keeps."""
        counts_kept = self.is_backward or self.is_in_structures
        return "" if counts_kept else f"the algorithm {asked} does not shed"

    @property
    def windows_are_lifetimes(self) -> bool:
        """Whether every window reaches as far as rows are alive."""
        lengths = [child.alive_ticks for child in self.inputs]
        reach_all = all(
            length is not None and self.graph.direct[a][b] >= length
            for a, length in enumerate(lengths)
            for b in range(len(lengths))
            if a != b
        )
        return reach_all and self.alternative is None

    def common(self) -> dict[str, Any]:
        """What any join says of itself, for a join of another kind over the same inputs."""
        return fields_of(self, MultiJoin)

    def by(
        self,
        algorithm: str,
        method: str,
        orders: tuple[tuple[int, ...], ...] = (),
        structures: tuple[str, ...] = (),
    ) -> Self:
        """The same join by another plan: one that its kind of join can have."""
        plan: dict[str, Any] = {"algorithm": algorithm, "structures": structures}
        if not self.alternatives:
            assert algorithm == DEFAULT, "it is joined by backward evaluation alone"
            plan = {}
        return replace(self, method=method, orders=orders, **plan)

    @property
    def plan_name(self) -> str:
        """The algorithm or the structures, and the order where it is not the usual one.

        Examples of names: `bew-hash`, `hash/ttree`, `bew-hash, order c, a, b`.
        """
        return f"{self._usual_name}, order {self._order()}" if self._has_order else self._usual_name

    @property
    def plan_kind(self) -> str:
        """The name without the order itself: there are few of these, whatever the numbers are."""
        return f"{self._usual_name}{ORDERED}" if self._has_order else self._usual_name

    @property
    def plan_kinds(self) -> tuple[str, ...]:
        """The kinds of its plan in the usual order, and in another one where it has any."""
        usual = self._usual_name
        return (usual, f"{usual}{ORDERED}") if len(self.inputs) > 2 else (usual,)

    @property
    def _usual_name(self) -> str:
        if self.structures:
            return "/".join(self.structures)
        return f"{self.algorithm}-{self.method}" if self.chosen.says_method else self.algorithm

    @property
    def _has_order(self) -> bool:
        """Of two streams each meets the other, in whatever order: only a pipeline has one."""
        can_have = self.chosen.kind == PIPELINE or len(self.inputs) > 2
        return can_have and bool(self.orders) and not self.structures

    def _order(self) -> str:
        """One order for all, where there is one; else for each input its own."""
        if self.chosen.kind == PIPELINE:
            return self._listed(self.orders[0])
        # An order for all, less its first stream, is what that stream's own tuples meet.
        for start, others in enumerate(self.orders):
            together = (start, *others)
            met = (tuple(one for one in together if one != at) for at in range(len(self.orders)))
            if tuple(met) == self.orders:
                return self._listed(together)
        named = zip(self.aliases, self.orders, strict=True)
        return "; ".join(f"{alias}: {self._listed(others)}" for alias, others in named)

    def _listed(self, numbers: tuple[int, ...]) -> str:
        return ", ".join(self.aliases[one] for one in numbers)

    only_forgets_ahead = True

    def runs_like(self, other: object) -> bool:
        """Whether another plan of the same join runs as this one does."""
        return isinstance(other, MultiJoin) and self._way == other._way

    @property
    def _way(self) -> tuple[object, ...]:
        return self.algorithm, self.method, self.orders, self.structures

    def retention(self, port: int) -> int:
        """How many ticks behind the watermark a row of an input may still be needed."""
        return max(graph.retention(port) for graph in self.ways)

    @property
    def shortest(self) -> int:
        """Ticks of the shortest window, of those that have any."""
        reaches = [own for own in map(self.retention, range(len(self.inputs))) if own > 0]
        return min(reaches, default=0)

    def reach(self, last: int, other: int) -> tuple[int, int]:
        """From when to when, seen from the last row of a combination, one of another input may be.

        Both ends count. Of one instant, the rows of the later input come last:

            t + first .......... t  or  t - 1
                                 last row
        """
        before = max(graph.upper[other][last] for graph in self.ways)
        after = max(graph.upper[last][other] for graph in self.ways)
        return -before, min(after, 0 if other < last else -1)

    def columns_needed(self, port: int) -> list[str]:
        """The columns of an input that results, keys or predicates need, each once."""
        keys = [key.columns[port] for key in self.classes]
        own = set(self.inputs[port].schema.names)
        read = [name for predicate in self.predicates for name in predicate.columns if name in own]
        needed = [*self.keep[port], *(name for name in keys if name is not None), *read]
        return list(dict.fromkeys(needed))

    @property
    def window_joins(self) -> tuple[MultiJoin, ...]:
        """This one, and those below."""
        return (self, *super().window_joins)

    @property
    def aliases_of_streams(self) -> tuple[str, ...]:
        """The inputs without a join below."""
        named = zip(self.inputs, self.aliases, strict=True)
        return tuple(alias for child, alias in named if not child.window_joins)

    @property
    def bucket_keys(self) -> tuple[KeyClass, ...]:
        """All."""
        return self.classes

    @property
    def held_inputs(self) -> tuple[PhysicalNode, ...] | None:
        """All, where it asks for nothing but that rows are alive together."""
        return self.inputs if self.joins_what_is_alive else None

    def counted_rows(
        self,
        rates: Sequence[float],  # noqa: ARG002
        different: Callable[[PhysicalNode, str], float],  # noqa: ARG002
    ) -> tuple[float, ...]:
        """Per input, how many tuples its window holds where windows count them; () where none does.

        Args:
            rates: tuples of each input per tick.
            different: how many different values a column of an input has.
        """
        return ()

    def results(
        self,
        pairs: float,
        rates: Sequence[float],  # noqa: ARG002
        alone: Callable[[int], float],  # noqa: ARG002
    ) -> float:
        """Its rows per tick, of so many combinations.

        Args:
            pairs: combinations per tick.
            rates: tuples of each input per tick.
            alone: those of an input that are part of none.
        """
        return pairs

    has_rate = True

    def rate(self, rates: Rates) -> Figure | None:  # noqa: ARG002
        """As its estimate says."""
        if self.estimate is None or not self.estimate.plans:
            return None
        sources = {figure.source for _, figure in self.estimate.known}
        return Figure(self.estimate.output, f"estimate by {', '.join(sorted(sources))}")

    @property
    def alive_ticks(self) -> int | None:
        """Until the first of its rows leaves."""
        lengths = [child.alive_ticks for child in self.inputs]
        return min((length for length in lengths if length is not None), default=None)

    def lifetime(self, length: str) -> str:
        """By the first row that leaves."""
        return f"from t until the first of its tuples leaves its window, t + {length} at most"

    @property
    def title(self) -> str:
        """For EXPLAIN."""
        return f"WJoin {', '.join(self.aliases)}"

    @property
    def brief(self) -> str:
        """What it joins."""
        return f"{self.about} of {', '.join(self.aliases)}"

    @property
    def about(self) -> str:
        """For checkpoints."""
        return "window join"

    def partitioning(self, buckets: int) -> Partitioning:
        """By shares of its keys; otherwise where there are none."""
        if not self.classes:
            return self._without_keys(buckets)
        return hypercube(tuple(key.inputs for key in self.classes), len(self.inputs), buckets)

    def _without_keys(self, buckets: int) -> Partitioning:
        """Slices of time, the input being the anchor that the others reach with the least copying."""
        return self._slices(min(range(len(self.inputs)), key=self._width), buckets)

    def _slices(self, anchor: int, buckets: int) -> Slices:
        """Slices as wide as the farthest reach to an anchor row: others go to two on average."""
        ports = range(len(self.inputs))
        return Slices(
            anchor=anchor,
            width=self._width(anchor),
            before=tuple(self._farthest(anchor, port) for port in ports),
            after=tuple(self._farthest(port, anchor) for port in ports),
            buckets=buckets,
        )

    def _farthest(self, a: int, b: int) -> int:
        """How far after a row of one input a row of another may be, whichever way windows go."""
        return max(graph.upper[a][b] for graph in self.ways)

    def _width(self, anchor: int) -> int:
        others = [port for port in range(len(self.inputs)) if port != anchor]
        return max(
            max(1, self._farthest(anchor, port) + self._farthest(port, anchor)) for port in others
        )

    def facts(self, options: Options, show: Show) -> list[Fact]:
        """How it finds combinations, what it keeps, when it forgets."""
        below = max(child.delay for child in self.inputs)
        keys = ", ".join(show_class(key, show) for key in self.classes)
        return said(
            *(structure_facts if self.structures else algorithm_facts)(self, options, keys),
            *self._own_facts(below),
            *self._window_facts(below),
            *search_facts(self, below, self.time_type),
            ("tests", tests(self)),
            ("emits", self._emission()),
            *estimate_facts(self, self.time_type),
        )

    def _own_facts(self, below: int) -> list[Fact]:  # noqa: ARG002
        """What a join of a special kind adds, in front of the windows."""
        return []

    def _own_limit(self) -> list[str]:
        """What limits all that it holds together, where something does."""
        return []

    def _own_state(self) -> list[str]:
        """What a join of a special kind holds beside the rows of its windows."""
        return []

    def _emission(self) -> str:
        """When which rows come, and the delay that they add."""
        return "each combination in the batch of its last tuple; adds no delay"

    def _window_facts(self, below: int) -> list[Fact]:
        graph, time_type = self.graph, self.time_type
        ports = range(len(self.inputs))
        members = list(zip(self.inputs, self.aliases, map(self.retention, ports), strict=True))
        return said(
            ("form", self._form()),
            ("windows", stated_windows(graph, time_type)),
            *closure_facts(graph, time_type),
            *self._other_way(),
            ("retention", [drop_condition(i, a, r, below, time_type) for i, a, r in members]),
            (
                "state",
                [
                    *self._own_limit(),
                    *(state_bound(self, rows, alias, kept, below) for rows, alias, kept in members),
                    *self._own_state(),
                ],
            ),
        )

    def _form(self) -> str:
        form = self.graph.form
        if form == "path":
            form += f" {' - '.join(self.graph.streams[s] for s in path_order(self.graph))}"
        return form if self.alternative is None else f"{form}, either way"

    def _other_way(self) -> list[Fact]:
        """The windows that do as well as those stated (EITHER WAY), and what they imply."""
        graph, time_type = self.alternative, self.time_type
        if graph is None:
            return []
        return said(
            ("or reversed", [*window_meanings(graph, time_type), "each combination once"]),
            *closure_facts(graph, time_type),
        )
