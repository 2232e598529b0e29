"""What Spark's garbage rounds cost in its Python processes.

Spark's processes collect garbage after every task. With numba, pandas and pyarrow loaded there are a
hundred thousand objects to walk, 60 ms each time; they stay as long as the process does. It takes no part
of a task's own time, but a core, which the next task wants.
"""

from __future__ import annotations

import gc
import sys

from pyspark import TaskContext


class _Frozen:
    """How many modules were loaded when the process's objects were last set aside."""

    modules = 0


def set_aside_modules(*, is_task: bool = True) -> None:
    """Takes what was loaded out of the garbage collector's rounds; called at the end of a task.

    Args:
        is_task: whether it is one. Spark has processes on the driver too, which are told from the user's
            own by who calls.
    """
    if is_task and TaskContext.get() is None:
        return  # a test, or a user, runs what a task would
    if len(sys.modules) > _Frozen.modules:
        _Frozen.modules = len(sys.modules)
        gc.collect()
        gc.freeze()
