"""UNION, EXCEPT, MINUS and INTERSECT between SELECTs: both sides with the same columns, then one node.

The first SELECT names the columns; each has the type that holds what all SELECTs give for it, as in
Spark. What binds tighter (INTERSECT) is below already when the tree comes here.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from windrow.errors import BindError, Span
from windrow.plan.exprs import Named, column
from windrow.plan.nodes.base import Node
from windrow.plan.nodes.project import Project
from windrow.plan.nodes.set_operation import SetOperation
from windrow.schema import Field, Schema
from windrow.sql.bind.scope import flat_column
from windrow.sql.bind.sources import Relation
from windrow.sql.grammar.refuse import refuse_modifiers, unsupported
from windrow.sql.grammar.spans import cast_to, span_of
from windrow.sql.render.numbers import common_type
from windrow.sql.render.render import Renderer

UNION_ALL = "union all"

_NAMES: dict[type[exp.SetOperation], str] = {
    exp.Union: "union",
    exp.Except: "except",
    exp.Intersect: "intersect",
}


def kind_of(tree: exp.SetOperation) -> str:
    """The kind, as `SetOperation` has it; clauses that do not belong are refused."""
    name = _NAMES[type(tree)]
    refuse_modifiers(tree)
    if tree.args.get("by_name"):
        raise unsupported(
            "by-name",
            f"{name.upper()} BY NAME is not supported",
            "list the columns of all SELECTs in the same order",
        ).at(span_of(tree.expression))
    return name if tree.args.get("distinct") else f"{name} all"


def combined(
    tree: exp.SetOperation,
    kind: str,
    sides: tuple[Relation, Relation],
    alias: str,
    renderer: Renderer,
) -> Relation:
    """The relation of a set operation over its two sides, both lowered under the alias."""
    places = span_of(tree.this), span_of(tree.expression)
    first, second = sides
    if first.time_type != second.time_type:
        raise BindError(
            "time-types-differ",
            f"the time of the first SELECT is {first.time_type.upper()}, that of the second is"
            f" {second.time_type.upper()}",
            reason=f"rows of both sides of {kind.upper()} are put in one order by time",
            hint="cast one of the time columns before registering its stream",
        ).at(places[1])
    fields = _common_fields(kind, sides, places[1])
    inputs = tuple(_with_columns(side.node, fields, renderer) for side in sides)
    if kind == UNION_ALL:
        is_changelog = any(side.changelog_keys is not None for side in sides)
        return Relation(
            shown(SetOperation(inputs, kind, span_of(tree))),
            first.time_type,
            () if is_changelog else None,
            is_bag=is_changelog,
        )
    relation = of_all_columns(SetOperation(inputs, kind, span_of(tree)), alias, first.time_type)
    return replace(relation, has_copies=kind.endswith(" all"))


def of_all_columns(node: SetOperation, alias: str, time_type: str) -> Relation:
    """A changelog whose rows are told apart by all their columns."""
    cut = len(alias) + 1 if alias else 0
    return Relation(shown(node), time_type, tuple(name[cut:] for name in node.schema.names))


def shown(node: Node) -> Project:
    """The node under a projection that hands on its columns."""
    items = tuple(Named(f.name, column(f.name, f.type)) for f in node.schema.fields)
    return Project(node, items, node.schema)


def _common_fields(
    kind: str, sides: tuple[Relation, Relation], place: Span | None
) -> tuple[Field, ...]:
    """The names of the first side, each with the type that both have in common."""
    first, second = (side.node.schema.fields for side in sides)
    if len(first) != len(second):
        raise BindError(
            "set-operation-columns",
            f"the first SELECT of {kind.upper()} has {_columns(len(first))}, the second has"
            f" {_columns(len(second))}",
            hint="list as many columns in both",
        ).at(place)
    fields = []
    for number, (own, other) in enumerate(zip(first, second, strict=True), 1):
        type_ = common_type(own.type, other.type)
        if type_ is None:
            raise BindError(
                "set-operation-types",
                f"column {number} of {kind.upper()} is {own.type} in the first SELECT and"
                f" {other.type} in the second",
                reason="no type holds the values of both",
                hint="cast one of them, for instance  CAST(.. AS"
                f" {'STRING' if 'string' in (own.type, other.type) else own.type.upper()})",
            ).at(place)
        fields.append(Field(own.name, type_))
    return tuple(fields)


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _with_columns(node: Project, fields: tuple[Field, ...], renderer: Renderer) -> Node:
    """The node with these names and types, column by column."""
    if node.schema.fields == fields:
        return node
    if [own.type for own in node.schema.fields] == [field.type for field in fields]:
        names = [field.name for field in fields]
        items = tuple(Named(n, item.expr) for n, item in zip(names, node.items, strict=True))
        return Project(node.input, items, Schema(fields))
    trees = [
        flat_column(own.name)
        if own.type == field.type
        else cast_to(flat_column(own.name), field.type)
        for own, field in zip(node.schema.fields, fields, strict=True)
    ]
    exprs = renderer.typed(node.schema, trees)
    items = tuple(Named(field.name, expr) for field, expr in zip(fields, exprs, strict=True))
    return Project(node, items, Schema(fields))
