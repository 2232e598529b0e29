"""How each node will be computed: frozen, picklable specifications.

In: a logical plan. Out: a tree of nodes, cut into stages for Spark.
Knows nothing of arrays, numba or Spark. Runners read it; nothing edits it.
"""
