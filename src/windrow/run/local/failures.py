"""The errors of a query that cannot go on."""

from __future__ import annotations

from windrow.errors import ResourceError


def broken_off() -> ResourceError:
    """The error of asking on for rows of a query that was left in the middle of a step."""
    return ResourceError(
        "query-broken-off",
        "the query was interrupted in the middle of a step, and cannot go on",
        reason="some rows of the step are in its state and some are not",
        hint="ask again with sql(..), or resume from a checkpoint; after one Ctrl-C alone, which"
        " waits for the end of the step, a query can go on",
    )


def out_of_memory(error: MemoryError, taken: tuple[str, int], held: int) -> ResourceError:
    """The error of a step for which there is not enough memory.

    Args:
        error: what was raised.
        taken: the stream whose batch is under way, and the rows of that batch.
        held: the rows that all operators hold.
    """
    stream, rows = taken
    what = f"a batch of {rows:,} rows of {stream}" if stream else "a batch"
    most = f", with which it makes up to {rows * held:,} combinations" if rows and held else ""
    failure = ResourceError(
        "out-of-memory",
        f"there is not enough memory for {what}",
        reason=f"the query holds {held:,} rows{most}; {str(error) or type(error).__name__}",
        hint="bound what it holds by memory='1 GB', for instance, with on_memory='spill' or 'shed';"
        " give batches of fewer rows; or make windows narrower and conditions stricter",
    )
    failure.__cause__ = error
    return failure
