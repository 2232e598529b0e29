"""What to compute: the nouns.

In: nothing. Out: logical nodes, expressions, window graphs, a catalog of streams.
Holds no data, chooses no algorithm, knows neither SQL text nor Spark.
"""
