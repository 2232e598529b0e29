"""Rewrites of plans, each a function that keeps the answer: of columns, of conditions, of DISTINCT.

**Columns**: which are read, where they are computed, which make a key.

`prune_columns`: columns that nothing above needs are not read, not computed, not stored. Wanted
columns are handed down from the answer to the scans. A Filter below a join or an aggregate may read
columns that only it needs: a Project between the two drops them, since what reaches a stateful node
is shuffled and stored.

`compute_below_aggregate`: group keys and aggregate arguments become plain columns, computed by a
Project below. The engine that evaluates expressions then sees them all at once, and the aggregate
itself only adds and takes away numbers.

`filter_keys_of_one_input`: columns of one input that a join's equalities make equal are compared in a
Filter below.

    a.x = b.x AND a.y = b.x   implies   a.x = a.y

A tuple that fails this can join nothing. Where the join keeps such tuples all the same (a side that
an outer or an anti join preserves; a count window, in which it takes a place), the comparison becomes
a condition of the join instead of a Filter. Afterwards each class of equal columns has one column per
input, which is what the join algorithms take as a key.

**Conditions**: each is tested in one place, as far down as its nodes allow.

    merge_filters                 one Filter where there were several
    push_filters                  a condition on a node's rows goes below the node
    push_own_conditions           a condition of a join that reads one input is tested there
    absorb_filters                a condition over several inputs moves from the Filter into the join
    push_table_join_below_join    a semi or anti join with a table goes where a filter may

Each node says which conditions it lets through (`push_filter`, `absorb_filter`,
`push_own_conditions`). A semi or anti join with a table only removes rows, as a filter does: those
that it removes need not be stored or probed. An inner or a left one stays: it may give a row several
times, and each copy would be stored.

**`push_distinct`**: DISTINCT below a join, where few different rows then flow instead of many.

Above the join it only matters whether a row is there, not how often: so it is under DISTINCT, UNION,
EXCEPT and INTERSECT, and through filters, projections and joins with tables. Then the copies of an
input's rows matter no more than those of the answer, and may go before they are joined:

    DISTINCT k                     DISTINCT k
      join a.k = b.k        ->       join a.k = b.k
        a: 1,000 per second            DISTINCT k        at most 100 different: 1.7 per second
        b                                a
                                       b

What goes on is told by the paper's equation 1: of n equally likely rows, N = n (1 - (1 - 1/n)^(rate w))
are in a window w, so that N / w come out of a DISTINCT in a unit of time. It pays where that is well
below the rate, since a DISTINCT costs about as much per row as a join does.

What counts is what the user has said of rates and different values, or what streams show that are
there as a whole. What the first batches of others show may be another thing after a restart, and a
checkpoint would not fit the plan any more.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from itertools import pairwise

from windrow.optimize.cost.statistics import PlanStatistics
from windrow.physical.estimates import show_count, show_rate
from windrow.physical.nodes.base import PhysicalNode
from windrow.physical.nodes.multi_join import MultiJoin
from windrow.physical.nodes.set_op import SetOp
from windrow.physical.nodes.snapshot_join import SnapshotJoin
from windrow.physical.nodes.stateless import ProjectRows
from windrow.physical.options import Options
from windrow.plan.exprs import Expr, Named, column, quote_duckdb, quote_spark
from windrow.plan.nodes.base import Class, Equality, Node, Predicates, classes_of
from windrow.plan.nodes.filter import Filter, filtered
from windrow.plan.nodes.project import Project, only
from windrow.plan.nodes.table_join import TableJoin
from windrow.plan.nodes.window_aggregate import Aggregate, WindowAggregate
from windrow.plan.nodes.window_join import WindowJoin
from windrow.plan.texts import listed
from windrow.plan.windows import WindowGraph
from windrow.schema import Field, Schema


def prune_columns(plan: Node) -> Node:
    """Scans, projections and aggregates give only what is used above them."""
    return _prune(plan, set(plan.schema.names))


def _prune(node: Node, wanted: Set[str]) -> Node:
    node = node.narrowed(wanted)
    # The inputs of a UNION ALL give the same columns, and no others.
    is_exact = node.is_stateful or node.only_hands_on
    inputs = []
    for child, needed in zip(node.inputs, node.required_columns(wanted), strict=True):
        pruned = _prune(child, needed)
        inputs.append(only(pruned, needed) if is_exact else pruned)
    return node.with_inputs(inputs)


ARGUMENT = "$argument"
"""Prefix of the columns that hold computed arguments; a `$` marks a name that no user wrote."""


def compute_below_aggregate(plan: Node) -> Node:
    """Aggregates whose keys and arguments are columns of their input, under the keys' names."""
    return plan.rewrite(_compute)


