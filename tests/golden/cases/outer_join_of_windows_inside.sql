-- streams: a, b, c, d. Rows of a derived table leave each by its own window, a stream's beside a join's.
SELECT q.k, r.x
FROM (SELECT k, x FROM a [RANGE INTERVAL '5' MINUTES]
      UNION ALL SELECT b.k, c.x FROM b [RANGE INTERVAL '1' HOUR], c [RANGE INTERVAL '2' MINUTES]
      WHERE b.k = c.k) q
LEFT JOIN d [RANGE INTERVAL '10' MINUTES] r ON q.k = r.k
EMIT CHANGES
