"""The window structures of an asymmetric join: their names, and the key that they are kept by.

Each direction of a binary join looks tuples up in the other window, which may be kept in a
structure of its own. All structures of a join are kept by one key:

    an equality       the first one; every structure can be probed by it
    else a band       of the predicates, `abs(a.x - b.x) < 5` say: trees find its range of keys,
                      buffers compare keys; a hash cannot
    else none         buffers alone
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.physical.algorithms import HASH
from windrow.plan.exprs import ALWAYS, NEVER, Band

if TYPE_CHECKING:
    from windrow.physical.nodes.multi_join import MultiJoin


BUFFER, BTREE, TTREE = "buffer", "btree", "ttree"
TREES = (BTREE, TTREE)

LEAST_BUCKET, LEAST_NODE, MOST = 1, 3, 10_000
"""A node of a B+tree is split into two parts that are half full or more."""


@dataclass(frozen=True)
class PartSizes:
    """Tuples in a bucket of a hash, and the most in a node of a tree; the paper's by default.

    Examples:
        >>> PartSizes(node=32).of("ttree")
        32
    """

    bucket: int = 10
    node: int = 100

    def of(self, structure: str) -> int:
        """The size of a structure's parts; a buffer has none."""
        if structure == BUFFER:
            return 1
        return self.bucket if structure == HASH else self.node

    def title(self, structure: str) -> str:
        """A structure with its sizes, in words."""
        return {
            BUFFER: "plain buffer",
            HASH: f"hash with ordered buckets of {self.bucket}",
            BTREE: f"B+tree with nodes of {self.node}",
            TTREE: f"T-tree with nodes of {self.node}",
        }[structure]


USUAL = PartSizes()


NAMES = (BUFFER, HASH, BTREE, TTREE)


@dataclass(frozen=True)
class Served:
    """The range of keys that a probe asks for.

    Attributes:
        bands: over one pair of columns, that of input 0 on the left.
        predicates: those that they come from, by number.
    """

    bands: tuple[Band, ...]
    predicates: tuple[int, ...]

    @property
    def is_closed(self) -> bool:
        """Whether the range is bounded from both sides."""
        has_low = any(band.low is not None for band in self.bands)
        return has_low and any(band.high is not None for band in self.bands)


def served_range(node: MultiJoin) -> Served | None:
    """The bands by which structures of a join are probed; None where there are none.

    They are those of one pair of columns that is bounded from both sides, if there is any.
    """
    names = [set(child.schema.names) for child in node.inputs]
    found: dict[tuple[object, ...], list[tuple[Band, int]]] = {}
    for number, predicate in enumerate(node.predicates):
        for band in predicate.bands:
            own = band if band.left in names[0] else band.turned
            if own.left in names[0] and own.right in names[1]:
                # Numbers of one kind: exact, decimals of a scale, or rounded.
                key = own.left, own.right, own.scale, own.rounding is None
                found.setdefault(key, []).append((own, number))
    ranges = [
        Served(tuple(band for band, _ in own), tuple(dict.fromkeys(number for _, number in own)))
        for group in found.values()
        for own in _found_with_nan(group)
    ]
    closed = (one for one in ranges if one.is_closed)
    return next(closed, ranges[0] if ranges else None)


def _found_with_nan(bands: list[tuple[Band, int]]) -> list[list[tuple[Band, int]]]:
    """Bands in lists of which each can be asked for by one range of keys, NaN in its place.

    A NaN that meets all tuples stands at the open end of every range, and a range that is closed
    has none. Where one band is never met by NaN, none is found by any.
    """
    kinds = {band.nan for band, _ in bands}
    if ALWAYS not in kinds or NEVER in kinds:
        return [bands]
    upward = [one for one in bands if one[0].low is not None]
    downward = [one for one in bands if one[0].high is not None]
    return [own for own in (upward, downward) if own]
