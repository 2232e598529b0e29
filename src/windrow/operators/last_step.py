"""The last step of a changelog, over whole instants: changes made net, updates told apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from windrow.operators.changes import ChangeBatch
from windrow.operators.net import by_instant, net_changes
from windrow.operators.updates import pair_updates
from windrow.physical.query import PhysicalQuery


@dataclass(frozen=True)
class LastStep:
    """What is left to do with the rows of an answer; picklable, for Spark's workers.

    Attributes:
        nets: whether what an instant undoes is taken out.
        pairs_by: the key by which a delete and an insert are an update; None: none are.
    """

    nets: bool
    pairs_by: tuple[str, ...] | None

    @classmethod
    def of(cls, query: PhysicalQuery) -> LastStep:
        """The last step of a query."""
        return cls(query.needs_netting, query.pairs_by)

    @property
    def does_nothing(self) -> bool:
        """Whether rows pass as they are."""
        return not self.nets and self.pairs_by is None

    def __call__(self, batches: Iterable[ChangeBatch]) -> Iterator[ChangeBatch]:
        """The rows of batches in which an instant's changes follow one another."""
        if self.does_nothing:
            yield from batches
            return
        for rows in by_instant(batches):
            if not len(rows):
                yield rows
                continue
            left = net_changes(rows) if self.nets else rows
            yield left if self.pairs_by is None else pair_updates(left, self.pairs_by)
