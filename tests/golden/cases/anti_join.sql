-- streams: sales, returns. Each sale that is not; without an equality of stores.
SELECT s.* FROM sales s ANTI JOIN returns r
ON s.item = r.item AND s.store <> r.store AND r.ts BETWEEN s.ts AND s.ts + INTERVAL '2' DAYS
