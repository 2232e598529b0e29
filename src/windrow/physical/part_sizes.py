"""How large the parts of window structures are made."""

from __future__ import annotations

from dataclasses import dataclass

BUFFER, HASH, BTREE, TTREE = "buffer", "hash", "btree", "ttree"
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
