-- streams: sales. Values by others, any value, conditions.
SELECT store, MAX_BY(item, price) AS dearest, MIN_BY(item, price) FILTER (WHERE quantity > 1) AS cheapest,
  ANY_VALUE(item) AS one, COUNT_IF(price > 4) AS dear, BOOL_AND(quantity > 0) AS sold
FROM sales [RANGE INTERVAL 1 HOUR]
GROUP BY store
HAVING MAX_BY(quantity, price) > 1
