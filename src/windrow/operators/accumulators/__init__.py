"""Accumulators: what is kept per group for one argument column, and the answers read from it.

In: the events of versions and the argument of each row. Out: one answer per version and function.
Knows kernels and Arrow columns; nothing of buffers or groups' keys.
"""
