"""Which way to compute a plan.

In: a logical plan and the user's options. Out: a physical specification, verified to finish.
Touches no data; knows neither SQL text nor Spark.
"""
