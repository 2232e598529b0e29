-- streams: a, b, c. A pipeline along a directed path, a predicate at its first level.
SELECT /*+ algorithm(nlw) */ a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.x < b.x AND a.k = c.k
DWINDOW (a, b) = INTERVAL '10' MINUTES, DWINDOW (b, c) = INTERVAL '5' MINUTES
