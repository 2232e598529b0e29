-- streams: a, b, c, d. A path that is passed from either end; one window without a direction.
SELECT a.k, a.ts AS at_a, d.ts AS at_d
FROM a, b, c, d
WHERE a.k = b.k AND b.k = c.k AND c.k = d.k
WINDOW (c, d) = INTERVAL '2' MINUTES,
DWINDOW (a, b) = INTERVAL '10' MINUTES AND DWINDOW (b, c) = INTERVAL '5' MINUTES EITHER WAY
