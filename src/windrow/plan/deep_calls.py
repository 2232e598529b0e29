"""Room for calls within calls: a query may have more levels than Python lets functions have.

Python counts a thread's calls and stops at 1,000, of which the caller may have used any number. While
a query is read and planned the limit is higher; the stated limits of queries hold long before it. The
limit is one for all threads, so the first that enters raises it, and the last that leaves puts it back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from windrow.errors import PlanError

ROOM = 30_000
"""Calls within calls; the deepest legal query takes about 8,000."""

FEW_LEVELS = 20
"""Operators above one another that fit into what Python allows by itself."""

_lock = threading.Lock()
_state = {"inside": 0, "before": 0}


@contextmanager
def deep_calls() -> Iterator[None]:
    """Lets calls go deeper; what is too deep even so is an error of ours.

    Raises:
        PlanError: there are more calls within calls than there is room for.
    """
    with _lock:
        if not _state["inside"]:
            _state["before"] = sys.getrecursionlimit()
            sys.setrecursionlimit(max(ROOM, _state["before"]))
        _state["inside"] += 1
    try:
        yield
    except RecursionError:
        raise PlanError(
            "query-too-deep",
            "the query goes deeper than there is room for",
            reason="each parenthesis, function and subquery takes calls within calls",
            hint="compute the inner part in a stream or a query of its own",
        ) from None
    finally:
        with _lock:
            _state["inside"] -= 1
            if not _state["inside"]:
                sys.setrecursionlimit(_state["before"])
