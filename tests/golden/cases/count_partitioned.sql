SELECT a.x, b.y, c.y AS z
FROM a [PARTITION BY k ROWS 3], b [PARTITION BY k, y ROWS 10], c [RANGE INTERVAL '10' MINUTES]
WHERE a.k = b.k AND b.k = c.k
