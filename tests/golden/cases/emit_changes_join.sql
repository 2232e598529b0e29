-- streams: sales, returns. The changelog of a window join; the window between the two is a condition.
SELECT s.item, s.price, r.reason
FROM sales [RANGE INTERVAL '1' HOUR] s, returns [RANGE INTERVAL '30' MINUTES] r
WHERE s.item = r.item AND s.store <> r.store
DWINDOW (s, r) = INTERVAL '20' MINUTES
EMIT CHANGES
