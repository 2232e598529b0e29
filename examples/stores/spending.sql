SELECT item, SUM(price) AS spent, COUNT(*) AS sales
FROM north [RANGE INTERVAL '10' MINUTES]
GROUP BY item
