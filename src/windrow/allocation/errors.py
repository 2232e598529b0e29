"""What can be wrong with what is to be divided."""

from __future__ import annotations

from typing import Self

from windrow.errors import WindrowError


class AllocationError(WindrowError, ValueError):
    """Memory or processor cannot be divided as asked; the one who asked acts."""

    @classmethod
    def bad_number(cls, name: str, value: float, wanted: str) -> Self:
        """A rate, a window or an amount that cannot be."""
        return cls("bad-allocation-number", f"{name} is {value:g}", hint=f"it must be {wanted}")

    @classmethod
    def least_too_much(cls, what: str, least: float, there_is: float) -> Self:
        """The streams' minima are more than there is."""
        return cls(
            "least-too-much",
            f"the streams require {least:g} {what} at least, and there are {there_is:g}",
            reason="every stream gets its minimum before anything else is divided",
            hint="lower the minima of some streams, or allow more",
        )
