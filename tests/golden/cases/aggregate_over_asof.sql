-- streams: sales, returns. What lies above sees the watermark less the delay of the join.
SELECT m.store, AVG(m.price) AS price FROM (
  SELECT s.store, s.price FROM sales s LEFT ASOF JOIN returns r MATCH_CONDITION (s.ts <= r.ts)
  ON s.item = r.item TOLERANCE INTERVAL '10' MINUTES
) m [RANGE INTERVAL '1' HOUR] GROUP BY m.store