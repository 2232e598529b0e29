-- streams: a, b, c. A sweep in time order; differing windows, one of them directed.
SELECT /*+ algorithm(few) */ a.x, b.x AS bx, c.x AS cx FROM a, b, c
WHERE a.k = b.k AND b.k = c.k
WINDOW (a, b) = INTERVAL '10' MINUTES, DWINDOW (b, c) = INTERVAL '5' MINUTES
