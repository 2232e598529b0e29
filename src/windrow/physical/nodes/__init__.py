"""Physical nodes, one class per kind: how each part of a query is computed.

Families that are read together share a file.

A node says all about itself: its inputs and columns, what its rows carry, how long they live and
trail, how it is spread over buckets, what EXPLAIN tells, what it is called in a checkpoint, and
which operator computes it, by name. Planner, EXPLAIN and both runners ask it.
"""
