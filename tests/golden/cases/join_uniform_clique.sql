-- streams: a, b, c. One window for every pair.
SELECT a.k, a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.k = b.k AND b.k = c.k WINDOW = INTERVAL '5' SECONDS
