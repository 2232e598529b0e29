"""What a user says about shedding, read: rates, and what every stream gets at least.

shed_least        100   '100 tuples'   '10%'   'a = 100, b = 10%'
shed_least_rate   50    '50 per second'   '10%'   'a = 50 per second'
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from windrow.errors import PlanError
from windrow.plan.stream_hints import rate_parts

LEAST_RATE, MOST = 1e-9, 1e18
"""Of a service rate at least, and of any number at most, in the unit that it is said in."""

_SHARE = re.compile(r"\s*([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%\s*")
_NUMBER = re.compile(r"\s*([0-9][0-9_,]{0,17}(?:\.[0-9]{1,9})?)\s*(?:tuples?)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Said:
    """A number of tuples, a rate, or a share, as it was said.

    Attributes:
        amount: the number; of a share, from 0 to 1.
        unit: of a rate, the unit of time that was named; None where none was.
        is_share: whether it is a share of what there is.
    """

    amount: float
    unit: str | None = None
    is_share: bool = False


def rate_said(given: object) -> Said:
    """The service rate, or a minimum of it without shares.

    Raises:
        PlanError: it is no rate.
    """
    said = _read(given, is_rate=True)
    if said is None or said.is_share or said.amount < LEAST_RATE:
        raise PlanError(
            "bad-option",
            f"service_rate = {_shown(given)} is no rate",
            hint=f"from {LEAST_RATE:g} to {MOST:g}, for instance '1000 per second', or a number per"
            " second",
        )
    return said


def least_said(name: str, given: object) -> dict[str, Said]:
    """What streams get at least, by their names in lower case; under "" what all get.

    Raises:
        PlanError: the option cannot be read.
    """
    is_rate = name == "shed_least_rate"
    named = isinstance(given, str) and "=" in given
    entries = str(given).split(",") if named else [given]
    found: dict[str, Said] = {}
    for entry in entries:
        stream, _, text = (
            entry.partition("=") if isinstance(entry, str) and named else ("", "", entry)
        )
        said = _read(text, is_rate=is_rate)
        key = stream.strip().lower()
        if said is None or key in found or (named and not key):
            raise _bad_least(name, given, is_rate=is_rate)
        found[key] = said
    return found


def _bad_least(name: str, given: object, *, is_rate: bool) -> PlanError:
    amount = "50 per second" if is_rate else "100 tuples"
    return PlanError(
        "bad-option",
        f"{name} = {_shown(given)} does not say what each stream gets at least",
        hint=f"for instance '{amount}', '10%', or for single streams 'a = 10%, b = 5%';"
        f" numbers up to {MOST:g}",
    )


def _shown(given: object) -> str:
    """A value as it was given; a whole number of very many digits by its size."""
    if isinstance(given, int) and abs(given) > MOST:
        return f"{'-' if given < 0 else ''}1e{given.bit_length() * math.log10(2):.0f}"
    return repr(given)


def _read(given: object, *, is_rate: bool) -> Said | None:
    """A number, a share or a rate; None for what is none of them."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return Said(float(given)) if 0 <= given <= MOST else None
    if not isinstance(given, str):
        return None
    share = _SHARE.fullmatch(given)
    if share is not None:
        amount = float(share[1]) / 100
        return Said(amount, is_share=True) if amount <= 1 else None
    rate = rate_parts(given) if is_rate else None
    if rate is not None:
        return Said(rate[0], rate[1]) if rate[0] <= MOST else None
    number = _NUMBER.fullmatch(given)
    return Said(float(re.sub("[_,]", "", number[1]))) if number else None
