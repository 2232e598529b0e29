"""Divides an amount among streams, none getting less than its floor or more than its cap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.allocation.errors import AllocationError

ROUNDING = 1e-12
"""Sums of floats that differ by such a share of them are equal."""


@dataclass(frozen=True)
class Pot:
    """An amount to divide.

    Attributes:
        what: what it is, for messages.
        amount: how much there is.
        floors: what each stream gets at least.
        caps: what each can use at most.
    """

    what: str
    amount: float
    floors: tuple[float, ...]
    caps: tuple[float, ...]


def pot(what: str, amount: float, floors: Sequence[float], caps: Sequence[float]) -> Pot:
    """A pot; a floor above what a stream can use is lowered to that.

    Raises:
        AllocationError: the floors together are more than there is.
    """
    held = tuple(min(floor, cap) for floor, cap in zip(floors, caps, strict=True))
    if sum(held) > amount * (1 + ROUNDING):
        raise AllocationError.least_too_much(what, sum(held), amount)
    return Pot(what, amount, held, tuple(caps))


def in_order(divided: Pot, order: Sequence[int]) -> tuple[float, ...]:
    """Floors first; then each stream in turn takes all that it can use."""
    shares = list(divided.floors)
    left = divided.amount - sum(shares)
    for stream in order:
        taken = min(left, divided.caps[stream] - shares[stream])
        # A sum may round to a hair above the cap that it should end at.
        shares[stream] = min(shares[stream] + taken, divided.caps[stream])
        left -= taken
    return tuple(shares)


def in_proportion(divided: Pot, weights: Sequence[float]) -> tuple[float, ...]:
    """Shares in proportion to weights, as far as floors and caps allow.

    There is one level such that every stream gets its weight times the level, raised to its floor
    or lowered to its cap, and all together use up the pot:

        share |        cap ____
              |       /              share = clip(weight * level, floor, cap)
              |______/ floor         corners at floor / weight and cap / weight
              +----------- level
    """

    def shares(level: float) -> tuple[float, ...]:
        limits = zip(weights, divided.floors, divided.caps, strict=True)
        return tuple(min(max(weight * level, floor), cap) for weight, floor, cap in limits)

    if not any(weight > 0 for weight in weights):
        return in_proportion(divided, [1.0] * len(weights))
    reachable = sum(
        cap if weight > 0 else floor
        for weight, floor, cap in zip(weights, divided.floors, divided.caps, strict=True)
    )
    corners = sorted(
        {
            bound / weight
            for weight, *bounds in zip(weights, divided.floors, divided.caps, strict=True)
            for bound in bounds
            if weight > 0
        }
    )
    if reachable <= divided.amount:
        return shares(corners[-1])
    used = [sum(shares(corner)) for corner in corners]
    if divided.amount <= used[0]:
        return shares(corners[0])
    # Between two corners what is used grows evenly.
    at = bisect_right(used, divided.amount, hi=len(used) - 1)
    rise = (corners[at] - corners[at - 1]) / (used[at] - used[at - 1])
    return shares(corners[at - 1] + (divided.amount - used[at - 1]) * rise)
