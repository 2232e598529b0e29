-- streams: sales, returns. An outer join as a derived table: its rows come with a delay.
SELECT x.store, COUNT(x.reason) AS returned
FROM (SELECT s.store, r.reason FROM sales s LEFT JOIN returns r ON s.item = r.item
      WINDOW (s, r) = INTERVAL '10' MINUTES) x [RANGE INTERVAL '1' HOUR]
GROUP BY x.store
