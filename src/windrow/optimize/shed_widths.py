"""What a tuple of a join will take in memory, before any has come: by the types of its columns.

A join that runs takes every tuple for as wide as the widest so far. The planner knows how wide
numbers and times are, and takes texts and nested values for as long as they often are.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.physical.nodes.multi_join import MultiJoin

_WIDTHS = {
    "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "bigint": 8, "float": 4, "double": 8,
    "date": 4, "timestamp": 8, "timestamp_ntz": 8,
}  # fmt: skip

_DECIMAL = 16
_NULL = 1
"""Bytes of the mark for NULL, at most."""

ASSUMED = 24
"""Bytes of a text or a nested value: some letters, and where they begin."""


@dataclass(frozen=True)
class Width:
    """What a tuple takes, with its draws and its place in a structure.

    Attributes:
        nbytes: of the widest input.
        is_assumed: whether some of its columns may be of any width.
    """

    nbytes: int
    is_assumed: bool


def expected_width(spec: MultiJoin) -> Width:
    """What a tuple of the widest input takes, as far as types tell."""
    found = [_of_input(spec, port) for port in range(len(spec.inputs))]
    return Width(max(own.nbytes for own in found), any(own.is_assumed for own in found))


def _of_input(spec: MultiJoin, port: int) -> Width:
    types = {field.name: field.type for field in spec.inputs[port].schema.fields}
    widths = [_of_type(types[name]) for name in spec.columns_needed(port)]
    return Width(
        spec.least_row_bytes + sum((own or ASSUMED) + _NULL for own in widths), None in widths
    )


def _of_type(name: str) -> int | None:
    """Bytes of a value; None where that depends on the value."""
    return _DECIMAL if name.startswith("decimal") else _WIDTHS.get(name)
