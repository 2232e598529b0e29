-- streams: a, b. A full outer join with one window per stream, and a condition over both.
SELECT a.k, b.k AS other, a.x, b.x AS y
FROM a [RANGE INTERVAL '10' MINUTES] FULL OUTER JOIN b [RANGE INTERVAL '1' MINUTE]
ON a.k = b.k AND a.x < b.x