def _compute(node: Node) -> Node:
    if not isinstance(node, WindowAggregate) or _is_plain(node):
        return node
    items = {key.name: key.expr for key in node.keys}
    aggregates = tuple(_over_column(aggregate, items) for aggregate in node.aggregates)
    keys = tuple(Named(key.name, column(key.name, key.expr.type)) for key in node.keys)
    schema = Schema(tuple(Field(name, expr.type) for name, expr in items.items()))
    below = Project(node.input, tuple(Named(n, e) for n, e in items.items()), schema)
    return replace(node, input=below, keys=keys, aggregates=aggregates)


def _is_plain(node: WindowAggregate) -> bool:
    return all(k.expr.is_column and k.expr.columns[0] == k.name for k in node.keys) and all(
        a.argument is None or a.argument.is_column for a in node.aggregates
    )


def _over_column(aggregate: Aggregate, items: dict[str, Expr]) -> Aggregate:
    """The aggregate over a column of the Project, which is added to `items` if it is new."""
    argument = aggregate.argument
    if argument is None:
        return aggregate
    name = next((n for n, e in items.items() if e.spark == argument.spark), None)
    if name is None:
        is_free = argument.is_column and argument.columns[0] not in items
        name = argument.columns[0] if is_free else f"{ARGUMENT}{len(items)}"
        items[name] = argument
    read = replace(column(name, argument.type), text=argument.text, span=argument.span)
    return replace(aggregate, argument=read)


def filter_keys_of_one_input(plan: Node) -> Node:
    """Equalities between different inputs only, one column of each per class."""
    return plan.rewrite(_split)


def _split(node: Node) -> Node:
    classes = classes_of(node.key_equalities, node.inputs)
    if all(len(columns) <= 1 for key in classes for columns in key.columns):
        return node
    compared = [
        [same for key in classes for same in _same(key, i)] for i in range(len(node.inputs))
    ]
    equalities = tuple(equality for key in classes for equality in _chain(key))
    kept = tuple(same for i in node.kept_inputs for same in compared[i])
    filters = [() if i in node.kept_inputs else own for i, own in enumerate(compared)]
    below = [filtered(child, tuple(own)) for child, own in zip(node.inputs, filters, strict=True)]
    return node.with_keys(equalities, kept).with_inputs(below)


def _same(key: Class, i: int) -> list[Expr]:
    """The predicates that compare input i's columns of the class with each other."""
    first, *others = key.columns[i] or ("",)
    return [_equal(first, other, null_safe=key.null_safe) for other in others]


def _equal(left: str, right: str, *, null_safe: bool) -> Expr:
    spark, duckdb = ("<=>", "IS NOT DISTINCT FROM") if null_safe else ("=", "=")
    return Expr(
        f"{left} {spark} {right}",
        f"{quote_spark(left)} {spark} {quote_spark(right)}",
        f"{quote_duckdb(left)} {duckdb} {quote_duckdb(right)}",
        (left, right),
        "boolean",
    )


def _chain(key: Class) -> list[Equality]:
    """The equalities of the class over the first column of each input."""
    firsts = [columns[0] for columns in key.columns if columns]
    return [Equality(left, right, key.type, key.null_safe) for left, right in pairwise(firsts)]


def push_filters(plan: Node) -> Node:
    """Filters read rows before these are stored, probed or counted."""
    return plan.rewrite(
        lambda node: _handed_down(node, lambda below, asked: below.push_filter(asked))
    )


def absorb_filters(plan: Node) -> Node:
    """Conditions on several streams are tested while combinations are built."""
    return plan.rewrite(
        lambda node: _handed_down(node, lambda below, asked: below.absorb_filter(asked))
    )


def _handed_down(node: Node, taking: Callable[[Node, Predicates], tuple[Node, Predicates]]) -> Node:
    """A Filter without those conditions that the node below it takes."""
    if not isinstance(node, Filter):
        return node
    below, rest = taking(node.input, node.predicates)
    return node if len(rest) == len(node.predicates) else filtered(below, rest)


def push_own_conditions(plan: Node) -> Node:
    """Rows that can match nothing are not joined."""
    return plan.rewrite(lambda node: node.push_own_conditions())


def merge_filters(plan: Node) -> Node:
    """One Filter where there were several in a row; a predicate stated twice is kept once."""
    return plan.rewrite(_merge)


def _merge(node: Node) -> Node:
    match node:
        case Filter(Filter(below, first), then):
            return filtered(below, tuple(dict.fromkeys((*first, *then))))
        case Filter(below, predicates):
            return node if predicates else below
    return node


def push_table_join_below_join(plan: Node) -> Node:
    """Semi and anti joins with tables are made before tuples are stored."""
    return plan.rewrite(_push_table_join)


