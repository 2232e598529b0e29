"""On Spark: the packed exchange, stateful stages, batch and streaming. pyspark lives here."""
