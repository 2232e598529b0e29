-- streams: sales, returns. Copies are counted; each stream has its own window.
SELECT item, store
FROM sales [RANGE INTERVAL '1' HOUR]
EXCEPT ALL
SELECT item, store
FROM returns [RANGE INTERVAL '2' HOURS]
