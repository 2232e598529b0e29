-- streams: sales. A computed key and HAVING.
SELECT upper(store) AS shop, SUM(quantity) AS pieces FROM sales [RANGE INTERVAL '1' DAY]
GROUP BY upper(store) HAVING COUNT(*) > 10
