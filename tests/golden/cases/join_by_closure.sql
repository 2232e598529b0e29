-- streams: a, b, c. A path by its closed bounds.
SELECT /*+ algorithm(closure) */ a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.k = b.k AND b.k = c.k
WINDOW (a, b) = INTERVAL '10' MINUTES, WINDOW (b, c) = INTERVAL '5' MINUTES
