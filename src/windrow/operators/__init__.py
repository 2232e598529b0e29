"""State plus kernels: push(batches), advance(watermark), snapshot(), restore().

In: physical nodes, and change batches. Out: change batches. The hinge of Windrow: the in-process
runner and the Spark worker drive the same operator objects. Knows nothing of SQL text, planning or
Spark.
"""
