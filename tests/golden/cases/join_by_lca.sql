-- streams: a, b, c. The largest window of each stream, then the stated ones.
SELECT /*+ algorithm(lca) */ a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.k = b.k AND b.k = c.k
WINDOW (a, b) = INTERVAL '1' MINUTE, WINDOW (b, c) = INTERVAL '10' MINUTES,
       WINDOW (a, c) = INTERVAL '10' MINUTES
