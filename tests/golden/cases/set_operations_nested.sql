-- streams: a, b, c. A DISTINCT of a MINUS of joins, grouped, with three windows.
SELECT t.x, COUNT(*) AS n
FROM (
  SELECT DISTINCT m.k, m.x
  FROM (
    SELECT a.k, b.x
    FROM a [RANGE INTERVAL '5' SECONDS], b [RANGE INTERVAL '7' SECONDS]
    WHERE a.k = b.k
    MINUS
    SELECT a.k, c.x
    FROM a [RANGE INTERVAL '5' SECONDS], c [RANGE INTERVAL '9' SECONDS]
    WHERE a.k = c.k
  ) m
) t
GROUP BY t.x
