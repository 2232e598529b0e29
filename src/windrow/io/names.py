"""Names of columns, as options of connectors list them."""

from __future__ import annotations

from typing import Any

from windrow.errors import BindError


def listed_names(connector: str, option: str, given: Any) -> tuple[str, ...]:
    """The names in a list, each once.

    Args:
        connector: of which it is an option, for messages.
        option: its name.
        given: what was said: Python takes one text for a list of its letters, which nobody means.

    Raises:
        BindError: it is no list of names.

    Examples:
        >>> listed_names("postgres", "keys", ["store", "day", "store"])
        ('store', 'day')
    """
    if isinstance(given, list | tuple) and all(isinstance(name, str) for name in given):
        return tuple(dict.fromkeys(given))
    raise BindError(
        "not-a-list",
        f"{option} of {connector} is {given!r}",
        reason="it takes a list of names of columns",
        hint=f"{option}=[{given!r}]" if isinstance(given, str) else f"for instance  {option}=['k']",
    )
