"""What EXPLAIN says of a join with a table: how rows find their matches, and where it stands."""

from __future__ import annotations

from windrow.physical.specs import Spec, Stateful, TableJoinRows, inputs

Fact = tuple[str, list[str]]


def table_facts(spec: TableJoinRows) -> list[Fact]:
    """The facts of a join with a table."""
    facts: list[Fact] = [
        ("table", [_found(spec)]),
        ("state", ["none: a row's matches are there when it comes; adds no delay"]),
    ]
    if spec.place:
        facts.append(("why", [spec.place]))
    return facts


def matches_below(spec: Spec) -> list[str]:
    """How often a row comes through the joins with tables between a stream and a stage."""
    if isinstance(spec, Stateful) or not inputs(spec):
        return []
    own = (
        [f"matches in {spec.alias}"]
        if isinstance(spec, TableJoinRows) and spec.may_multiply
        else []
    )
    return [*matches_below(inputs(spec)[0]), *own]


def _found(spec: TableJoinRows) -> str:
    on_spark = "on Spark, a join with a static DataFrame"
    if spec.keys:
        columns = ", ".join(key.table.text for key in spec.keys)
        return f"in process, an index on {columns}, made once; {on_spark}"
    return f"in process, every row of {spec.alias} for each row of a batch; {on_spark}"
