"""What a Python worker of Spark does once for all its tasks."""

from __future__ import annotations

import gc
import sys

from pyspark import TaskContext


class _Frozen:
    """How many modules were loaded when the worker's objects were last set aside."""

    modules = 0


def set_aside_modules() -> None:
    """Takes what was loaded out of the garbage collector's rounds; called at the end of a task.

    Spark's worker collects garbage after every task. With numba, pandas and pyarrow loaded there
    are a hundred thousand objects to walk, 60 ms each time; they stay as long as the worker does.
    """
    is_worker = TaskContext.get() is not None
    if is_worker and len(sys.modules) > _Frozen.modules:
        _Frozen.modules = len(sys.modules)
        gc.collect()
        gc.freeze()
