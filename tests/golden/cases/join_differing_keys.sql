-- streams: a, b, c. No key is common to all three: rows are copied on Spark.
SELECT a.x, c.y FROM a, b, c WHERE a.x = b.x AND b.y = c.y
WINDOW = INTERVAL '1' MINUTE
