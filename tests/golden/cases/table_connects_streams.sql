SELECT s.item, v.customer, f.least
FROM sales s, visits v, favorites f
WHERE s.item = f.item AND f.customer = v.customer AND s.price > f.least
WINDOW = INTERVAL '1' HOUR
