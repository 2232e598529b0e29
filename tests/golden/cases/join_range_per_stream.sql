-- streams: sales, returns. One window per stream; a hint chooses the method.
SELECT /*+ algorithm(bew-nested-loop) */ s.item, r.reason
FROM sales s [RANGE INTERVAL '1' HOUR], returns r [RANGE INTERVAL '5' MINUTES]
WHERE s.item = r.item AND s.store = r.store
