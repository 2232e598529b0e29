"""What a stage computes, as one short text: equal for equal questions.

Left out is what may change while a checkpoint stays valid: the algorithm, a stream's lateness, and
the texts that are there for people or for another engine.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import fields, is_dataclass
from typing import Any

from windrow.physical.nodes.base import PhysicalNode

_SPACES = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)|\s+""", re.DOTALL)
_FREE = {
    "algorithm", "body", "method", "lateness", "read_ahead", "text", "duckdb", "span", "calls", "comparisons",
    "bands", "structures", "sizes", "orders", "estimate", "is_portable", "place", "registered",
    # How much there is may change from run to run, and chances go on from what is held.
    "memory", "is_in_bytes", "service_rate", "may_skip", "strategy", "least_windows",
    "least_rates", "parts", "expected",
}  # fmt: skip


def fingerprint(node: PhysicalNode) -> str:
    """A hash of what the node, and all below it, means."""
    return hashlib.blake2b(repr(plain(node)).encode(), digest_size=16).hexdigest()


def metric_name(root: PhysicalNode, what: str) -> str:
    """The name of one of a query's figures in Spark's progress, up to the run's own ending."""
    return f"windrow_{fingerprint(root)[:8]}_{what}"


def about(*nodes: PhysicalNode) -> str:
    """The nodes of a stage in words, for people: what they do, and of which streams."""
    streams = ", ".join(scan.stream for scan in nodes[0].scans)
    return f"{', then '.join(node.about for node in nodes)} of {streams}"


def _is_unset(name: str, value: Any) -> bool:
    """Whether an entry came after checkpoints were made that lack it, and says nothing here."""
    return (name == "is_wide" and not value.is_wide) or (name == "unit" and value.unit is None)


def plain(value: Any) -> Any:
    """What is left of a value in a checkpoint: names and values, without what may change."""
    if hasattr(value, "identity"):  # a node
        return plain(value.identity())
    if is_dataclass(value):
        parts = [
            (entry.name, plain(getattr(value, entry.name)))
            for entry in fields(value)
            if entry.name not in _FREE and not _is_unset(entry.name, value)
        ]
        return (type(value).__name__, *parts)
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    if isinstance(value, str):
        # An expression keeps the spaces that the user wrote; outside of quotes they say nothing.
        return _SPACES.sub(lambda found: found[1] or " ", value)
    return value
