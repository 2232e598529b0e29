"""Equality conditions to join keys: plain columns of one type, one per input and class.

    a.x = b.k AND lower(b.k) = c.name AND a.y = b.k

gives the classes {a.x, a.y, b.k} and {lower(b.k), c.name}. Of a class every input keeps one
column. A second column of the same input (a.y) becomes a filter a.x = a.y below the join, and
what is computed or must be cast becomes a column `b.$key0` of a projection below the join.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot import exp

from windrow.errors import BindError, cover
from windrow.plan.exprs import Expr, Named, column
from windrow.plan.nodes.base import Equality, Node
from windrow.plan.nodes.filter import Filter
from windrow.plan.nodes.project import Project
from windrow.schema import Field, Schema
from windrow.sql.bind.scope import Scope
from windrow.sql.grammar.refuse import unsupported
from windrow.sql.grammar.spans import bare, cast_to, span_of
from windrow.sql.render.numbers import wider_type
from windrow.sql.render.render import Renderer


@dataclass(frozen=True)
class KeyEquality:
    """`left = right` between resolved trees of two sources."""

    left: exp.Expr
    right: exp.Expr
    null_safe: bool


@dataclass
class _Term:
    """One side of an equality: a tree over one source."""

    source: int
    tree: exp.Expr
    type: str = ""


@dataclass
class _Class:
    """Terms that must all be equal, with the conditions that say so."""

    terms: list[_Term] = field(default_factory=list)
    conditions: list[KeyEquality] = field(default_factory=list)


def equality_of(conjunct: exp.Expr, scope: Scope) -> KeyEquality | None:
    """The conjunct as an equality between two sources, or None."""
    if not isinstance(conjunct, exp.EQ | exp.NullSafeEQ):
        return None
    left, right = scope.sources_in(conjunct.this), scope.sources_in(conjunct.expression)
    if len(left) != 1 or len(right) != 1 or left == right:
        return None
    return KeyEquality(
        bare(conjunct.this), bare(conjunct.expression), isinstance(conjunct, exp.NullSafeEQ)
    )


def add_keys(
    inputs: Sequence[Node],
    conditions: Sequence[KeyEquality],
    scope: Scope,
    renderer: Renderer,
    preserved: Collection[int] = (),
) -> tuple[list[Node], tuple[Equality, ...]]:
    """The inputs with key columns added where needed, and the equalities between plain columns.

    Rows of a preserved input are never filtered: one whose columns of a class differ gets a NULL
    key, which matches nothing.
    """
    filters: list[list[Expr]] = [[] for _ in inputs]
    added: list[list[Named]] = [[] for _ in inputs]
    equalities: list[Equality] = []
    for group in _classes(conditions, scope):
        _add_types(group, inputs, renderer)
        type_ = _common_type(group, renderer.sql)
        null_safe = all(condition.null_safe for condition in group.conditions)
        chosen: dict[int, _Term] = {}
        for term in sorted(group.terms, key=lambda term: term.source):
            if term.source not in chosen:
                chosen[term.source] = term
                continue
            same = exp.NullSafeEQ if null_safe else exp.EQ
            first = chosen[term.source]
            condition = same(this=first.tree.copy(), expression=term.tree.copy())
            if term.source in preserved:
                chosen[term.source] = _key_if(condition, first, group)
                continue
            filters[term.source] += renderer.predicates(inputs[term.source].schema, [condition])
        names = [
            _key_column(term, type_, inputs[i], added[i], renderer, scope)
            for i, term in chosen.items()
        ]
        equalities += [Equality(left, right, type_, null_safe) for left, right in pairwise(names)]
    nodes = [
        with_columns(Filter(node, tuple(kept)) if kept else node, keys)
        for node, kept, keys in zip(inputs, filters, added, strict=True)
    ]
    return nodes, tuple(equalities)


def compared_in_one_type(
    condition: KeyEquality, left: Node, right: Node, renderer: Renderer
) -> tuple[Expr, Expr, str]:
    """Both sides of an equality, one over each relation, in the type that both are compared in."""
    group = _Class([_Term(0, condition.left), _Term(1, condition.right)], [condition])
    _add_types(group, (left, right), renderer)
    type_ = _common_type(group, renderer.sql)
    sides = [
        renderer.typed(node.schema, [_in_type(term, type_)])[0]
        for term, node in zip(group.terms, (left, right), strict=True)
    ]
    return sides[0], sides[1], type_


def _key_if(condition: exp.Expr, term: _Term, group: _Class) -> _Term:
    """The term where the condition holds, and else NULL."""
    if isinstance(condition, exp.NullSafeEQ):
        raise unsupported(
            "preserved-null-safe-keys",
            "two columns of a side whose unmatched rows are kept equal one column null-safely",
            "write = where a NULL need not match, or compare one of the two columns",
        ).at(cover(*(span_of(side) for c in group.conditions for side in (c.left, c.right))))
    tree = exp.Case(ifs=[exp.If(this=condition, true=term.tree.copy())])
    return _Term(term.source, tree, term.type)


def _key_column(
    term: _Term, type_: str, node: Node, added: list[Named], renderer: Renderer, scope: Scope
) -> str:
    """The flat name of the column that holds the term in the common type."""
    if isinstance(term.tree, exp.Column) and term.type == type_:
        return term.tree.name
    expr = renderer.typed(node.schema, [_in_type(term, type_)])[0]
    name = free_name(f"{scope.sources[term.source].alias}.$key{len(added)}", node.schema)
    added.append(Named(name, expr))
    return name


def _in_type(term: _Term, type_: str) -> exp.Expr:
    return term.tree if term.type == type_ else cast_to(term.tree, type_)


def free_name(name: str, schema: Schema) -> str:
    """The name for a column of our own, changed where the user has a column of that name."""
    while schema.find(name) is not None:
        name += "$"
    return name


def with_columns(node: Node, added: Sequence[Named]) -> Node:
    """The relation with computed columns added at its end."""
    if not added:
        return node
    kept = tuple(Named(f.name, column(f.name, f.type)) for f in node.schema.fields)
    new = tuple(Field(item.name, item.expr.type) for item in added)
    return Project(node, kept + tuple(added), Schema(node.schema.fields + new))


def _classes(conditions: Sequence[KeyEquality], scope: Scope) -> list[_Class]:
    """Merges conditions that share a term, in the order they were written."""
    classes: list[_Class] = []
    for condition in conditions:
        touched = [g for g in classes if _holds(g, condition.left) or _holds(g, condition.right)]
        merged = touched[0] if touched else _Class()
        if not touched:
            classes.append(merged)
        for other in touched[1:]:
            merged.terms += other.terms
            merged.conditions += other.conditions
            classes.remove(other)
        merged.conditions.append(condition)
        for tree in (condition.left, condition.right):
            if not _holds(merged, tree):
                (source,) = scope.sources_in(tree)
                merged.terms.append(_Term(source, tree))
    return classes


def _holds(group: _Class, tree: exp.Expr) -> bool:
    return any(term.tree == tree for term in group.terms)


def _add_types(group: _Class, inputs: Sequence[Node], renderer: Renderer) -> None:
    for term in group.terms:
        term.type = renderer.typed(inputs[term.source].schema, [term.tree])[0].type


def _common_type(group: _Class, sql: str) -> str:
    """The one type that every term of the class keeps its value in, or the error."""
    type_ = group.terms[0].type
    for term in group.terms[1:]:
        wider = wider_type(type_, term.type)
        if wider is None:
            raise _mismatch(group, sql)
        type_ = wider
    if type_.startswith("map"):
        raise BindError(
            "key-type-map",
            "a map cannot be a join key",
            hint="compare one of its entries, for instance a.m['x'] = b.m['x']",
        ).at(span_of(group.terms[0].tree))
    return type_


def _mismatch(group: _Class, sql: str) -> BindError:
    types = {term.tree: term.type for term in group.terms}
    bad = next(
        (c for c in group.conditions if wider_type(types[c.left], types[c.right]) is None),
        group.conditions[-1],
    )
    left, right = (_text(tree, sql) for tree in (bad.left, bad.right))
    return BindError(
        "key-type-mismatch",
        f"{left} is {types[bad.left]} but {right} is {types[bad.right]}",
        reason="join keys are compared by value, in one type that holds both exactly",
        hint=f"cast one side, for instance  {_cast(left, right, types[bad.left], types[bad.right])}",
    ).at(cover(span_of(bad.left), span_of(bad.right)))


def _cast(left: str, right: str, left_type: str, right_type: str) -> str:
    """The equality with one side cast: to the type that takes most values of the other."""
    widest_last = ("double", "string")
    ranks = [widest_last.index(t) if t in widest_last else -1 for t in (left_type, right_type)]
    if ranks[0] > ranks[1]:
        return f"{left} = CAST({right} AS {left_type.upper()})"
    return f"CAST({left} AS {right_type.upper()}) = {right}"


def _text(tree: exp.Expr, sql: str) -> str:
    span = span_of(tree)
    return sql[span.start : span.end] if span else tree.sql("spark")
