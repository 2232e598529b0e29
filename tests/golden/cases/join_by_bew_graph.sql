-- streams: a, b, c. A path by its stated windows alone; the middle one is met first from both ends.
SELECT /*+ algorithm(bew-graph) */ a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.k = b.k AND b.k = c.k
WINDOW (a, c) = INTERVAL '10' MINUTES, WINDOW (c, b) = INTERVAL '5' MINUTES
