-- streams: sales. Negative tuples: two windows of a join that expires them itself.
SELECT /*+ scheduling(nta) */ s.store, SUM(s.quantity) AS sold
FROM sales [RANGE INTERVAL '1' HOUR] s, sales [RANGE INTERVAL '10' MINUTES] r
WHERE s.item = r.item GROUP BY s.store
