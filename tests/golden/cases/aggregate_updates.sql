-- streams: sales. A changelog in which a group that changes is an update.
SELECT /*+ updates(true) */ store, SUM(price) AS total
FROM sales [RANGE INTERVAL '1' HOUR]
GROUP BY store
