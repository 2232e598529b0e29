"""On Spark: a physical query as an ordinary DataFrame, batch or streaming.

In: a `PhysicalQuery` and the streams' DataFrames. Out: a DataFrame whose rows are the answer.
Stock PySpark, classic or Connect; pyspark is imported here and nowhere else in Windrow.
"""
