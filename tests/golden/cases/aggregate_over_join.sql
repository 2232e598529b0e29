-- streams: sales, visits. Two stages: a join, and an aggregate over its rows.
SELECT s.store, COUNT(*) AS pairs, SUM(s.price) AS spent
FROM sales s [RANGE INTERVAL '1' HOUR], visits v [RANGE INTERVAL '20' MINUTES]
WHERE s.store = v.store AND s.price > 10 GROUP BY s.store
