-- streams: sales, returns, visits. A join inside a derived table, windowed and joined again.
SELECT x.item, v.customer
FROM (SELECT s.item AS item, s.store AS store, s.price * 2 AS double_price
      FROM sales s, returns r WHERE s.item = r.item WINDOW (s, r) = INTERVAL '1' HOUR) x, visits v
WHERE x.store = v.store AND x.item > 100 WINDOW (x, v) = INTERVAL '5' MINUTES
