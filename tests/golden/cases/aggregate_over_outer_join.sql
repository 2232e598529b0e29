-- streams: sales, returns. How much of the last hour was returned, at every instant.
SELECT s.store, COUNT(*) AS n, COUNT(r.item) AS returned
FROM sales s [RANGE INTERVAL '1' HOUR] LEFT JOIN returns r [RANGE INTERVAL '30' MINUTES]
ON s.item = r.item
GROUP BY s.store
