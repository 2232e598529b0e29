-- streams: sales, returns. Each sale that is returned within two days.
SELECT s.item, s.price FROM sales s LEFT SEMI JOIN returns r ON s.item = r.item
DWINDOW (s, r) = INTERVAL '2' DAYS
