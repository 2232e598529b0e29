-- streams: a, b, c, d. A star of windows, mixed ways to state them.
SELECT a.x, d.y FROM a, b, c, d
WHERE a.k = b.k AND a.k = c.k AND a.k = d.k
  AND d.ts > a.ts AND d.ts <= a.ts + INTERVAL '20' SECONDS
WINDOW (a, b) = INTERVAL '10' SECONDS AND DWINDOW (a, c) = INTERVAL '1' MINUTE