def _push_table_join(node: Node) -> Node:
    if not (isinstance(node, TableJoin) and node.only_removes):
        return node
    return _moved(node, node.input) or node


def _moved(join: TableJoin, node: Node) -> Node | None:
    """What lies below the join, with the join in it; None where it may not move."""
    read = join.row_columns
    if isinstance(node, Filter | TableJoin) and read <= set(node.input.schema.names):
        below = _moved(join, node.input)
        return None if below is None else replace(node, input=below)
    if not isinstance(node, WindowJoin) or not read:
        return None
    for i, child in enumerate(node.inputs):
        if read <= set(child.schema.names):
            if not node.may_filter(i):
                return None
            place = f"below the join of {listed(node.aliases)}: what it removes is not stored"
            inputs = list(node.inputs)
            inputs[i] = replace(join, input=child, place=place)
            return node.with_inputs(inputs)
    return None


LEAST_GAIN = 4.0
"""A DISTINCT is pushed down where at most one in so many of the rows goes on."""


def push_distinct(node: PhysicalNode, options: Options, numbers: PlanStatistics) -> PhysicalNode:
    """The node with a DISTINCT below those joins under set operations where it pays."""

    def below(child: PhysicalNode) -> PhysicalNode:
        return push_distinct(child, options, numbers)

    if isinstance(node, SetOp) and node.is_of_sets:
        said: list[str] = []
        inputs = tuple(_as_set(child, options, numbers, said) for child in node.inputs)
        return replace(node, inputs=tuple(map(below, inputs)), place=(*node.place, *said))
    return node.with_inputs([below(child) for child in node.inputs])


def _as_set(
    node: PhysicalNode, options: Options, numbers: PlanStatistics, said: list[str]
) -> PhysicalNode:
    """The node of which it only matters whether a row is there; what is not done is said."""
    if node.row_inputs:
        return node.with_rows(lambda below: _as_set(below, options, numbers, said))
    if not isinstance(node, MultiJoin) or not node.joins_what_is_alive:
        return node
    if not isinstance(node, SnapshotJoin) and not options.leaves_plans:
        return node
    inputs = tuple(
        _pushed_to(port, node, numbers, said)
        if child.alive_ticks is not None
        else _as_set(child, options, numbers, said)
        for port, child in enumerate(node.inputs)
    )
    return node if inputs == node.inputs else _of_what_is_alive(node, inputs)


def _of_what_is_alive(node: MultiJoin, inputs: tuple[PhysicalNode, ...]) -> SnapshotJoin:
    """The join of inputs that take rows back, which has one way to look tuples up."""
    graph = WindowGraph(node.graph.streams, ())
    own = {"inputs": inputs, "graph": graph, "method": node.method_by_ends}
    return SnapshotJoin(**node.common() | own)


def _pushed_to(
    port: int, join: MultiJoin, numbers: PlanStatistics, said: list[str]
) -> PhysicalNode:
    """An input of a join, below a DISTINCT of the columns that are needed if that pays."""
    rows, alias = join.inputs[port], join.aliases[port]
    needed = _only(rows, join.columns_needed(port))
    joined = f"the join of {', '.join(join.aliases)}"
    floating = [f.name for f in needed.schema.fields if "float" in f.type or "double" in f.type]
    if floating:
        said.append(
            f"not pushed below {joined} for {alias}: {floating[0]} may be -0.0, which DISTINCT"
            " shows as 0.0"
        )
        return rows
    rate, held, ticks = numbers.rate(needed), numbers.held(needed), needed.alive_ticks
    if rate is None or held is None or not ticks:
        said.append(f"not pushed below {joined} for {alias}: rate= and distinct= are not given")
        return rows
    alive, different = held
    time_type = rows.scans[0].time_type
    passing = different.value / ticks
    figures = (
        f"{show_rate(passing, time_type)} of {show_rate(rate.value, time_type)} go on, for"
        f" {show_count(different.value)} of {show_count(alive.value)} rows alive are different"
        f" (equation 1; {', '.join(dict.fromkeys((rate.source, different.source)))})"
    )
    if passing * LEAST_GAIN > rate.value:
        said.append(f"not pushed below {joined} for {alias}: {figures}")
        return rows
    return SetOp((needed,), "distinct", place=(f"pushed below {joined}: {figures}",))


def _only(node: PhysicalNode, names: list[str]) -> PhysicalNode:
    """The columns that are needed, without the others."""
    if set(names) == set(node.schema.names):
        return node
    kept = tuple(field for field in node.schema.fields if field.name in names)
    items = tuple(Named(field.name, column(field.name, field.type)) for field in kept)
    return ProjectRows(node, items, Schema(kept))
