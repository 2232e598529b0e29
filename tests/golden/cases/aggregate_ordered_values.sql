-- streams: sales. Values in order, distinct values, variances.
SELECT store, MIN(price) AS cheapest, MEDIAN(quantity) AS usual, COUNT(DISTINCT item) AS items,
  STDDEV(price) AS spread FROM sales [RANGE INTERVAL '1' DAY] GROUP BY store
