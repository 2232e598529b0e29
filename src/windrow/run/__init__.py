"""Where a physical query runs: in process (`local`) or on Spark (`spark`).

In: a `PhysicalQuery` and the streams' data. Out: the answer, and progress.
"""
