"""What can be wrong with the numbers that the cost model is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from windrow.errors import WindrowError


class CostError(WindrowError, ValueError):
    """The cost model cannot answer as asked; the one who asked acts."""

    @classmethod
    def bad_number(cls, name: str, value: float, wanted: str) -> Self:
        """A rate, a size or a share that cannot be."""
        return cls("bad-cost-number", f"{name} is {value:g}", hint=f"it must be {wanted}")

    @classmethod
    def missing(cls, options: Sequence[str]) -> Self:
        """Rates or windows that the model cannot do without."""
        return cls(
            "missing-cost-number",
            f"{', '.join(options)} {'is' if len(options) == 1 else 'are'} missing",
            reason="a cost follows from both rates and both windows",
            hint="for instance  windrow cost --rate-a 2 --rate-b 998 --window-a 9500 --window-b 500",
        )

    @classmethod
    def both_shares(cls) -> Self:
        """The selectivity, given twice."""
        return cls(
            "selectivity-twice",
            "both --selectivity and --keys are given",
            reason="keys say the selectivity: one pair in so many matches",
            hint="give one of them",
        )
