-- streams: sales, returns. Right rows are aggregated as they come and go, left rows read what is there.
SELECT s.item, s.price, COUNT(*) AS n, MAX(r.ts) AS last, COUNT(DISTINCT r.reason) AS reasons
FROM sales s WINDOW JOIN returns r ON s.item = r.item AND r.store <> 'web'
RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND INTERVAL '10' MINUTES FOLLOWING