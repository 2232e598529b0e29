-- streams: fast. Rate and different values are known: how many rows are alive and different.
SELECT DISTINCT k
FROM fast [RANGE INTERVAL '1' MINUTE]
