-- streams: sales, visits. The join sheds, so that the aggregates over it are estimates with intervals.
SELECT /*+ memory(5000 tuples), on_memory(shed) */ s.store, COUNT(*) AS pairs, SUM(s.price) AS spent
FROM sales s [RANGE INTERVAL '1' HOUR], visits v [RANGE INTERVAL '20' MINUTES]
WHERE s.store = v.store AND s.price > 10 GROUP BY s.store
