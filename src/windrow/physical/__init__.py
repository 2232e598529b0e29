"""How a query will be computed: physical nodes, frozen and picklable, and all that is told of them.

`optimize` makes them. Here they are explained, spread over buckets, and cut into stages for Spark.
Knows nothing of arrays, numba or Spark. Runners read it; nothing edits it.
"""
