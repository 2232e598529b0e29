-- streams: sales. The key is not shown: equal rows of different groups are counted.
SELECT COUNT(*) AS n
FROM sales [RANGE INTERVAL '1' HOUR]
GROUP BY store
